// GPU memory for the tests, from whatever libcuda.so.1 the process finds.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "../symbols.h"
#include "check.h"

static struct {
  int (*init)(unsigned flags);
  int (*retain)(void **context, int device);
  int (*set_current)(void *context);
  int (*alloc)(uint64_t *addr, size_t bytes);
  int (*create)(uint64_t *allocation, size_t bytes, const uint32_t *properties, uint64_t flags);
  int (*reserve)(uint64_t *addr, size_t bytes, size_t alignment, uint64_t wish, uint64_t flags);
  int (*map)(uint64_t addr, size_t bytes, size_t offset, uint64_t allocation, uint64_t flags);
  int (*set_access)(uint64_t addr, size_t bytes, const uint32_t *access, size_t count);
  int (*create_pool)(void **pool, const uint32_t *properties);
  int (*alloc_from_pool)(uint64_t *addr, size_t bytes, void *pool, void *stream);
  int (*copy_in)(uint64_t target, const void *source, size_t bytes);
  int (*copy_out)(void *target, uint64_t source, size_t bytes);
} driver;

static void open_driver(void) {
  const struct symbol symbols[] = {
      {&driver.init, "cuInit"},           {&driver.retain, "cuDevicePrimaryCtxRetain"},
      {&driver.set_current, "cuCtxSetCurrent"}, {&driver.alloc, "cuMemAlloc_v2"},
      {&driver.copy_in, "cuMemcpyHtoD_v2"},     {&driver.copy_out, "cuMemcpyDtoH_v2"},
      {&driver.create, "cuMemCreate"},          {&driver.reserve, "cuMemAddressReserve"},
      {&driver.map, "cuMemMap"},                {&driver.set_access, "cuMemSetAccess"},
      {&driver.create_pool, "cuMemPoolCreate"},
      {&driver.alloc_from_pool, "cuMemAllocFromPoolAsync"},
  };
  if (driver.init != NULL) return;
  const char *missing = LOAD_SYMBOLS(dlopen("libcuda.so.1", RTLD_NOW), symbols);
  void *context = NULL;
  if (missing != NULL || driver.init(0) != 0 || driver.retain(&context, 0) != 0 ||
      driver.set_current(context) != 0) {
    fprintf(stderr, "no CUDA driver: %s\n", missing == NULL ? "it fails" : missing);
    exit(3);
  }
}

enum { PINNED = 1, HANDLE_FD = 1, LOCATION_DEVICE = 1, READ_WRITE = 3, SEGMENT_BYTES = 2 << 20 };

// Of as many allocations as its length needs, one behind the other.
static uint64_t alloc_virtual(size_t bytes) {
  const uint32_t properties[8] = {PINNED, HANDLE_FD, LOCATION_DEVICE, 0};
  const uint32_t access[3] = {LOCATION_DEVICE, 0, READ_WRITE};
  size_t count = (bytes + SEGMENT_BYTES - 1) / SEGMENT_BYTES;
  uint64_t addr = 0, allocation = 0;
  if (driver.reserve(&addr, count * SEGMENT_BYTES, 0, 0, 0) != 0) return 0;
  for (size_t i = 0; i < count; i++) {
    if (driver.create(&allocation, SEGMENT_BYTES, properties, 0) != 0 ||
        driver.map(addr + i * SEGMENT_BYTES, SEGMENT_BYTES, 0, allocation, 0) != 0) {
      return 0;
    }
  }
  return driver.set_access(addr, count * SEGMENT_BYTES, access, 1) == 0 ? addr : 0;
}

static uint64_t alloc_pooled(size_t bytes, bool is_exportable) {
  const uint32_t properties[22] = {PINNED, is_exportable ? HANDLE_FD : 0, LOCATION_DEVICE, 0};
  void *pool = NULL;
  uint64_t addr = 0;
  if (driver.create_pool(&pool, properties) != 0) return 0;
  return driver.alloc_from_pool(&addr, bytes, pool, NULL) == 0 ? addr : 0;
}

uint8_t *device_alloc(size_t bytes, const char *kind) {
  uint64_t addr = 0;
  bool is_plain = strcmp(kind, "cuda") == 0, is_hidden = strcmp(kind, "hidden") == 0;
  bool is_pooled = is_hidden || strcmp(kind, "pool") == 0;
  if (!is_plain && !is_pooled && strcmp(kind, "vmm") != 0) return NULL;
  open_driver();
  if (is_pooled) addr = alloc_pooled(bytes, !is_hidden);
  else if (!is_plain) addr = alloc_virtual(bytes);
  else if (driver.alloc(&addr, bytes) != 0) addr = 0;
  if (addr == 0) fprintf(stderr, "no %s memory of %zu bytes\n", kind, bytes), exit(3);
  return (uint8_t *)(uintptr_t)addr;
}

void device_copy(uint8_t *device, uint8_t *host, size_t bytes, bool is_in) {
  uint64_t addr = (uint64_t)(uintptr_t)device;
  int result = is_in ? driver.copy_in(addr, host, bytes) : driver.copy_out(host, addr, bytes);
  if (result != 0) fprintf(stderr, "device copy: %d\n", result);
}
