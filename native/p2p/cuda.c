// What the service needs to open GPU memory of this process, asked of the driver, which is looked up
// at run time: the library works without it, for host memory.

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "../symbols.h"
#include "internal.h"

enum { ATTRIBUTE_MEMORY_TYPE = 2, ATTRIBUTE_ORDINAL = 9, ATTRIBUTE_IPC_CAPABLE = 10 };
enum { MEMORY_TYPE_DEVICE = 2 };

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
} cuda;

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_open;

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
  int result = cuda.init(0);
  if (result != 0) return fail(TCPX_ERR_DEVICE, "cuInit: %d", result);
  is_open = true;
  return TCPX_OK;
}

static tcpx_status export_range(uint64_t addr, size_t bytes, struct register_message *message) {
  uint64_t base = 0;
  size_t length = 0;
  int result = cuda.address_range(&base, &length, addr);
  if (result != 0) return fail(TCPX_ERR_MEMORY, "cuMemGetAddressRange: %d", result);
  if (addr - base > length || bytes > length - (addr - base)) {
    return fail(TCPX_ERR_MEMORY, "register: %zu bytes reach over their allocation", bytes);
  }
  result = cuda.ipc_handle(message->handle, base);
  if (result != 0) return fail(TCPX_ERR_MEMORY, "cuIpcGetMemHandle: %d", result);
  message->way = WAY_IPC;
  message->offset = addr - base;
  return TCPX_OK;
}

// The driver wants a context of the GPU to be current; the caller's is put back.
static tcpx_status export_in_context(int device, uint64_t addr, size_t bytes,
                                     struct register_message *message) {
  void *context = NULL;
  int result = cuda.retain(&context, device);
  if (result != 0) return fail(TCPX_ERR_DEVICE, "cuDevicePrimaryCtxRetain: %d", result);
  tcpx_status status = TCPX_OK;
  if ((result = cuda.push(context)) != 0) {
    status = fail(TCPX_ERR_DEVICE, "cuCtxPushCurrent: %d", result);
  } else {
    status = export_range(addr, bytes, message);
    cuda.pop(&context);
  }
  cuda.release(device);
  return status;
}

tcpx_status describe_device(void *addr, size_t bytes, struct register_message *message) {
  pthread_mutex_lock(&open_lock);
  tcpx_status status = is_open ? TCPX_OK : open_cuda();
  pthread_mutex_unlock(&open_lock);
  if (status != TCPX_OK) return status;
  uint64_t at = (uint64_t)(uintptr_t)addr;
  unsigned type = 0;
  int ordinal = -1, device = -1;
  if (cuda.pointer_attribute(&type, ATTRIBUTE_MEMORY_TYPE, at) != 0 || type != MEMORY_TYPE_DEVICE ||
      cuda.pointer_attribute(&ordinal, ATTRIBUTE_ORDINAL, at) != 0) {
    return fail(TCPX_ERR_ARGUMENT, "register: %p is not memory of a GPU", addr);
  }
  uint8_t is_capable = 0;
  if (cuda.pointer_attribute(&is_capable, ATTRIBUTE_IPC_CAPABLE, at) != 0 || is_capable == 0) {
    return fail(TCPX_ERR_MEMORY,
                "register: %p is of a pool or of virtual memory, which CUDA IPC cannot share", addr);
  }
  int result = cuda.device_get(&device, ordinal);
  if (result == 0) {
    result = cuda.pci_address((char *)message->pci_address, sizeof message->pci_address, device);
  }
  if (result != 0) return fail(TCPX_ERR_DEVICE, "GPU %d: %d", ordinal, result);
  return export_in_context(device, at, bytes, message);
}
