// GPU memory for the tests, from whatever libcuda.so.1 the process finds.

#include <dlfcn.h>

#include <stdexcept>

#include "check.h"

namespace {

template <class F>
F *symbol(const char *name) {
  static void *const library = dlopen("libcuda.so.1", RTLD_NOW);
  auto *found = library == nullptr ? nullptr : reinterpret_cast<F *>(dlsym(library, name));
  if (found == nullptr) throw std::runtime_error(std::string("no CUDA driver: ") + name);
  return found;
}

void demand(int result, const char *call) {
  if (result != 0) throw std::runtime_error(std::string(call) + ": " + std::to_string(result));
}

void openDevice() {
  void *context = nullptr;
  demand(symbol<int(unsigned)>("cuInit")(0), "cuInit");
  demand(symbol<int(void **, int)>("cuDevicePrimaryCtxRetain")(&context, 0), "retain");
  demand(symbol<int(void *)>("cuCtxSetCurrent")(context), "set current");
}

}  // namespace

uint8_t *deviceAlloc(size_t bytes) {
  uint64_t addr = 0;
  openDevice();
  demand(symbol<int(uint64_t *, size_t)>("cuMemAlloc_v2")(&addr, bytes), "cuMemAlloc");
  return reinterpret_cast<uint8_t *>(addr);
}

void deviceCopy(uint8_t *device, uint8_t *host, size_t bytes, bool isIn) {
  const auto addr = reinterpret_cast<uint64_t>(device);
  if (isIn) demand(symbol<int(uint64_t, const void *, size_t)>("cuMemcpyHtoD_v2")(addr, host, bytes), "in");
  else demand(symbol<int(void *, uint64_t, size_t)>("cuMemcpyDtoH_v2")(host, addr, bytes), "out");
}
