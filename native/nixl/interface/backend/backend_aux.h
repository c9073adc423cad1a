// What a backend is given besides descriptors; see nixl_types.h.
#ifndef TCPX_INTERFACE_BACKEND_AUX_H
#define TCPX_INTERFACE_BACKEND_AUX_H

#include <utility>

#include "nixl_descriptors.h"

using notif_list_t = std::vector<std::pair<std::string, std::string>>;

struct nixlBackendOptionalArgs {
  nixl_blob_t notifMsg;
  bool hasNotif = false;
  nixl_blob_t customParam;
};
using nixl_opt_b_args_t = nixlBackendOptionalArgs;

class nixlBackendInitParams {
 public:
  std::string localAgent;
  nixl_backend_t type;
  nixl_b_params_t *customParams = nullptr;
  bool enableProgTh = false;
  uint64_t pthrDelay = 0;
  nixl_thread_sync_t syncMode = nixl_thread_sync_t::NIXL_THREAD_SYNC_NONE;
  bool enableTelemetry_ = false;
};

class nixlBackendReqH {
 public:
  virtual ~nixlBackendReqH() = default;
};

class nixlBackendMD {
 protected:
  bool isPrivateMD;

 public:
  explicit nixlBackendMD(bool isPrivate) : isPrivateMD(isPrivate) {}
  virtual ~nixlBackendMD() = default;
};

class nixlMetaDesc : public nixlBasicDesc {
 public:
  nixlBackendMD *metadataP = nullptr;

  nixlMetaDesc(uintptr_t at, size_t bytes, uint64_t device, nixlBackendMD *md)
      : nixlBasicDesc(at, bytes, device), metadataP(md) {}
};

struct nixlRemoteMetaDesc : public nixlMetaDesc {
  std::string remoteAgent;
  using nixlMetaDesc::nixlMetaDesc;
};

using nixl_meta_dlist_t = nixlDescList<nixlMetaDesc>;
using nixl_remote_meta_dlist_t = nixlDescList<nixlRemoteMetaDesc>;

#endif
