// Allocations, and the ways in which another process gets at them: by IPC handle, by descriptor of
// a virtual-memory allocation, through a pool. Every allocation is an anonymous file.

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake-cuda.h"

enum { RANGES_MAX = 2048, HANDLE_FD = 1, GRANULARITY = 2 << 20, TICKET_MAGIC = 0x7c9a };
enum kind { PLAIN = 1, OPENED, VIRTUAL, POOLED, POOL_OPENED, RESERVED };

struct pool { bool is_exportable, is_shared; };
struct physical { int fd, references; size_t bytes; bool is_exportable; };
// What travels in an IPC handle or a pool pointer.
struct ticket { uint32_t magic, pid; int32_t fd; uint32_t reserved; uint64_t bytes; };

struct range {
  enum kind kind;
  uint8_t *device, *shadow;
  size_t bytes;
  int fd, users;
  struct physical *physical;
  struct pool *pool;
  bool is_accessible;
};

static struct range ranges[RANGES_MAX];
static int ranges_end;  // none beyond it
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct range *find(uint64_t address, bool is_mapped) {
  for (int i = 0; i < ranges_end; i++) {
    struct range *range = &ranges[i];
    uint64_t begin = (uint64_t)(uintptr_t)range->device;
    if (begin == 0 || address < begin || address >= begin + range->bytes) continue;
    if ((range->kind == RESERVED) != is_mapped) return range;
  }
  return NULL;
}

uint8_t *reach(uint64_t address, size_t bytes) {
  pthread_mutex_lock(&lock);
  struct range *range = find(address, true);
  uint8_t *place = NULL;
  if (range == NULL) {
    place = find(address, false) == NULL ? (uint8_t *)(uintptr_t)address : NULL;
  } else {
    place = range->shadow + (address - (uint64_t)(uintptr_t)range->device);
    // Neighbours of one reservation have neighbouring shadows.
    for (uint64_t at = address; place != NULL && at < address + bytes;) {
      range = find(at, true);
      bool is_first = at == address;
      if (range == NULL || !range->is_accessible || (!is_first && range->kind != VIRTUAL)) {
        place = NULL;
      } else {
        at = (uint64_t)(uintptr_t)range->device + range->bytes;
      }
    }
  }
  pthread_mutex_unlock(&lock);
  return place;
}

// Addresses are new ones where none are given.
static struct range *add(enum kind kind, uint8_t *device, uint8_t *shadow, size_t bytes, int fd) {
  for (int i = 0; i < RANGES_MAX; i++) {
    struct range *range = &ranges[i];
    if (range->device != NULL) continue;
    *range = (struct range){.kind = kind, .bytes = bytes, .fd = fd, .is_accessible = true};
    range->users = 1;
    int fixed = shadow == NULL ? 0 : MAP_FIXED;
    range->shadow = fd >= 0 ? mmap(shadow, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | fixed, fd, 0)
                            : mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (range->shadow == MAP_FAILED) return NULL;
    if (device == NULL) device = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (device == MAP_FAILED) return NULL;
    range->device = device;
    if (i >= ranges_end) ranges_end = i + 1;
    return range;
  }
  return NULL;
}

static void drop(struct range *range) {
  // Addresses of a reservation stay reserved, and so do those of its shadow.
  if (range->kind == VIRTUAL) {
    mmap(range->shadow, range->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  } else {
    munmap(range->shadow, range->bytes);
    munmap(range->device, range->bytes);
  }
  if (range->fd >= 0 && range->kind != VIRTUAL) close(range->fd);
  memset(range, 0, sizeof *range);
}

static int make_file(size_t bytes) {
  int fd = memfd_create("fake-cuda", MFD_CLOEXEC);
  if (fd >= 0 && ftruncate(fd, (off_t)bytes) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

static int allocate(enum kind kind, struct pool *pool, uint64_t *address, size_t bytes) {
  size_t rounded = (bytes + 4095) / 4096 * 4096;
  if (!has_context()) return INVALID_CONTEXT;
  if (rounded > (size_t)64 << 30) return OUT_OF_MEMORY;
  pthread_mutex_lock(&lock);
  struct range *range = add(kind, NULL, NULL, rounded, make_file(rounded));
  if (range != NULL) {
    range->pool = pool;
    *address = (uint64_t)(uintptr_t)range->device;
  }
  pthread_mutex_unlock(&lock);
  return range == NULL ? OUT_OF_MEMORY : OK;
}

static int release(uint64_t address) {
  if (!has_context()) return INVALID_CONTEXT;
  finish_all();
  pthread_mutex_lock(&lock);
  struct range *range = find(address, true);
  bool is_base = range != NULL && (uint64_t)(uintptr_t)range->device == address;
  if (is_base && --range->users == 0) drop(range);
  pthread_mutex_unlock(&lock);
  return is_base ? OK : INVALID_VALUE;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  return allocate(PLAIN, NULL, address, bytes);
}
int cuMemFree_v2(uint64_t address) { return release(address); }

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  return *free_bytes = *total = (size_t)64 << 30, OK;
}

int cuMemGetAddressRange_v2(uint64_t *base, size_t *bytes, uint64_t address) {
  struct range *range = find(address, true);
  if (range == NULL) return INVALID_VALUE;
  *base = (uint64_t)(uintptr_t)range->device;
  *bytes = range->bytes;
  return OK;
}

static uint64_t handle_types(const struct range *range) {
  if (range->kind == VIRTUAL) return range->physical->is_exportable ? HANDLE_FD : 0;
  return range->pool != NULL && range->pool->is_exportable ? HANDLE_FD : 0;
}

int cuPointerGetAttribute(void *data, int attribute, uint64_t address) {
  const struct range *range = find(address, true);
  if (range == NULL) {
    if (attribute != 4) return INVALID_VALUE;
    return memcpy(data, &address, sizeof address), OK;
  }
  uint64_t pool = (uint64_t)(uintptr_t)range->pool, types = handle_types(range);
  switch (attribute) {
    case 2: return *(uint32_t *)data = 2, OK;
    case 9: return *(int32_t *)data = 0, OK;
    case 10: return *(uint8_t *)data = range->kind == PLAIN, OK;
    case 14: return memcpy(data, &types, sizeof types), OK;
    case 17: return memcpy(data, &pool, sizeof pool), OK;
    default: return INVALID_VALUE;
  }
}

static int write_ticket(void *out, uint64_t address, enum kind kind) {
  const struct range *range = find(address, true);
  if (range == NULL || range->kind != kind) return INVALID_VALUE;
  // As on a GPU: allocations of a pool can be named once the pool is shared.
  if (range->pool != NULL && !range->pool->is_shared) return INVALID_VALUE;
  struct ticket ticket = {TICKET_MAGIC, (uint32_t)getpid(), range->fd, 0, range->bytes};
  memset(out, 0, 64);
  memcpy(out, &ticket, sizeof ticket);
  return OK;
}

static int open_ticket(uint64_t *address, const void *in, enum kind kind) {
  struct ticket ticket;
  char path[64];
  memcpy(&ticket, in, sizeof ticket);
  if (ticket.magic != TICKET_MAGIC || ticket.pid == (uint32_t)getpid()) return INVALID_VALUE;
  snprintf(path, sizeof path, "/proc/%u/fd/%d", ticket.pid, ticket.fd);
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return INVALID_VALUE;
  pthread_mutex_lock(&lock);
  struct range *range = add(kind, NULL, NULL, ticket.bytes, fd);
  if (range != NULL) *address = (uint64_t)(uintptr_t)range->device;
  pthread_mutex_unlock(&lock);
  return range == NULL ? OUT_OF_MEMORY : OK;
}

struct ipc_handle { uint8_t bytes[64]; };
int cuIpcGetMemHandle(void *handle, uint64_t address) {
  return write_ticket(handle, address, PLAIN);
}
int cuIpcOpenMemHandle_v2(uint64_t *address, struct ipc_handle handle, unsigned flags) {
  return flags == 1 ? open_ticket(address, &handle, OPENED) : INVALID_VALUE;
}
int cuIpcCloseMemHandle(uint64_t address) { return release(address); }

int cuMemGetAllocationGranularity(size_t *bytes, const void *properties, unsigned option) {
  return *bytes = GRANULARITY, properties != NULL && option == 0 ? OK : INVALID_VALUE;
}

int cuMemCreate(uint64_t *handle, size_t bytes, const uint32_t *properties, uint64_t flags) {
  if (bytes % GRANULARITY != 0 || flags != 0) return INVALID_VALUE;
  struct physical *physical = calloc(1, sizeof *physical);
  *physical = (struct physical){make_file(bytes), 1, bytes, (properties[1] & HANDLE_FD) != 0};
  return *handle = (uint64_t)(uintptr_t)physical, OK;
}

static struct physical *physical_of(uint64_t handle) { return (void *)(uintptr_t)handle; }

int cuMemRelease(uint64_t handle) {
  struct physical *physical = physical_of(handle);
  if (--physical->references > 0) return OK;
  close(physical->fd);
  free(physical);
  return OK;
}

int cuMemAddressReserve(uint64_t *address, size_t bytes, size_t alignment, uint64_t wish,
                        uint64_t flags) {
  if (alignment != 0 || wish != 0 || flags != 0) return INVALID_VALUE;
  pthread_mutex_lock(&lock);
  struct range *range = add(RESERVED, NULL, NULL, bytes, -1);
  if (range != NULL) *address = (uint64_t)(uintptr_t)range->device;
  pthread_mutex_unlock(&lock);
  return range == NULL ? OUT_OF_MEMORY : OK;
}

int cuMemAddressFree(uint64_t address, size_t bytes) {
  pthread_mutex_lock(&lock);
  struct range *range = find(address, false);
  bool is_whole = range != NULL && range->bytes == bytes && find(address, true) == NULL;
  if (is_whole) drop(range);
  pthread_mutex_unlock(&lock);
  return is_whole ? OK : INVALID_VALUE;
}

int cuMemMap(uint64_t address, size_t bytes, size_t offset, uint64_t handle, uint64_t flags) {
  struct physical *physical = physical_of(handle);
  if (offset != 0 || flags != 0 || bytes != physical->bytes) return INVALID_VALUE;
  pthread_mutex_lock(&lock);
  struct range *range = NULL, *reservation = find(address, false);
  if (reservation != NULL) {
    uint8_t *device = (uint8_t *)(uintptr_t)address;
    uint8_t *shadow = reservation->shadow + (device - reservation->device);
    range = add(VIRTUAL, device, shadow, bytes, physical->fd);
  }
  if (range != NULL) {
    range->physical = physical;
    range->is_accessible = false;
    physical->references++;
  }
  pthread_mutex_unlock(&lock);
  return range == NULL ? INVALID_VALUE : OK;
}

int cuMemSetAccess(uint64_t address, size_t bytes, const uint32_t *access, size_t count) {
  if (count != 1 || access[2] != 3) return INVALID_VALUE;
  for (uint64_t at = address; at < address + bytes;) {
    struct range *range = find(at, true);
    if (range == NULL || range->kind != VIRTUAL) return INVALID_VALUE;
    range->is_accessible = true;
    at = (uint64_t)(uintptr_t)range->device + range->bytes;
  }
  return OK;
}

int cuMemUnmap(uint64_t address, size_t bytes) {
  finish_all();
  for (uint64_t at = address; at < address + bytes;) {
    struct range *range = find(at, true);
    if (range == NULL || range->kind != VIRTUAL) return INVALID_VALUE;
    at = (uint64_t)(uintptr_t)range->device + range->bytes;
    struct physical *physical = range->physical;
    drop(range);
    cuMemRelease((uint64_t)(uintptr_t)physical);
  }
  return OK;
}

int cuMemRetainAllocationHandle(uint64_t *handle, uint64_t address) {
  struct range *range = find(address, true);
  if (range == NULL || range->kind != VIRTUAL) return INVALID_VALUE;
  range->physical->references++;
  return *handle = (uint64_t)(uintptr_t)range->physical, OK;
}

int cuMemExportToShareableHandle(int *fd, uint64_t handle, int type, uint64_t flags) {
  struct physical *physical = physical_of(handle);
  if (type != HANDLE_FD || flags != 0 || !physical->is_exportable) return NOT_SUPPORTED;
  return *fd = fcntl(physical->fd, F_DUPFD_CLOEXEC, 0), OK;
}

int cuMemImportFromShareableHandle(uint64_t *handle, uint64_t fd, int type) {
  struct stat facts;
  if (type != HANDLE_FD || fstat((int)fd, &facts) != 0) return INVALID_VALUE;
  struct physical *physical = calloc(1, sizeof *physical);
  int copy = fcntl((int)fd, F_DUPFD_CLOEXEC, 0);
  *physical = (struct physical){copy, 1, (size_t)facts.st_size, false};
  return *handle = (uint64_t)(uintptr_t)physical, OK;
}

static struct pool *pool_of(uint64_t pool) { return (void *)(uintptr_t)pool; }

int cuMemPoolCreate(uint64_t *out, const uint32_t *properties) {
  if (properties[0] != 1 || properties[2] != 1) return INVALID_VALUE;
  struct pool *pool = calloc(1, sizeof *pool);
  pool->is_exportable = (properties[1] & HANDLE_FD) != 0;
  return *out = (uint64_t)(uintptr_t)pool, OK;
}
// Allocations may outlive it here, so it stays.
int cuMemPoolDestroy(uint64_t pool) { return pool == 0 ? INVALID_VALUE : OK; }
int cuMemPoolSetAccess(uint64_t pool, const uint32_t *access, size_t count) {
  return pool != 0 && count == 1 && access[2] == 3 ? OK : INVALID_VALUE;
}
int cuMemAllocFromPoolAsync(uint64_t *address, size_t bytes, uint64_t pool, void *stream) {
  (void)stream;
  return allocate(POOLED, pool_of(pool), address, bytes);
}
int cuMemFreeAsync(uint64_t address, void *stream) { return (void)stream, release(address); }
int cuMemPoolExportToShareableHandle(int *fd, uint64_t pool, int type, uint64_t flags) {
  if (type != HANDLE_FD || flags != 0 || !pool_of(pool)->is_exportable) return NOT_SUPPORTED;
  pool_of(pool)->is_shared = true;
  return *fd = make_file(4096), OK;
}
int cuMemPoolImportFromShareableHandle(uint64_t *pool, uint64_t fd, int type, uint64_t flags) {
  struct stat facts;
  if (type != HANDLE_FD || flags != 0 || fstat((int)fd, &facts) != 0) return INVALID_VALUE;
  return *pool = (uint64_t)(uintptr_t)calloc(1, sizeof(struct pool)), OK;
}
int cuMemPoolExportPointer(void *data, uint64_t address) {
  return write_ticket(data, address, POOLED);
}
int cuMemPoolImportPointer(uint64_t *address, uint64_t pool, const void *data) {
  return pool == 0 ? INVALID_VALUE : open_ticket(address, data, POOL_OPENED);
}
