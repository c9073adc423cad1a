// Descriptors and lists of them, as far as a backend sees them; see nixl_types.h.
#ifndef TCPX_INTERFACE_NIXL_DESCRIPTORS_H
#define TCPX_INTERFACE_NIXL_DESCRIPTORS_H

#include <cstddef>

#include "nixl_types.h"

class nixlBasicDesc {
 public:
  uintptr_t addr;
  size_t len;
  uint64_t devId;

  nixlBasicDesc() : nixlBasicDesc(0, 0, 0) {}
  nixlBasicDesc(uintptr_t at, size_t bytes, uint64_t device) : addr(at), len(bytes), devId(device) {}
};

class nixlBlobDesc : public nixlBasicDesc {
 public:
  nixl_blob_t metaInfo;

  nixlBlobDesc(uintptr_t at, size_t bytes, uint64_t device, nixl_blob_t info)
      : nixlBasicDesc(at, bytes, device), metaInfo(std::move(info)) {}
};

template <class T>
class nixlDescList {
 protected:
  nixl_mem_t type;
  std::vector<T> descs;

 public:
  explicit nixlDescList(nixl_mem_t memoryType) : type(memoryType) {}
  virtual ~nixlDescList() = default;

  nixl_mem_t getType() const { return type; }
  int descCount() const { return static_cast<int>(descs.size()); }
  const T &operator[](size_t index) const { return descs[index]; }
  void addDesc(const T &desc) { descs.push_back(desc); }
};

using nixl_reg_dlist_t = nixlDescList<nixlBlobDesc>;

#endif
