// Statuses of the C library as NIXL's, and lines about what failed.
#ifndef NIXL_TCPX_STATUS_H
#define NIXL_TCPX_STATUS_H

#include <string>

#include "backend/backend_engine.h"
#include "tcpx_p2p.h"

// One of NIXL's own numbers, whatever comes: agents end the process at any other.
nixl_status_t nixlStatusOf(tcpx_status status);

// Writes a line to stderr, where the program has not asked for silence.
class TcpxLog {
  const bool isQuiet;
  const std::string agent;

 public:
  TcpxLog(bool quiet, std::string name) : isQuiet(quiet), agent(std::move(name)) {}

  void say(const std::string &text) const noexcept;
  // Says what failed and why, unless it has not, and hands the status on.
  nixl_status_t report(tcpx_status status, const std::string &attempted) const noexcept;
};

#endif
