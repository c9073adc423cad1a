// Memory of this process: registered, described, allocated so that the service can share it.

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#endif
enum { SEAL_SHRINK = 2, SEAL_GROW = 4 };
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#define HUGE_BYTES ((size_t)2 << 20)

static tcpx_status keep(tcpx_session *session, const struct answer *answer, const char *way,
                        uint32_t *id) {
  struct memory memory = {.way = way};
  if (answer->bytes < sizeof memory.id) return fail(TCPX_ERR_VERSION, "register: a short answer");
  memcpy(&memory.id, answer->payload, sizeof memory.id);
  memory.key = strdup((const char *)answer->payload + sizeof memory.id);
  pthread_mutex_lock(&session->list_lock);
  if (session->memory_count == session->memory_room) {
    size_t room = session->memory_room == 0 ? 16 : 2 * session->memory_room;
    struct memory *grown = realloc(session->memories, room * sizeof *grown);
    if (grown != NULL) {
      session->memories = grown;
      session->memory_room = room;
    }
  }
  bool has_room = memory.key != NULL && session->memory_count < session->memory_room;
  if (has_room) {
    // Numbers rise, but two threads may keep theirs in either order.
    size_t at = session->memory_count++;
    for (; at > 0 && session->memories[at - 1].id > memory.id; at--) {
      session->memories[at] = session->memories[at - 1];
    }
    session->memories[at] = memory;
  }
  pthread_mutex_unlock(&session->list_lock);
  if (!has_room) return free(memory.key), fail_errno("register");
  *id = memory.id;
  return TCPX_OK;
}

static tcpx_status send_register(tcpx_session *session, const struct part *parts, size_t count,
                                 struct passed passed, const char *way, uint32_t *id) {
  struct answer answer;
  tcpx_status status = call(session, MESSAGE_REGISTER, parts, count, passed, &answer);
  if (status != TCPX_OK) return status;
  status = keep(session, &answer, way, id);
  drop_answer(&answer);
  return status;
}

// Of tcpx_alloc, where the whole range lies in one.
static struct allocation *find_allocation(tcpx_session *session, const void *addr, size_t bytes) {
  uintptr_t begin = (uintptr_t)addr;
  for (struct allocation *one = session->allocations; one != NULL; one = one->next) {
    uintptr_t base = (uintptr_t)one->addr;
    if (begin >= base && begin - base <= one->bytes && bytes <= one->bytes - (begin - base)) {
      return one;
    }
  }
  return NULL;
}

static tcpx_status check_register(tcpx_session *session, const void *addr, size_t bytes,
                                  unsigned rights, const uint32_t *memory) {
  tcpx_status status = check_session(session);
  if (status != TCPX_OK) return status;
  if (addr == NULL || bytes == 0 || memory == NULL || rights > (TCPX_READ | TCPX_WRITE)) {
    return fail(TCPX_ERR_ARGUMENT, "register %zu bytes at %p with rights %u", bytes, addr, rights);
  }
  if (!is_countable(bytes) || !is_countable((uint64_t)(uintptr_t)addr)) {
    return fail(TCPX_ERR_ARGUMENT, "register %zu bytes at %p: beyond 2^53", bytes, addr);
  }
  return TCPX_OK;
}

static tcpx_status register_device(tcpx_session *session, struct register_message *message,
                                   uint32_t *memory) {
  struct device_export given = {.way = "ipc"};
  tcpx_status status = describe_device(message, &given);
  if (status == TCPX_OK) {
    const struct part parts[] = {{message, sizeof *message},
                                 {given.segments, given.segment_count * sizeof *given.segments}};
    const struct passed passed = {given.fds, given.fd_count};
    status = send_register(session, parts, 2, passed, given.way, memory);
  }
  drop_export(&given);
  return status;
}

tcpx_status tcpx_register(tcpx_session *session, void *addr, size_t bytes, tcpx_memory_kind kind,
                          unsigned rights, uint32_t *memory) {
  tcpx_status status = check_register(session, addr, bytes, rights, memory);
  if (status != TCPX_OK) return status;
  struct register_message message = {.way = WAY_COPIED, .rights = (int32_t)rights,
                                     .addr = (uint64_t)(uintptr_t)addr, .bytes = bytes};
  if (kind == TCPX_MEMORY_CUDA) return register_device(session, &message, memory);
  if (kind != TCPX_MEMORY_HOST) return fail(TCPX_ERR_ARGUMENT, "register: kind %d", (int)kind);
  pthread_mutex_lock(&session->list_lock);
  const struct allocation *allocation = find_allocation(session, addr, bytes);
  int fd = allocation == NULL ? -1 : allocation->fd;
  size_t offset = allocation == NULL ? 0 : (size_t)((char *)addr - (char *)allocation->addr);
  pthread_mutex_unlock(&session->list_lock);
  if (fd >= 0) return tcpx_register_fd(session, addr, bytes, fd, offset, rights, memory);
  const struct part parts[] = {{&message, sizeof message}};
  return send_register(session, parts, 1, NOTHING_PASSED, "copied", memory);
}

tcpx_status tcpx_register_fd(tcpx_session *session, void *addr, size_t bytes, int fd,
                             uint64_t offset, unsigned rights, uint32_t *memory) {
  tcpx_status status = check_register(session, addr, bytes, rights, memory);
  if (status != TCPX_OK) return status;
  if (fd < 0) return fail(TCPX_ERR_ARGUMENT, "register: descriptor %d", fd);
  if (!is_countable(offset)) {
    return fail(TCPX_ERR_ARGUMENT, "register: offset %llu in the file is beyond 2^53",
                (unsigned long long)offset);
  }
  struct register_message message = {.way = WAY_SHARED, .rights = (int32_t)rights,
                                     .addr = (uint64_t)(uintptr_t)addr, .bytes = bytes,
                                     .offset = offset};
  const struct part parts[] = {{&message, sizeof message}};
  return send_register(session, parts, 1, (struct passed){&fd, 1}, "shared", memory);
}

static struct memory *find_memory(tcpx_session *session, uint32_t id) {
  size_t low = 0, high = session->memory_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (session->memories[middle].id == id) return &session->memories[middle];
    if (session->memories[middle].id < id) low = middle + 1;
    else high = middle;
  }
  return NULL;
}

tcpx_status tcpx_deregister(tcpx_session *session, uint32_t id) {
  const struct part parts[] = {{&id, sizeof id}};
  tcpx_status status = call_number(session, MESSAGE_DEREGISTER, parts, 1, NULL);
  if (status != TCPX_OK) return status;
  pthread_mutex_lock(&session->list_lock);
  struct memory *memory = find_memory(session, id);
  if (memory != NULL) {
    free(memory->key);
    size_t behind = session->memory_count - 1 - (size_t)(memory - session->memories);
    memmove(memory, memory + 1, behind * sizeof *memory);
    session->memory_count--;
  }
  pthread_mutex_unlock(&session->list_lock);
  return TCPX_OK;
}

// As it is now; false after fail().
static bool look_up(tcpx_session *session, uint32_t id, struct memory *found) {
  if (check_owner(session) != TCPX_OK) return false;
  pthread_mutex_lock(&session->list_lock);
  const struct memory *memory = find_memory(session, id);
  if (memory != NULL) *found = *memory;
  pthread_mutex_unlock(&session->list_lock);
  if (memory == NULL) fail(TCPX_ERR_NOT_FOUND, "memory %u is not registered", id);
  return memory != NULL;
}

const char *tcpx_describe(tcpx_session *session, uint32_t id) {
  struct memory found;
  return look_up(session, id, &found) ? found.key : NULL;
}

const char *tcpx_memory_way(tcpx_session *session, uint32_t id) {
  struct memory found;
  return look_up(session, id, &found) ? found.way : NULL;
}

// Of 2 MiB and more at a multiple of that: elsewhere huge pages cannot be mapped as such.
static void *map_file(int fd, size_t bytes) {
  int access = PROT_READ | PROT_WRITE;
  if (bytes < HUGE_BYTES) return mmap(NULL, bytes, access, MAP_SHARED, fd, 0);
  size_t room = bytes + HUGE_BYTES;
  char *start = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return MAP_FAILED;
  size_t before = (HUGE_BYTES - (uintptr_t)start % HUGE_BYTES) % HUGE_BYTES;
  char *aligned = start + before;
  if (before > 0) munmap(start, before);
  size_t after = room - before - bytes;
  if (after > 0) munmap(aligned + bytes, after);
  void *mapping = mmap(aligned, bytes, access, MAP_SHARED | MAP_FIXED, fd, 0);
  if (mapping == MAP_FAILED) munmap(aligned, bytes);
  return mapping;
}

// Sockets read and write huge pages a fifth faster. The kernel makes them of whole 2 MiB of which
// a page is there; an older kernel, or one without so much memory in one piece, does not, and the
// pages come when they are touched. A file says where it has no memory; a touch would be a signal.
static void want_huge_pages(int fd, void *mapping, size_t bytes) {
  size_t whole = bytes - bytes % HUGE_BYTES;
  int saved = errno;
  for (size_t at = 0; at < whole; at += HUGE_BYTES) {
    if (fallocate(fd, 0, (off_t)at, 1) != 0) break;
    if (madvise((char *)mapping + at, HUGE_BYTES, MADV_COLLAPSE) != 0) break;
  }
  errno = saved;
}

tcpx_status tcpx_alloc(tcpx_session *session, size_t bytes, void **addr) {
  tcpx_status status = check_session(session);
  if (status != TCPX_OK) return status;
  if (bytes == 0 || bytes > SIZE_MAX / 2 || addr == NULL) {
    return fail(TCPX_ERR_ARGUMENT, "alloc: %zu bytes", bytes);
  }
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  size_t rounded = (bytes + page - 1) / page * page;
  struct allocation *allocation = calloc(1, sizeof *allocation);
  if (allocation == NULL) return fail_errno("calloc");
  int fd = memfd_create("tcpx-alloc", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  void *mapping = MAP_FAILED;
  if (fd >= 0 && ftruncate(fd, (off_t)rounded) == 0 &&
      fcntl(fd, F_ADD_SEALS, SEAL_SHRINK | SEAL_GROW) == 0) {
    mapping = map_file(fd, rounded);
  }
  if (mapping == MAP_FAILED) {
    status = fail_errno("alloc: a file in memory");
    if (fd >= 0) close(fd);
    free(allocation);
    return status;
  }
  want_huge_pages(fd, mapping, rounded);
  *allocation = (struct allocation){.addr = mapping, .bytes = rounded, .fd = fd};
  pthread_mutex_lock(&session->list_lock);
  allocation->next = session->allocations;
  session->allocations = allocation;
  pthread_mutex_unlock(&session->list_lock);
  *addr = mapping;
  return TCPX_OK;
}

tcpx_status tcpx_free(tcpx_session *session, void *addr) {
  tcpx_status status = check_session(session);
  if (status == TCPX_ERR_FORKED || status == TCPX_ERR_ARGUMENT) return status;
  pthread_mutex_lock(&session->list_lock);
  struct allocation **place = &session->allocations;
  while (*place != NULL && (*place)->addr != addr) place = &(*place)->next;
  struct allocation *found = *place;
  if (found != NULL) *place = found->next;
  pthread_mutex_unlock(&session->list_lock);
  if (found == NULL) return fail(TCPX_ERR_NOT_FOUND, "free: %p is not of tcpx_alloc", addr);
  munmap(found->addr, found->bytes);
  close(found->fd);
  free(found);
  return TCPX_OK;
}
