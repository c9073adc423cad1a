// What the service needs to open GPU memory of this process, asked of the driver, which is looked up
// at run time: the library works without it, for host memory. An allocation goes the way that it was
// made for: CUDA IPC, descriptors of virtual memory, its pool.

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../symbols.h"
#include "internal.h"

enum {
  ATTRIBUTE_MEMORY_TYPE = 2,
  ATTRIBUTE_ORDINAL = 9,
  ATTRIBUTE_IPC_CAPABLE = 10,
  ATTRIBUTE_HANDLE_TYPES = 14,
  ATTRIBUTE_POOL = 17,
  ATTRIBUTE_MAPPING_BYTES = 18,
  ATTRIBUTE_MAPPING_BASE = 19
};
enum { MEMORY_TYPE_DEVICE = 2, HANDLE_FD = 1 };

static struct {
  int (*init)(unsigned flags);
  int (*pointer_attribute)(void *data, int attribute, uint64_t addr);
  int (*device_get)(int *device, int ordinal);
  int (*pci_address)(char *text, int bytes, int device);
  int (*retain)(void **context, int device);
  int (*release)(int device);
  int (*push)(void *context);
  int (*pop)(void **context);
  int (*address_range)(uint64_t *base, size_t *bytes, uint64_t addr);
  int (*ipc_handle)(void *handle, uint64_t addr);
  // Of drivers since 11.3; NULL before.
  int (*retain_allocation)(uint64_t *allocation, uint64_t addr);
  int (*export_allocation)(int *fd, uint64_t allocation, int type, uint64_t flags);
  int (*release_allocation)(uint64_t allocation);
  int (*export_pool)(int *fd, void *pool, int type, uint64_t flags);
  int (*export_pointer)(void *data, uint64_t addr);
} cuda;

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_open, has_later;

static tcpx_status open_cuda(void) {
  const struct symbol symbols[] = {
      {&cuda.init, "cuInit"},
      {&cuda.pointer_attribute, "cuPointerGetAttribute"},
      {&cuda.device_get, "cuDeviceGet"},
      {&cuda.pci_address, "cuDeviceGetPCIBusId"},
      {&cuda.retain, "cuDevicePrimaryCtxRetain"},
      {&cuda.release, "cuDevicePrimaryCtxRelease_v2"},
      {&cuda.push, "cuCtxPushCurrent_v2"},
      {&cuda.pop, "cuCtxPopCurrent_v2"},
      {&cuda.address_range, "cuMemGetAddressRange_v2"},
      {&cuda.ipc_handle, "cuIpcGetMemHandle"},
  };
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return fail(TCPX_ERR_DEVICE, "libcuda.so.1: %s", dlerror());
  const char *missing = LOAD_SYMBOLS(library, symbols);
  if (missing != NULL) return fail(TCPX_ERR_DEVICE, "libcuda.so.1: it has no %s", missing);
  const struct symbol later[] = {
      {&cuda.retain_allocation, "cuMemRetainAllocationHandle"},
      {&cuda.export_allocation, "cuMemExportToShareableHandle"},
      {&cuda.release_allocation, "cuMemRelease"},
      {&cuda.export_pool, "cuMemPoolExportToShareableHandle"},
      {&cuda.export_pointer, "cuMemPoolExportPointer"},
  };
  has_later = LOAD_SYMBOLS(library, later) == NULL;
  int result = cuda.init(0);
  if (result != 0) return fail(TCPX_ERR_DEVICE, "cuInit: %d", result);
  is_open = true;
  return TCPX_OK;
}

void drop_export(struct device_export *given) {
  while (given->fd_count > 0) close(given->fds[--given->fd_count]);
}

// Base and length of what is allocated at an address, in one piece.
static tcpx_status allocation_at(uint64_t addr, uint64_t *base, size_t *bytes) {
  int result = cuda.address_range(base, bytes, addr);
  if (result == 0) return TCPX_OK;
  uint64_t length = 0;
  if (cuda.pointer_attribute(base, ATTRIBUTE_MAPPING_BASE, addr) == 0 &&
      cuda.pointer_attribute(&length, ATTRIBUTE_MAPPING_BYTES, addr) == 0 && length > 0) {
    *bytes = length;
    return TCPX_OK;
  }
  return fail(TCPX_ERR_MEMORY, "cuMemGetAddressRange: %d", result);
}

static tcpx_status check_inside(uint64_t addr, size_t bytes, uint64_t base, size_t length) {
  if (addr - base <= length && bytes <= length - (addr - base)) return TCPX_OK;
  return fail(TCPX_ERR_MEMORY, "register: %zu bytes reach over their allocation", bytes);
}

static tcpx_status export_ipc(uint64_t addr, size_t bytes, struct register_message *message) {
  uint64_t base = 0;
  size_t length = 0;
  tcpx_status status = allocation_at(addr, &base, &length);
  if (status == TCPX_OK) status = check_inside(addr, bytes, base, length);
  if (status != TCPX_OK) return status;
  int result = cuda.ipc_handle(message->handle, base);
  if (result != 0) return fail(TCPX_ERR_MEMORY, "cuIpcGetMemHandle: %d", result);
  message->way = WAY_IPC;
  message->offset = addr - base;
  return TCPX_OK;
}

static tcpx_status export_pool(uint64_t addr, size_t bytes, void *pool,
                               struct register_message *message, struct device_export *given) {
  uint64_t base = 0;
  size_t length = 0;
  tcpx_status status = allocation_at(addr, &base, &length);
  if (status == TCPX_OK) status = check_inside(addr, bytes, base, length);
  if (status != TCPX_OK) return status;
  // The pool first: its allocations cannot be named before it is shared.
  int result = cuda.export_pool(&given->fds[0], pool, HANDLE_FD, 0);
  if (result != 0) {
    return fail(TCPX_ERR_MEMORY, "cuMemPoolExportToShareableHandle: %d", result);
  }
  given->fd_count = 1;
  result = cuda.export_pointer(message->handle, base);
  if (result != 0) return fail(TCPX_ERR_MEMORY, "cuMemPoolExportPointer: %d", result);
  given->way = "pool";
  message->way = WAY_POOL;
  message->offset = addr - base;
  return TCPX_OK;
}

static tcpx_status export_segment(uint64_t addr, size_t bytes, struct device_export *given) {
  uint64_t allocation = 0;
  int result = cuda.retain_allocation(&allocation, addr);
  if (result != 0) return fail(TCPX_ERR_MEMORY, "cuMemRetainAllocationHandle: %d", result);
  result = cuda.export_allocation(&given->fds[given->fd_count], allocation, HANDLE_FD, 0);
  cuda.release_allocation(allocation);
  if (result != 0) return fail(TCPX_ERR_MEMORY, "cuMemExportToShareableHandle: %d", result);
  given->fd_count++;
  given->segments[given->segment_count++] = bytes;
  return TCPX_OK;
}

// Virtual memory is made of allocations one behind the other: a descriptor for each.
static tcpx_status export_segments(uint64_t addr, size_t bytes, struct register_message *message,
                                   struct device_export *given) {
  for (uint64_t at = addr; at < addr + bytes;) {
    uint64_t base = 0;
    size_t length = 0;
    if (given->fd_count == REGISTER_DESCRIPTORS_MAX) {
      return fail(TCPX_ERR_MEMORY, "register: %zu bytes of virtual memory lie in more than %d "
                  "allocations: register them in parts", bytes, REGISTER_DESCRIPTORS_MAX);
    }
    tcpx_status status = allocation_at(at, &base, &length);
    if (status == TCPX_OK) status = export_segment(at, length, given);
    if (status != TCPX_OK) return status;
    if (at == addr) message->offset = addr - base;
    at = base + length;
  }
  given->way = "vmm";
  message->way = WAY_VMM;
  return TCPX_OK;
}

static tcpx_status export_range(uint64_t addr, size_t bytes, struct register_message *message,
                                struct device_export *given) {
  uint8_t is_ipc = 0;
  if (cuda.pointer_attribute(&is_ipc, ATTRIBUTE_IPC_CAPABLE, addr) == 0 && is_ipc != 0) {
    return export_ipc(addr, bytes, message);
  }
  uint64_t types = 0;
  void *pool = NULL;
  bool is_known = cuda.pointer_attribute(&types, ATTRIBUTE_HANDLE_TYPES, addr) == 0;
  if (!has_later || !is_known || (types & HANDLE_FD) == 0) {
    return fail(TCPX_ERR_MEMORY, "register: 0x%llx is of a pool or of virtual memory that was not "
                "made to be exported by file descriptor (CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)",
                (unsigned long long)addr);
  }
  if (cuda.pointer_attribute(&pool, ATTRIBUTE_POOL, addr) == 0 && pool != NULL) {
    return export_pool(addr, bytes, pool, message, given);
  }
  return export_segments(addr, bytes, message, given);
}

// The driver wants a context of the GPU to be current; the caller's is put back.
static tcpx_status export_in_context(int device, struct register_message *message,
                                     struct device_export *given) {
  void *context = NULL;
  int result = cuda.retain(&context, device);
  if (result != 0) return fail(TCPX_ERR_DEVICE, "cuDevicePrimaryCtxRetain: %d", result);
  tcpx_status status = TCPX_OK;
  if ((result = cuda.push(context)) != 0) {
    status = fail(TCPX_ERR_DEVICE, "cuCtxPushCurrent: %d", result);
  } else {
    status = export_range(message->addr, message->bytes, message, given);
    cuda.pop(&context);
  }
  cuda.release(device);
  return status;
}

tcpx_status describe_device(struct register_message *message, struct device_export *given) {
  pthread_mutex_lock(&open_lock);
  tcpx_status status = is_open ? TCPX_OK : open_cuda();
  pthread_mutex_unlock(&open_lock);
  if (status != TCPX_OK) return status;
  unsigned type = 0;
  int ordinal = -1, device = -1;
  if (cuda.pointer_attribute(&type, ATTRIBUTE_MEMORY_TYPE, message->addr) != 0 ||
      type != MEMORY_TYPE_DEVICE ||
      cuda.pointer_attribute(&ordinal, ATTRIBUTE_ORDINAL, message->addr) != 0) {
    return fail(TCPX_ERR_ARGUMENT, "register: 0x%llx is not memory of a GPU",
                (unsigned long long)message->addr);
  }
  int result = cuda.device_get(&device, ordinal);
  if (result == 0) {
    result = cuda.pci_address((char *)message->pci_address, sizeof message->pci_address, device);
  }
  if (result != 0) return fail(TCPX_ERR_DEVICE, "GPU %d: %d", ordinal, result);
  return export_in_context(device, message, given);
}
