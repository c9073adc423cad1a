// One device, its primary context, current per thread as on a GPU, and pinned host memory.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake-cuda.h"

enum { CONTEXTS_MAX = 64 };

static int primary;
static _Thread_local void *contexts[CONTEXTS_MAX];
static _Thread_local int depth;

bool has_context(void) { return depth > 0 && contexts[depth - 1] != NULL; }

int cuInit(unsigned flags) { return flags == 0 ? OK : INVALID_VALUE; }
int cuDriverGetVersion(int *version) { return *version = 12000, OK; }
int cuGetErrorName(int result, const char **name) {
  return *name = result == OK ? "CUDA_SUCCESS" : "FAKE_CUDA_ERROR", OK;
}
int cuGetErrorString(int result, const char **text) {
  return *text = result == OK ? "no error" : "refused by the stand-in", OK;
}
int cuDeviceGetCount(int *count) { return *count = 1, OK; }
int cuDeviceGet(int *device, int ordinal) {
  return *device = ordinal, ordinal == 0 ? OK : INVALID_VALUE;
}
int cuDeviceGetName(char *name, int bytes, int device) {
  return snprintf(name, (size_t)bytes, "stand-in %d", device), OK;
}
int cuDeviceGetPCIBusId(char *text, int bytes, int device) {
  return snprintf(text, (size_t)bytes, "0000:0%d:00.0", device + 4), OK;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = (size_t)64 << 30, device; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75 ? 8 : attribute == 76 ? 0 : attribute == 16 ? 4 : 1;
  return device == 0 ? OK : INVALID_VALUE;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  return *context = &primary, device == 0 ? OK : INVALID_VALUE;
}
int cuDevicePrimaryCtxRelease_v2(int device) { return device == 0 ? OK : INVALID_VALUE; }
int cuCtxSetCurrent(void *context) {
  if (depth == 0) depth = 1;
  return contexts[depth - 1] = context, OK;
}
int cuCtxGetCurrent(void **context) {
  return *context = depth > 0 ? contexts[depth - 1] : NULL, OK;
}
int cuCtxPushCurrent_v2(void *context) {
  count_call(COUNT_VISIT);
  if (context == NULL || depth == CONTEXTS_MAX) return INVALID_VALUE;
  return contexts[depth++] = context, OK;
}
int cuCtxPopCurrent_v2(void **context) {
  if (depth == 0) return INVALID_CONTEXT;
  return *context = contexts[--depth], OK;
}
int cuCtxGetDevice(int *device) { return *device = 0, has_context() ? OK : INVALID_CONTEXT; }

int cuMemHostAlloc(void **address, size_t bytes, unsigned flags) {
  (void)flags;
  if (!has_context()) return INVALID_CONTEXT;
  return posix_memalign(address, 4096, bytes) == 0 ? OK : OUT_OF_MEMORY;
}
int cuMemFreeHost(void *address) {
  finish_all();
  return free(address), has_context() ? OK : INVALID_CONTEXT;
}
int cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags) {
  return (void)flags, address != NULL && bytes > 0 && has_context() ? OK : INVALID_VALUE;
}
int cuMemHostUnregister(void *address) {
  finish_all();
  return address == NULL ? INVALID_VALUE : OK;
}
int cuMemHostGetDevicePointer_v2(uint64_t *device, void *host, unsigned flags) {
  return *device = (uint64_t)(uintptr_t)host, flags == 0 ? OK : INVALID_VALUE;
}
