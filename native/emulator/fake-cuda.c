// A stand-in for libcuda, for tests of the GPU path on hosts without one. Device addresses are
// reserved but not accessible, so that code which touches device memory with the CPU crashes here
// as it would on a GPU; copies go through a second mapping of the same pages.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALLOCATIONS_MAX = 256, FAILED = 1 };

static struct allocation { uint8_t *device, *shadow; size_t bytes; } allocations[ALLOCATIONS_MAX];
static _Thread_local int depth;

static uint8_t *shadow_of(uint64_t address, size_t bytes) {
  for (int i = 0; i < ALLOCATIONS_MAX; i++) {
    uint64_t begin = (uint64_t)(uintptr_t)allocations[i].device;
    if (begin == 0 || address < begin || address + bytes > begin + allocations[i].bytes) continue;
    return allocations[i].shadow + (address - begin);
  }
  return NULL;
}

int cuInit(unsigned flags) { return flags == 0 ? 0 : FAILED; }
int cuDeviceGetCount(int *count) { return *count = 1, 0; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, ordinal == 0 ? 0 : FAILED; }
int cuCtxGetDevice(int *device) { return *device = 0, depth > 0 ? 0 : FAILED; }
int cuDevicePrimaryCtxRetain(void **context, int device) {
  return *context = allocations, device == 0 ? 0 : FAILED;
}
int cuCtxPushCurrent_v2(void *context) { return depth++, context == NULL ? FAILED : 0; }
int cuCtxPopCurrent_v2(void **context) { return *context = allocations, depth-- > 0 ? 0 : FAILED; }
int cuStreamCreate(void **stream, unsigned flags) {
  return *stream = allocations, flags == 1 ? 0 : FAILED;
}
int cuStreamSynchronize(void *stream) { return stream == NULL ? FAILED : 0; }

int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  size_t mapped = (bytes + 4095) / 4096 * 4096;
  if (depth == 0) return FAILED;
  for (int i = 0; i < ALLOCATIONS_MAX; i++) {
    struct allocation *slot = &allocations[i];
    if (slot->device != NULL) continue;
    slot->shadow = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    slot->device = mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    slot->bytes = mapped;
    *address = (uint64_t)(uintptr_t)slot->device;
    return slot->shadow == MAP_FAILED || slot->device == MAP_FAILED ? FAILED : 0;
  }
  return FAILED;
}

int cuMemFree_v2(uint64_t address) {
  for (int i = 0; i < ALLOCATIONS_MAX; i++) {
    if ((uint64_t)(uintptr_t)allocations[i].device != address || depth == 0) continue;
    munmap(allocations[i].device, allocations[i].bytes);
    munmap(allocations[i].shadow, allocations[i].bytes);
    memset(&allocations[i], 0, sizeof allocations[i]);
    return 0;
  }
  return FAILED;
}

int cuMemHostAlloc(void **address, size_t bytes, unsigned flags) {
  (void)flags;
  return depth > 0 && posix_memalign(address, 4096, bytes) == 0 ? 0 : FAILED;
}
int cuMemFreeHost(void *address) { return free(address), depth > 0 ? 0 : FAILED; }
int cuMemHostGetDevicePointer_v2(uint64_t *device, void *host, unsigned flags) {
  return *device = (uint64_t)(uintptr_t)host, flags == 0 ? 0 : FAILED;
}

int cuMemcpyHtoDAsync_v2(uint64_t target, const void *source, size_t bytes, void *stream) {
  uint8_t *shadow = shadow_of(target, bytes);
  if (shadow == NULL || stream == NULL || depth == 0) return FAILED;
  memcpy(shadow, source, bytes);
  return 0;
}

int cuMemcpyDtoH_v2(void *target, uint64_t source, size_t bytes) {
  const uint8_t *shadow = shadow_of(source, bytes);
  if (shadow == NULL) return FAILED;
  memcpy(target, shadow, bytes);
  return 0;
}

int cuMemcpyHtoD_v2(uint64_t target, const void *source, size_t bytes) {
  return cuMemcpyHtoDAsync_v2(target, source, bytes, allocations);
}

int cuMemcpyDtoHAsync_v2(void *target, uint64_t source, size_t bytes, void *stream) {
  return stream == NULL || depth == 0 ? FAILED : cuMemcpyDtoH_v2(target, source, bytes);
}

int cuMemsetD8Async(uint64_t target, unsigned char byte, size_t bytes, void *stream) {
  uint8_t *shadow = shadow_of(target, bytes);
  if (shadow == NULL || stream == NULL || depth == 0) return FAILED;
  memset(shadow, byte, bytes);
  return 0;
}
