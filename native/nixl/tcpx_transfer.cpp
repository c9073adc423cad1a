#include "tcpx_transfer.h"

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {
// How long a refusal is doubted, how often the peer is asked for, and for how long.
constexpr milliseconds DOUBT(500), ASK_EVERY(20);
constexpr int ASK_MS = 2;
}  // namespace

tcpx_status TcpxTransfer::prepare(tcpx_operation operation, const std::vector<tcpx_block> &blocks) {
  if (blocks.empty()) return TCPX_OK;
  return tcpx_prepare(session, operation, peer->number, blocks.data(), blocks.size(), &request);
}

tcpx_status TcpxTransfer::start(const std::string *notif) {
  if (request == nullptr) {
    if (notif == nullptr) return TCPX_OK;
    return tcpx_notify(session, peer->number, notif->data(), notif->size());
  }
  tcpx_post_options options = {};
  options.size = sizeof options;
  if (notif != nullptr) {
    options.notify = notif->data();
    options.notify_bytes = notif->size();
  }
  return tcpx_post(request, &options);
}

tcpx_status TcpxTransfer::post(const std::string *notif) {
  if (isWaiting) return TCPX_ERR_STATE;
  postedAt = steady_clock::now();
  doubtedAt.reset();
  tcpx_status status = start(notif);
  if (status == TCPX_ERR_FULL) {
    isWaiting = true;
    waitingNotif.reset();
    if (notif != nullptr) waitingNotif = *notif;
    return TCPX_IN_PROGRESS;
  }
  if (status != TCPX_OK) return status;
  return request == nullptr ? TCPX_OK : TCPX_IN_PROGRESS;
}

tcpx_status TcpxTransfer::check() {
  if (isWaiting) {
    tcpx_status status = start(waitingNotif ? &*waitingNotif : nullptr);
    if (status == TCPX_ERR_FULL) return TCPX_IN_PROGRESS;
    isWaiting = false;
    waitingNotif.reset();
    if (status != TCPX_OK) return status;
  }
  if (request == nullptr) return TCPX_OK;
  tcpx_status status = tcpx_peek(request);
  if (status == TCPX_OK) peer->cost.observe(bytes, steady_clock::now() - postedAt);
  return status == TCPX_ERR_ACCESS ? doubt() : status;
}

// An agent that ends takes back its memory first and hangs up a moment later. What hits the time
// between is refused by memory that is not there any more; but it is the peer that is not.
tcpx_status TcpxTransfer::doubt() {
  const auto now = steady_clock::now();
  if (!doubtedAt) doubtedAt = now;
  else if (now - askedAt < ASK_EVERY) return TCPX_IN_PROGRESS;
  askedAt = now;
  if (tcpx_connect(session, peer->number, ASK_MS) == TCPX_ERR_PEER_LOST) return TCPX_ERR_PEER_LOST;
  return now - *doubtedAt < DOUBT ? TCPX_IN_PROGRESS : TCPX_ERR_ACCESS;
}

tcpx_status TcpxTransfer::release(int timeoutMs) {
  isWaiting = false;
  if (request == nullptr) return TCPX_OK;
  tcpx_status status = tcpx_release(request, timeoutMs);
  if (status == TCPX_OK) request = nullptr;
  return status;
}

tcpx_request *TcpxTransfer::surrender() {
  tcpx_request *given = request;
  request = nullptr;
  return given;
}

std::string TcpxTransfer::explain() const {
  char text[512] = "";
  if (request != nullptr) tcpx_explain(request, text, sizeof text);
  return text;
}
