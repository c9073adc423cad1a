#include "tcpx_status.h"

#include <cstdio>

nixl_status_t nixlStatusOf(tcpx_status status) {
  switch (status) {
    case TCPX_OK:
      return NIXL_SUCCESS;
    case TCPX_IN_PROGRESS:
      return NIXL_IN_PROG;
    case TCPX_ERR_ARGUMENT:
      return NIXL_ERR_INVALID_PARAM;
    case TCPX_ERR_NOT_FOUND:
      return NIXL_ERR_NOT_FOUND;
    case TCPX_ERR_STATE:
    case TCPX_ERR_BUSY:
    case TCPX_ERR_LIMIT:
    case TCPX_ERR_ACCESS:
    case TCPX_ERR_PERMISSION:
      return NIXL_ERR_NOT_ALLOWED;
    case TCPX_ERR_NOT_SUPPORTED:
    case TCPX_ERR_MEMORY:
      return NIXL_ERR_NOT_SUPPORTED;
    case TCPX_ERR_CANCELLED:
    case TCPX_ERR_DEADLINE:
      return NIXL_ERR_CANCELED;
    // It evicts the peer from the agent, so it stands for a peer that is gone and nothing else.
    case TCPX_ERR_PEER_LOST:
      return NIXL_ERR_REMOTE_DISCONNECT;
    case TCPX_ERR_TIMEOUT:
    case TCPX_ERR_PEER_REFUSED:
    case TCPX_ERR_TRANSFER:
    case TCPX_ERR_DEVICE:
    case TCPX_ERR_NO_SERVICE:
    case TCPX_ERR_SERVICE_GONE:
    case TCPX_ERR_VERSION:
    case TCPX_ERR_PROTOCOL:
    case TCPX_ERR_FORKED:
    case TCPX_ERR_SYSTEM:
    case TCPX_ERR_FULL:
      return NIXL_ERR_BACKEND;
  }
  return NIXL_ERR_BACKEND;
}

void TcpxLog::say(const std::string &text) const noexcept {
  if (!isQuiet) std::fprintf(stderr, "TCPX backend of %s: %s\n", agent.c_str(), text.c_str());
}

nixl_status_t TcpxLog::report(tcpx_status status, const std::string &attempted) const noexcept {
  if (status < 0 && !isQuiet) {
    const std::string reason = tcpx_last_error(), name = tcpx_status_text(status);
    const bool isSaid = reason.find(name) != std::string::npos;
    say(attempted + ": " + reason + (isSaid ? "" : " (" + name + ")"));
  }
  return nixlStatusOf(status);
}
