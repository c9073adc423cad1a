// GPU memory of the driver, where the plugin works with a GPU: its own context on device 0, a
// buffer to send from, and copies both ways. Without a GPU all of it is plain memory.

#include <stdlib.h>
#include <string.h>

#include "../symbols.h"
#include "driver.h"

static struct {
  int (*init)(unsigned flags);
  int (*device_get)(int *device, int ordinal);
  int (*primary_retain)(void **context, int device);
  int (*context_push)(void *context);
  int (*mem_alloc)(uint64_t *address, size_t bytes);
  int (*copy_in)(uint64_t target, const void *source, size_t bytes);
  int (*copy_out)(void *target, uint64_t source, size_t bytes);
  int (*copy_out_later)(void *target, uint64_t source, size_t bytes, void *stream);
  int (*stream_create)(void **stream, unsigned flags);
  int (*stream_sync)(void *stream);
  int (*host_register)(void *address, size_t bytes, unsigned flags);
} cuda;
static bool is_open;
static void *stream;

static void load_cuda(void *library) {
  const struct symbol symbols[] = {
      {&cuda.init, "cuInit"},
      {&cuda.device_get, "cuDeviceGet"},
      {&cuda.primary_retain, "cuDevicePrimaryCtxRetain"},
      {&cuda.context_push, "cuCtxPushCurrent_v2"},
      {&cuda.mem_alloc, "cuMemAlloc_v2"},
      {&cuda.copy_in, "cuMemcpyHtoD_v2"},
      {&cuda.copy_out, "cuMemcpyDtoH_v2"},
      {&cuda.copy_out_later, "cuMemcpyDtoHAsync_v2"},
      {&cuda.stream_create, "cuStreamCreate"},
      {&cuda.stream_sync, "cuStreamSynchronize"},
      {&cuda.host_register, "cuMemHostRegister_v2"},
  };
  const char *missing = LOAD_SYMBOLS(library, symbols);
  if (missing != NULL) die(EXIT_SETUP, "a GPU plugin, but libcuda has no %s", missing);
}

static void check_cuda(int result, const char *call) {
  if (result != 0) die(EXIT_PLUGIN, "%s returned %d", call, result);
}

// After the plugin's init: only its properties tell whether it works with a GPU.
void cuda_open(void) {
  struct net_properties properties;
  check(plugin->get_properties(0, &properties), "getProperties");
  if ((properties.ptr_support & PTR_CUDA) == 0 || options.memory_type != PTR_CUDA) return;
  const char *path = getenv("TCPX_EMU_LIBCUDA");
  load_cuda(dlopen(path != NULL ? path : "libcuda.so.1", RTLD_NOW));
  int device = 0;
  void *context = NULL;
  check_cuda(cuda.init(0), "cuInit");
  check_cuda(cuda.device_get(&device, 0), "cuDeviceGet");
  check_cuda(cuda.primary_retain(&context, device), "cuDevicePrimaryCtxRetain");
  check_cuda(cuda.context_push(context), "cuCtxPushCurrent");
  // One that does not wait for the default stream.
  check_cuda(cuda.stream_create(&stream, 1), "cuStreamCreate");
  is_open = true;
}

// Pinned, a target of copies is written by the GPU itself.
void receive_buffer_pin(uint8_t *buffer, uint64_t bytes) {
  if (!is_open || bytes == 0) return;
  check_cuda(cuda.host_register(buffer, (bytes + 4095) / 4096 * 4096, 0), "cuMemHostRegister");
}

// What is registered for sending: a GPU buffer, or the host buffer itself.
uint8_t *send_buffer_create(uint8_t *host, uint64_t bytes) {
  if (!is_open) return host;
  uint64_t address = 0;
  check_cuda(cuda.mem_alloc(&address, (bytes + 8191) / 4096 * 4096), "cuMemAlloc");
  return (uint8_t *)(uintptr_t)address;
}

void send_buffer_fill(uint8_t *target, const uint8_t *host, uint64_t bytes) {
  if (!is_open || bytes == 0) return;
  check_cuda(cuda.copy_in((uint64_t)(uintptr_t)target, host, bytes), "cuMemcpyHtoD");
}

void copy_from_device(void *target, uint64_t source, size_t bytes) {
  if (is_open) check_cuda(cuda.copy_out(target, source, bytes), "cuMemcpyDtoH");
  else memcpy(target, (const void *)(uintptr_t)source, bytes);
}

// The bytes are there after copies_wait.
void copy_from_device_later(void *target, uint64_t source, size_t bytes) {
  if (!is_open) copy_from_device(target, source, bytes);
  else check_cuda(cuda.copy_out_later(target, source, bytes, stream), "cuMemcpyDtoHAsync");
}

void copies_wait(void) {
  if (is_open) check_cuda(cuda.stream_sync(stream), "cuStreamSynchronize");
}
