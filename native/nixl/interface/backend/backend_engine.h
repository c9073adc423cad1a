// The class that every backend derives from; see nixl_types.h. A backend that is remote, local or
// able to notify overrides the functions of that part; the rest answers that it is not offered.
#ifndef TCPX_INTERFACE_BACKEND_ENGINE_H
#define TCPX_INTERFACE_BACKEND_ENGINE_H

#include "backend/backend_aux.h"

class nixlBackendEngine {
  nixl_backend_t backendType;
  nixl_b_params_t customParams;

 protected:
  bool initErr = false;
  const std::string localAgent;
  const bool enableTelemetry_;

 public:
  explicit nixlBackendEngine(const nixlBackendInitParams *init)
      : backendType(init->type),
        customParams(*init->customParams),
        localAgent(init->localAgent),
        enableTelemetry_(init->enableTelemetry_) {}
  nixlBackendEngine(const nixlBackendEngine &) = delete;
  void operator=(const nixlBackendEngine &) = delete;
  virtual ~nixlBackendEngine() = default;

  bool getInitErr() const noexcept { return initErr; }
  const nixl_backend_t &getType() const noexcept { return backendType; }
  const nixl_b_params_t &getCustomParams() const noexcept { return customParams; }

  virtual bool supportsRemote() const = 0;
  virtual bool supportsLocal() const = 0;
  virtual bool supportsNotif() const = 0;
  virtual nixl_mem_list_t getSupportedMems() const = 0;

  virtual nixl_status_t registerMem(const nixlBlobDesc &memory, const nixl_mem_t &type,
                                    nixlBackendMD *&out) = 0;
  virtual nixl_status_t deregisterMem(nixlBackendMD *md) = 0;
  virtual nixl_status_t connect(const std::string &agent) = 0;
  virtual nixl_status_t disconnect(const std::string &agent) = 0;
  virtual nixl_status_t unloadMD(nixlBackendMD *md) = 0;

  virtual nixl_status_t prepXfer(const nixl_xfer_op_t &operation, const nixl_meta_dlist_t &local,
                                 const nixl_meta_dlist_t &remote, const std::string &agent,
                                 nixlBackendReqH *&handle,
                                 const nixl_opt_b_args_t *options = nullptr) const = 0;
  virtual nixl_status_t postXfer(const nixl_xfer_op_t &operation, const nixl_meta_dlist_t &local,
                                 const nixl_meta_dlist_t &remote, const std::string &agent,
                                 nixlBackendReqH *&handle,
                                 const nixl_opt_b_args_t *options = nullptr) const = 0;
  virtual nixl_status_t checkXfer(nixlBackendReqH *handle) const = 0;
  virtual nixl_status_t releaseReqH(nixlBackendReqH *handle) const = 0;

  virtual nixl_status_t prepMemView(const nixl_remote_meta_dlist_t &, nixlMemViewH &,
                                    const nixl_opt_b_args_t * = nullptr) const {
    return NIXL_ERR_NOT_SUPPORTED;
  }
  virtual nixl_status_t prepMemView(const nixl_meta_dlist_t &, nixlMemViewH &,
                                    const nixl_opt_b_args_t * = nullptr) const {
    return NIXL_ERR_NOT_SUPPORTED;
  }
  virtual void releaseMemView(nixlMemViewH) const {}

  // Of those that are remote.
  virtual nixl_status_t getPublicData(const nixlBackendMD *, std::string &) const {
    return NIXL_ERR_BACKEND;
  }
  virtual nixl_status_t getConnInfo(std::string &) const { return NIXL_ERR_BACKEND; }
  virtual nixl_status_t loadRemoteConnInfo(const std::string &, const std::string &) {
    return NIXL_ERR_BACKEND;
  }
  virtual nixl_status_t loadRemoteMD(const nixlBlobDesc &, const nixl_mem_t &, const std::string &,
                                     nixlBackendMD *&) {
    return NIXL_ERR_BACKEND;
  }

  // Of those that are local.
  virtual nixl_status_t loadLocalMD(nixlBackendMD *, nixlBackendMD *&) { return NIXL_ERR_BACKEND; }

  // Of those that notify.
  virtual nixl_status_t getNotifs(notif_list_t &) { return NIXL_ERR_BACKEND; }
  virtual nixl_status_t genNotif(const std::string &, const std::string &) const {
    return NIXL_ERR_BACKEND;
  }

  virtual nixl_status_t queryMem(const nixl_reg_dlist_t &, std::vector<nixl_query_resp_t> &) const {
    return NIXL_ERR_NOT_SUPPORTED;
  }
  virtual nixl_status_t estimateXferCost(const nixl_xfer_op_t &, const nixl_meta_dlist_t &,
                                         const nixl_meta_dlist_t &, const std::string &,
                                         nixlBackendReqH *const &, std::chrono::microseconds &,
                                         std::chrono::microseconds &, nixl_cost_t &,
                                         const nixl_opt_args_t * = nullptr) const {
    return NIXL_ERR_NOT_SUPPORTED;
  }
};

#endif
