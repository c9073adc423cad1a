// Backend parameters: what a program may pass when it creates the backend.
#ifndef NIXL_TCPX_OPTIONS_H
#define NIXL_TCPX_OPTIONS_H

#include <string>

#include "backend/backend_engine.h"

struct TcpxOptions {
  // Empty: where the C library looks for the service.
  std::string folder;
  // Lines of name=value for the engine of this backend.
  std::string settings;
  int connectMs;
  int releaseMs;
  bool isQuiet;

  // Throws std::invalid_argument, which names the parameter, what it is and what it may be.
  static TcpxOptions parse(const nixl_b_params_t &params);
};

// Every parameter with its default, and under "help" what they mean.
nixl_b_params_t tcpxDefaultOptions();

#endif
