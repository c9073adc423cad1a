// Stands before NIXL's header of this name, which needs a recent Abseil that few hosts have. NIXL's
// headers use two of its words, in functions that the adapter does not call.
#ifndef TCPX_QUIET_NIXL_LOG_H
#define TCPX_QUIET_NIXL_LOG_H

#include <cassert>
#include <iostream>
#include <string>

#define NIXL_ASSERT(condition) assert(condition)
#define NIXL_ERROR std::cerr

#endif
