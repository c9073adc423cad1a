// NIXL's backend TCPX: hands every call on to the node service (tcpx serve) through the C library
// tcpx_p2p. No bytes are moved and no sockets to other machines are held in this process.
#ifndef NIXL_TCPX_BACKEND_H
#define NIXL_TCPX_BACKEND_H

#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/backend_engine.h"
#include "tcpx_keeper.h"
#include "tcpx_memory.h"
#include "tcpx_options.h"
#include "tcpx_p2p.h"
#include "tcpx_peer.h"
#include "tcpx_status.h"

class TcpxTransfer;

class nixlTcpxEngine : public nixlBackendEngine {
  // Closed after everything below is gone.
  struct Session {
    tcpx_session *handle = nullptr;
    ~Session() { tcpx_close(handle); }
  };

  std::unique_ptr<TcpxLog> log;
  TcpxOptions options;
  Session session;
  std::unique_ptr<TcpxRegistrations> registrations;
  TcpxKeeper *keeper = nullptr;
  mutable std::shared_mutex peersMutex;
  mutable std::unordered_map<std::string, std::shared_ptr<TcpxPeer>> peers;
  mutable std::mutex regionsMutex;
  // Messages of this agent to itself, and room for one that comes.
  mutable std::mutex inboxMutex;
  mutable notif_list_t ownMessages;
  std::vector<char> messageRoom;

  void open(const nixlBackendInitParams *init);
  tcpx_status loadPeer(const std::string &agent, const char *info) const;
  // NULL: not loaded. This agent itself always is.
  std::shared_ptr<TcpxPeer> peerOf(const std::string &agent) const;
  tcpx_status regionOf(TcpxTargetMD &target, uint32_t peer, uint32_t &region) const;
  nixl_status_t makeBlocks(const nixl_meta_dlist_t &local, const nixl_meta_dlist_t &remote,
                           const std::string &agent, uint32_t peer,
                           std::vector<tcpx_block> &blocks, size_t &bytes) const;
  // One line of JSON; empty where the service is gone.
  std::string telemetry() const;
  tcpx_status takeNotification(notif_list_t &list);
  // Nothing is thrown into NIXL, which may unwind by another library.
  nixl_status_t guarded(const char *attempted, const std::function<nixl_status_t()> &work) const
      noexcept;

 public:
  explicit nixlTcpxEngine(const nixlBackendInitParams *init);
  ~nixlTcpxEngine() override;

  bool supportsRemote() const override { return true; }
  bool supportsLocal() const override { return true; }
  bool supportsNotif() const override { return true; }
  nixl_mem_list_t getSupportedMems() const override;

  nixl_status_t registerMem(const nixlBlobDesc &memory, const nixl_mem_t &type,
                            nixlBackendMD *&out) override;
  nixl_status_t deregisterMem(nixlBackendMD *md) override;
  nixl_status_t getPublicData(const nixlBackendMD *md, std::string &text) const override;
  nixl_status_t loadLocalMD(nixlBackendMD *input, nixlBackendMD *&output) override;
  nixl_status_t loadRemoteMD(const nixlBlobDesc &input, const nixl_mem_t &type,
                             const std::string &agent, nixlBackendMD *&output) override;
  nixl_status_t unloadMD(nixlBackendMD *md) override;

  nixl_status_t getConnInfo(std::string &text) const override;
  nixl_status_t loadRemoteConnInfo(const std::string &agent, const std::string &info) override;
  nixl_status_t connect(const std::string &agent) override;
  nixl_status_t disconnect(const std::string &agent) override;

  nixl_status_t prepXfer(const nixl_xfer_op_t &operation, const nixl_meta_dlist_t &local,
                         const nixl_meta_dlist_t &remote, const std::string &agent,
                         nixlBackendReqH *&handle,
                         const nixl_opt_b_args_t *args = nullptr) const override;
  nixl_status_t postXfer(const nixl_xfer_op_t &operation, const nixl_meta_dlist_t &local,
                         const nixl_meta_dlist_t &remote, const std::string &agent,
                         nixlBackendReqH *&handle,
                         const nixl_opt_b_args_t *args = nullptr) const override;
  nixl_status_t checkXfer(nixlBackendReqH *handle) const override;
  nixl_status_t releaseReqH(nixlBackendReqH *handle) const override;
  nixl_status_t estimateXferCost(const nixl_xfer_op_t &operation, const nixl_meta_dlist_t &local,
                                 const nixl_meta_dlist_t &remote, const std::string &agent,
                                 nixlBackendReqH *const &handle,
                                 std::chrono::microseconds &duration,
                                 std::chrono::microseconds &margin, nixl_cost_t &method,
                                 const nixl_opt_args_t *args = nullptr) const override;

  // For each range that is registered: how it is reached, and the rails used so far.
  nixl_status_t queryMem(const nixl_reg_dlist_t &ranges,
                         std::vector<nixl_query_resp_t> &answers) const override;

  nixl_status_t getNotifs(notif_list_t &list) override;
  nixl_status_t genNotif(const std::string &agent, const std::string &message) const override;
};

#endif
