// Transfers of the backend.

#include "tcpx_backend.h"
#include "tcpx_transfer.h"

namespace {

// Neighbours at both ends are one block: agents hand over descriptors one by one.
void addBlock(std::vector<tcpx_block> &blocks, const tcpx_block &block) {
  if (!blocks.empty()) {
    tcpx_block &last = blocks.back();
    if (last.memory == block.memory && last.region == block.region &&
        last.local_offset + last.bytes == block.local_offset &&
        last.remote_offset + last.bytes == block.remote_offset) {
      last.bytes += block.bytes;
      return;
    }
  }
  blocks.push_back(block);
}

TcpxTransfer *transferOf(nixlBackendReqH *handle) { return static_cast<TcpxTransfer *>(handle); }

}  // namespace

nixl_status_t nixlTcpxEngine::makeBlocks(const nixl_meta_dlist_t &local,
                                         const nixl_meta_dlist_t &remote, const std::string &agent,
                                         uint32_t peer, std::vector<tcpx_block> &blocks,
                                         size_t &bytes) const {
  const size_t count = static_cast<size_t>(local.descCount());
  if (count != static_cast<size_t>(remote.descCount())) return NIXL_ERR_INVALID_PARAM;
  blocks.reserve(count);
  // Descriptors in a row mostly share their target.
  const TcpxTargetMD *lastTarget = nullptr;
  uint32_t region = 0;
  for (size_t i = 0; i < count; i++) {
    const nixlMetaDesc &from = local[i], &to = remote[i];
    if (from.len != to.len || from.metadataP == nullptr || to.metadataP == nullptr) {
      return NIXL_ERR_INVALID_PARAM;
    }
    const TcpxRegistration &own = *static_cast<TcpxLocalMD *>(from.metadataP)->registration;
    auto *target = static_cast<TcpxTargetMD *>(to.metadataP);
    if (target != lastTarget) {
      if (target->agent != agent) return NIXL_ERR_INVALID_PARAM;
      tcpx_status status = regionOf(*target, peer, region);
      if (status != TCPX_OK) return log->report(status, "load memory of " + agent);
      lastTarget = target;
    }
    if (from.len == 0) continue;
    bytes += from.len;
    // An address before its memory becomes an offset that tcpx_prepare refuses.
    addBlock(blocks, {own.memory, region, from.addr - own.range.addr, to.addr - target->addr,
                      from.len});
  }
  return NIXL_SUCCESS;
}

nixl_status_t nixlTcpxEngine::prepXfer(const nixl_xfer_op_t &operation,
                                       const nixl_meta_dlist_t &local,
                                       const nixl_meta_dlist_t &remote, const std::string &agent,
                                       nixlBackendReqH *&handle, const nixl_opt_b_args_t *) const {
  return guarded("prepare a transfer", [&] {
    auto peer = peerOf(agent);
    if (peer == nullptr) return NIXL_ERR_NOT_FOUND;
    std::vector<tcpx_block> blocks;
    size_t bytes = 0;
    const nixl_status_t made = makeBlocks(local, remote, agent, peer->number, blocks, bytes);
    if (made != NIXL_SUCCESS) return made;
    auto transfer = std::make_unique<TcpxTransfer>(session.handle, peer, bytes);
    const tcpx_operation kind = operation == NIXL_WRITE ? TCPX_OP_WRITE : TCPX_OP_READ;
    tcpx_status status = transfer->prepare(kind, blocks);
    if (status != TCPX_OK) return log->report(status, "prepare a transfer with " + agent);
    handle = transfer.release();
    return NIXL_SUCCESS;
  });
}

nixl_status_t nixlTcpxEngine::postXfer(const nixl_xfer_op_t &, const nixl_meta_dlist_t &,
                                       const nixl_meta_dlist_t &, const std::string &agent,
                                       nixlBackendReqH *&handle,
                                       const nixl_opt_b_args_t *args) const {
  return guarded("post a transfer", [&] {
    const bool hasNotif = args != nullptr && args->hasNotif;
    tcpx_status status = transferOf(handle)->post(hasNotif ? &args->notifMsg : nullptr);
    if (status == TCPX_ERR_STATE) return NIXL_ERR_REPOST_ACTIVE;
    return log->report(status, "post a transfer with " + agent);
  });
}

nixl_status_t nixlTcpxEngine::checkXfer(nixlBackendReqH *handle) const {
  tcpx_status status = transferOf(handle)->check();
  // The way of every check but the last one: nothing is allocated, no system call is made.
  if (status >= 0) return nixlStatusOf(status);
  return guarded("check a transfer", [&] {
    if (status != TCPX_ERR_PEER_LOST) {
      log->say(std::string("transfer: ") + tcpx_status_text(status) + " " +
               transferOf(handle)->explain());
    }
    return nixlStatusOf(status);
  });
}

nixl_status_t nixlTcpxEngine::releaseReqH(nixlBackendReqH *handle) const {
  if (handle == nullptr) return NIXL_SUCCESS;
  return guarded("release a transfer", [&] {
    std::unique_ptr<TcpxTransfer> transfer(transferOf(handle));
    tcpx_status status = transfer->release(options.releaseMs);
    if (status != TCPX_ERR_BUSY) return NIXL_SUCCESS;
    if (transfer->isReleaseTried) {
      // The agent's handle goes whatever this answers: the rest of the abort is waited for here.
      keeper->keepRequest(transfer->surrender());
      return NIXL_SUCCESS;
    }
    transfer->isReleaseTried = true;
    static_cast<void>(transfer.release());
    return NIXL_ERR_REPOST_ACTIVE;
  });
}

nixl_status_t nixlTcpxEngine::estimateXferCost(const nixl_xfer_op_t &, const nixl_meta_dlist_t &,
                                               const nixl_meta_dlist_t &, const std::string &,
                                               nixlBackendReqH *const &handle,
                                               std::chrono::microseconds &duration,
                                               std::chrono::microseconds &margin,
                                               nixl_cost_t &method, const nixl_opt_args_t *) const {
  const TcpxCost::Estimate estimate = transferOf(handle)->estimate();
  duration = estimate.duration;
  margin = estimate.margin;
  method = nixl_cost_t::ANALYTICAL_BACKEND;
  return NIXL_SUCCESS;
}
