// What stands behind a descriptor: memory of this agent, or memory as a target of transfers.
#ifndef NIXL_TCPX_MEMORY_H
#define NIXL_TCPX_MEMORY_H

#include <compare>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "backend/backend_engine.h"
#include "tcpx_p2p.h"

struct TcpxRange {
  nixl_mem_t type;
  uint64_t devId;
  uintptr_t addr;
  size_t bytes;
  auto operator<=>(const TcpxRange &) const = default;
};

// One registration at the service. The same range registered again is the same one, because peers
// that are told of a range twice refuse it under two keys.
struct TcpxRegistration {
  const TcpxRange range;
  uint32_t memory = 0;
  std::string key;
  int users = 1;
};

struct TcpxLocalMD : nixlBackendMD {
  TcpxRegistration *const registration;
  explicit TcpxLocalMD(TcpxRegistration *itsOwn) : nixlBackendMD(true), registration(itsOwn) {}
};

struct TcpxTargetMD : nixlBackendMD {
  const std::string agent;
  const uintptr_t addr;
  const size_t bytes;
  const std::string key;
  // 0 until the service knows it: memory of this agent is seldom a target.
  uint32_t region = 0;

  TcpxTargetMD(std::string itsAgent, uintptr_t at, size_t length, std::string itsKey)
      : nixlBackendMD(false), agent(std::move(itsAgent)), addr(at), bytes(length),
        key(std::move(itsKey)) {}
};

class TcpxRegistrations {
  tcpx_session *const session;
  std::mutex mutex;
  std::map<TcpxRange, std::unique_ptr<TcpxRegistration>> known;

 public:
  explicit TcpxRegistrations(tcpx_session *itsSession) : session(itsSession) {}

  tcpx_status add(const TcpxRange &range, TcpxRegistration *&out);
  // How the service reaches exactly this range; empty where it is not registered.
  std::string wayOf(const TcpxRange &range);
  // TCPX_ERR_BUSY: a transfer still uses it; `memory` is set to what has to be freed later.
  tcpx_status remove(TcpxRegistration *registration, uint32_t &memory);
};

#endif
