// A request of an agent: blocks prepared once at the service, posted as often as wanted.
//
//   prepared ──post──► in flight ──check──► finished ──post──► …
//      │  └──post, ring full──► waiting ──check──► in flight
//      └──────────── release ──► freed, or kept until the abort is through
#ifndef NIXL_TCPX_TRANSFER_H
#define NIXL_TCPX_TRANSFER_H

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend_engine.h"
#include "tcpx_p2p.h"
#include "tcpx_peer.h"

class TcpxTransfer : public nixlBackendReqH {
  tcpx_session *const session;
  const std::shared_ptr<TcpxPeer> peer;
  // NULL where every block is empty: there is nothing to move, but perhaps something to say.
  tcpx_request *request = nullptr;
  // Posted, but the ring was full; with the message that goes along.
  bool isWaiting = false;
  std::optional<std::string> waitingNotif;
  std::chrono::steady_clock::time_point postedAt;
  // Of a refusal by the peer that may be the first sign of its end.
  std::optional<std::chrono::steady_clock::time_point> doubtedAt;
  std::chrono::steady_clock::time_point askedAt;

  tcpx_status start(const std::string *notif);
  tcpx_status doubt();

 public:
  const size_t bytes;
  // A release has failed once: the next one is the last, whatever comes.
  bool isReleaseTried = false;

  TcpxTransfer(tcpx_session *itsSession, std::shared_ptr<TcpxPeer> itsPeer, size_t itsBytes)
      : session(itsSession), peer(std::move(itsPeer)), bytes(itsBytes) {}

  tcpx_status prepare(tcpx_operation operation, const std::vector<tcpx_block> &blocks);
  // `notif` is NULL where none is wanted; an empty message is one.
  tcpx_status post(const std::string *notif);
  tcpx_status check();
  // TCPX_ERR_BUSY after the time: it is being aborted and lives on.
  tcpx_status release(int timeoutMs);
  // The request, given away; it is still in flight.
  tcpx_request *surrender();
  std::string explain() const;
  TcpxCost::Estimate estimate() const { return peer->cost.estimate(bytes); }
};

#endif
