// Memory of the emulated GPU: CUDA memory through libcuda, opened at run time, or plain memory.
// Copies run on streams of our own, one per direction, that do not wait for the default stream: a
// collective kernel that waits for these very bytes may occupy that one. Nobody waits for a copy:
// its number appears in pinned memory behind it.

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../symbols.h"
#include "emulator.h"

enum { STREAM_NON_BLOCKING = 1, HOST_PORTABLE = 1, HOST_DEVICE_MAP = 2, DIRECTIONS = 2 };

// Numbers of one direction, a cache line apart from the other's; the stream writes them.
struct progress { _Atomic uint32_t done; uint8_t padding[60]; };

static struct {
  int (*init)(unsigned flags);
  int (*device_count)(int *count);
  int (*device_get)(int *device, int ordinal);
  int (*context_device)(int *device);
  int (*primary_retain)(void **context, int device);
  int (*context_push)(void *context);
  int (*context_pop)(void **context);
  int (*mem_alloc)(uint64_t *address, size_t bytes);
  int (*mem_free)(uint64_t address);
  int (*host_alloc)(void **address, size_t bytes, unsigned flags);
  int (*host_free)(void *address);
  int (*host_device_pointer)(uint64_t *device, void *host, unsigned flags);
  int (*copy_in)(uint64_t target, const void *source, size_t bytes, void *stream);
  int (*copy_out)(void *target, uint64_t source, size_t bytes, void *stream);
  int (*fill_rows)(uint64_t target, size_t pitch, unsigned char byte, size_t width, size_t height,
                   void *stream);
  int (*write_word)(void *stream, uint64_t target, uint32_t value, unsigned flags);
  int (*stream_create)(void **stream, unsigned flags);
  int (*stream_sync)(void *stream);
} cuda;

static bool is_cuda;
static struct {
  void *context, *streams[DIRECTIONS];
  struct progress *progress;  // pinned
  uint64_t progress_address;  // the same, for the GPU
  uint32_t launched[DIRECTIONS];
} gpus[GPUS_MAX];
static pthread_mutex_t gpus_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int chosen_gpu = -1;

static bool load_cuda(void *library) {
  const struct symbol symbols[] = {
      {&cuda.init, "cuInit"},
      {&cuda.device_count, "cuDeviceGetCount"},
      {&cuda.device_get, "cuDeviceGet"},
      {&cuda.context_device, "cuCtxGetDevice"},
      {&cuda.primary_retain, "cuDevicePrimaryCtxRetain"},
      {&cuda.context_push, "cuCtxPushCurrent_v2"},
      {&cuda.context_pop, "cuCtxPopCurrent_v2"},
      {&cuda.mem_alloc, "cuMemAlloc_v2"},
      {&cuda.mem_free, "cuMemFree_v2"},
      {&cuda.host_alloc, "cuMemHostAlloc"},
      {&cuda.host_free, "cuMemFreeHost"},
      {&cuda.host_device_pointer, "cuMemHostGetDevicePointer_v2"},
      {&cuda.copy_in, "cuMemcpyHtoDAsync_v2"},
      {&cuda.copy_out, "cuMemcpyDtoHAsync_v2"},
      {&cuda.fill_rows, "cuMemsetD2D8Async"},
      {&cuda.write_word, "cuStreamWriteValue32_v2"},
      {&cuda.stream_create, "cuStreamCreate"},
      {&cuda.stream_sync, "cuStreamSynchronize"},
  };
  return LOAD_SYMBOLS(library, symbols) == NULL;
}

bool device_open(enum memory_mode mode) {
  if (mode == MEMORY_HOST) return true;
  const char *path = settings_text("TCPX_EMU_LIBCUDA");
  void *library = dlopen(path != NULL ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  int count = 0;
  is_cuda = load_cuda(library) && cuda.init(0) == 0 &&
            cuda.device_count(&count) == 0 && count > 0;
  if (!is_cuda && mode == MEMORY_CUDA) {
    WARN("no cuDevices found");
    return false;
  }
  INFO("emulated bounce buffers in %s", is_cuda ? "GPU memory" : "host memory");
  return true;
}

bool device_is_cuda(void) { return is_cuda; }

static void check(int result, const char *call) {
  if (result != 0) fatal("CU failure %s: %d", call, result);
}

static void first_visit(int gpu) {
  int device = 0;
  void *progress = NULL;
  check(cuda.device_get(&device, gpu), "cuDeviceGet");
  check(cuda.primary_retain(&gpus[gpu].context, device), "cuDevicePrimaryCtxRetain");
  check(cuda.context_push(gpus[gpu].context), "cuCtxPushCurrent");
  for (int i = 0; i < DIRECTIONS; i++) {
    check(cuda.stream_create(&gpus[gpu].streams[i], STREAM_NON_BLOCKING), "cuStreamCreate");
  }
  size_t bytes = DIRECTIONS * sizeof(struct progress);
  check(cuda.host_alloc(&progress, bytes, HOST_PORTABLE | HOST_DEVICE_MAP), "cuMemHostAlloc");
  check(cuda.host_device_pointer(&gpus[gpu].progress_address, progress, 0),
        "cuMemHostGetDevicePointer");
  gpus[gpu].progress = memset(progress, 0, bytes);
}

static void enter(int gpu) {
  pthread_mutex_lock(&gpus_lock);
  if (gpus[gpu].context == NULL) first_visit(gpu);
  else check(cuda.context_push(gpus[gpu].context), "cuCtxPushCurrent");
  pthread_mutex_unlock(&gpus_lock);
}

static void leave(void) {
  void *context = NULL;
  check(cuda.context_pop(&context), "cuCtxPopCurrent");
}

// The GPU of the calling thread: its current CUDA device, or the one chosen below.
int device_current(void) {
  int device = 0;
  if (is_cuda) return cuda.context_device(&device) == 0 ? device : 0;
  if (chosen_gpu >= 0) return chosen_gpu;
  return (int)settings_number("TCPX_EMU_GPU", 0, 0, GPUS_MAX - 1);
}

// Stands in for cudaSetDevice where there is no CUDA; per thread, as there.
__attribute__((visibility("default"))) int tcpx_emu_set_gpu(int gpu) {
  if (gpu < -1 || gpu >= GPUS_MAX) return NET_ARGUMENT;
  chosen_gpu = gpu;
  return NET_OK;
}

void *device_alloc(int gpu, size_t bytes) {
  if (!is_cuda) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fatal("mmap of %zu bytes failed", bytes);
    if (settings.huge_pages) madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
  }
  uint64_t address = 0;
  enter(gpu);
  check(cuda.mem_alloc(&address, bytes), "cuMemAlloc");
  leave();
  return (void *)(uintptr_t)address;
}

void device_free(int gpu, void *address) {
  if (!is_cuda || address == NULL) return;  // plain pools live as long as the process
  enter(gpu);
  check(cuda.mem_free((uint64_t)(uintptr_t)address), "cuMemFree");
  leave();
}

void *pinned_alloc(int gpu, size_t bytes, void **device_address) {
  void *memory = NULL;
  uint64_t device = 0;
  if (!is_cuda) {
    if (posix_memalign(&memory, PAGE_BYTES, bytes) != 0) fatal("no memory for %zu bytes", bytes);
    memset(memory, 0, bytes);
    if (device_address != NULL) *device_address = memory;
    return memory;
  }
  enter(gpu);
  check(cuda.host_alloc(&memory, bytes, HOST_PORTABLE | HOST_DEVICE_MAP), "cuMemHostAlloc");
  check(cuda.host_device_pointer(&device, memory, 0), "cuMemHostGetDevicePointer");
  leave();
  memset(memory, 0, bytes);
  if (device_address != NULL) *device_address = (void *)(uintptr_t)device;
  return memory;
}

void pinned_free(int gpu, void *address) {
  if (address == NULL) return;
  if (!is_cuda) {
    free(address);
    return;
  }
  enter(gpu);
  check(cuda.host_free(address), "cuMemFreeHost");
  leave();
}

// Returns when the bytes are there.
void device_write(int gpu, void *target, const void *source, size_t bytes) {
  if (!is_cuda) {
    memcpy(target, source, bytes);
    return;
  }
  uint64_t address = (uint64_t)(uintptr_t)target;
  enter(gpu);
  check(cuda.copy_in(address, source, bytes, gpus[gpu].streams[TO_GPU]), "cuMemcpyHtoDAsync");
  check(cuda.stream_sync(gpus[gpu].streams[TO_GPU]), "cuStreamSynchronize");
  leave();
}

// Starts a copy between the GPU and pinned memory; only with CUDA. Its number: see device_is_done.
uint32_t device_copy_later(int gpu, enum direction direction, void *device, void *pinned,
                           size_t bytes) {
  uint64_t address = (uint64_t)(uintptr_t)device;
  enter(gpu);
  uint64_t done = gpus[gpu].progress_address + (uint64_t)direction * sizeof(struct progress);
  // Numbers are in the order of the stream, whoever copies.
  pthread_mutex_lock(&gpus_lock);
  void *stream = gpus[gpu].streams[direction];
  uint32_t number = ++gpus[gpu].launched[direction];
  if (direction == TO_GPU) check(cuda.copy_in(address, pinned, bytes, stream), "cuMemcpyHtoDAsync");
  else check(cuda.copy_out(pinned, address, bytes, stream), "cuMemcpyDtoHAsync");
  check(cuda.write_word(stream, done, number, 0), "cuStreamWriteValue32");
  pthread_mutex_unlock(&gpus_lock);
  leave();
  return number;
}

// Whether the copy with this number, and every earlier one of the direction, is over. A load.
bool device_is_done(int gpu, enum direction direction, uint32_t number) {
  const struct progress *progress = &gpus[gpu].progress[direction];
  uint32_t done = atomic_load_explicit(&progress->done, memory_order_acquire);
  return (int32_t)(done - number) >= 0;
}

// Rows of `width` bytes, `pitch` apart; later copies to the GPU find them filled.
void device_fill_rows(int gpu, void *target, int byte, size_t width, size_t pitch, size_t rows) {
  if (!is_cuda) {
    for (size_t row = 0; row < rows; row++) memset((uint8_t *)target + row * pitch, byte, width);
    return;
  }
  enter(gpu);
  uint64_t address = (uint64_t)(uintptr_t)target;
  check(cuda.fill_rows(address, pitch, (unsigned char)byte, width, rows,
                       gpus[gpu].streams[TO_GPU]),
        "cuMemsetD2D8Async");
  leave();
}

void device_sync(int gpu) {
  if (!is_cuda) return;
  enter(gpu);
  for (int i = 0; i < DIRECTIONS; i++) {
    check(cuda.stream_sync(gpus[gpu].streams[i]), "cuStreamSynchronize");
  }
  leave();
}
