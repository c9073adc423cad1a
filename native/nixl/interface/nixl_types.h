// The part of NIXL's interface to backends that the adapter uses, written from its description: so
// that the adapter compiles and is tested where NIXL is not installed. Names, numbers and the order
// of virtual functions are NIXL's (1.0 to 1.4); a plugin for use is built with NIXL's own headers.
#ifndef TCPX_INTERFACE_NIXL_TYPES_H
#define TCPX_INTERFACE_NIXL_TYPES_H

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

enum nixl_mem_t { DRAM_SEG, VRAM_SEG, BLK_SEG, OBJ_SEG, FILE_SEG };

enum nixl_xfer_op_t { NIXL_READ, NIXL_WRITE };

enum nixl_status_t {
  NIXL_ERR_NO_TELEMETRY = -12,
  NIXL_ERR_CANCELED,
  NIXL_ERR_REMOTE_DISCONNECT,
  NIXL_ERR_NOT_SUPPORTED,
  NIXL_ERR_UNKNOWN,
  NIXL_ERR_REPOST_ACTIVE,
  NIXL_ERR_NOT_ALLOWED,
  NIXL_ERR_MISMATCH,
  NIXL_ERR_NOT_FOUND,
  NIXL_ERR_BACKEND,
  NIXL_ERR_INVALID_PARAM,
  NIXL_ERR_NOT_POSTED,
  NIXL_SUCCESS,
  NIXL_IN_PROG
};

enum class nixl_thread_sync_t {
  NIXL_THREAD_SYNC_NONE,
  NIXL_THREAD_SYNC_STRICT,
  NIXL_THREAD_SYNC_RW
};

enum class nixl_cost_t { ANALYTICAL_BACKEND };

using nixl_backend_t = std::string;
using nixl_blob_t = std::string;
using nixl_mem_list_t = std::vector<nixl_mem_t>;
using nixl_b_params_t = std::unordered_map<std::string, std::string>;
using nixl_query_resp_t = std::optional<nixl_b_params_t>;
using nixlMemViewH = void *;

// Of agents; backends get a pointer to it in estimateXferCost and need not look inside.
struct nixlAgentOptionalArgs;
using nixl_opt_args_t = nixlAgentOptionalArgs;

#endif
