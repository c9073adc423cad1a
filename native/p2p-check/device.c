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
  int (*copy_in)(uint64_t target, const void *source, size_t bytes);
  int (*copy_out)(void *target, uint64_t source, size_t bytes);
} driver;

static void open_driver(void) {
  const struct symbol symbols[] = {
      {&driver.init, "cuInit"},           {&driver.retain, "cuDevicePrimaryCtxRetain"},
      {&driver.set_current, "cuCtxSetCurrent"}, {&driver.alloc, "cuMemAlloc_v2"},
      {&driver.copy_in, "cuMemcpyHtoD_v2"},     {&driver.copy_out, "cuMemcpyDtoH_v2"},
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

uint8_t *device_alloc(size_t bytes) {
  uint64_t addr = 0;
  open_driver();
  return driver.alloc(&addr, bytes) == 0 ? (uint8_t *)(uintptr_t)addr : NULL;
}

void device_copy(uint8_t *device, uint8_t *host, size_t bytes, bool is_in) {
  uint64_t addr = (uint64_t)(uintptr_t)device;
  int result = is_in ? driver.copy_in(addr, host, bytes) : driver.copy_out(host, addr, bytes);
  if (result != 0) fprintf(stderr, "device copy: %d\n", result);
}
