// A session: attached, checked, waited on, closed.

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#endif

enum { OPENS_MAX = 3, ALIVE_MS = 100, SLEEP_MS = 100 };

// Read from memory that the kernel keeps up to date: no system call.
int64_t now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void init_locks(tcpx_session *session) {
  pthread_mutex_init(&session->call_lock, NULL);
  pthread_mutex_init(&session->send_lock, NULL);
  pthread_mutex_init(&session->ring_lock, NULL);
  pthread_mutex_init(&session->list_lock, NULL);
}

static void mark_owner(tcpx_session *session) {
  session->owner = getpid();
  long page = sysconf(_SC_PAGESIZE);
  void *mark = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mark == MAP_FAILED) return;
  if (madvise(mark, (size_t)page, MADV_WIPEONFORK) != 0) {
    munmap(mark, (size_t)page);
    return;
  }
  session->fork_mark = mark;
  *session->fork_mark = 1;
}

static bool is_forked(const tcpx_session *session) {
  if (session->fork_mark != NULL) return *session->fork_mark == 0;
  return getpid() != session->owner;
}

tcpx_status check_owner(const tcpx_session *session) {
  if (session == NULL) return fail(TCPX_ERR_ARGUMENT, "no session");
  if (!is_forked(session)) return TCPX_OK;
  return fail(TCPX_ERR_FORKED, "the session belongs to process %d; open one in this process",
              (int)session->owner);
}

tcpx_status check_session(const tcpx_session *session) {
  tcpx_status status = check_owner(session);
  if (status != TCPX_OK) return status;
  int gone = __atomic_load_n(&session->gone, __ATOMIC_RELAXED);
  if (gone != 0) return fail((tcpx_status)gone, "%s", tcpx_status_text((tcpx_status)gone));
  return TCPX_OK;
}

tcpx_status mark_gone(tcpx_session *session) {
  int status = TCPX_ERR_SERVICE_GONE;
  if (session->mapping != NULL && load(&client_block(session)->ended) < 0) {
    status = load(&client_block(session)->ended);
  }
  __atomic_store_n(&session->gone, status, __ATOMIC_RELAXED);
  return fail((tcpx_status)status, "%s", tcpx_status_text((tcpx_status)status));
}

tcpx_status check_service(tcpx_session *session) {
  int64_t now = now_ms();
  if (now - __atomic_load_n(&session->checked_ms, __ATOMIC_RELAXED) < ALIVE_MS) return TCPX_OK;
  __atomic_store_n(&session->checked_ms, now, __ATOMIC_RELAXED);
  struct pollfd end = {.fd = session->fd, .events = POLLRDHUP};
  bool has_ended = poll(&end, 1, 0) > 0 || load(&client_block(session)->ended) != 0;
  return has_ended ? mark_gone(session) : TCPX_OK;
}

tcpx_status tcpx_telemetry(tcpx_session *session, char *text, size_t size) {
  tcpx_status status = check_session(session);
  if (status != TCPX_OK) return status;
  if (text == NULL) return fail(TCPX_ERR_ARGUMENT, "telemetry: no room for the text");
  const uint32_t reserved = 0;
  const struct part parts[] = {{&reserved, sizeof reserved}};
  return call_text(session, MESSAGE_TELEMETRY, parts, 1, text, size);
}

tcpx_status tcpx_alive(tcpx_session *session) {
  tcpx_status status = check_session(session);
  return status == TCPX_OK ? check_service(session) : status;
}

// The service may read and write this process' memory, as a debugger may.
static void allow_service(int fd) {
  struct ucred who;
  socklen_t bytes = sizeof who;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) == 0 && who.pid > 0) {
    // Fails where the kernel asks for no such permission.
    prctl(PR_SET_PTRACER, (unsigned long)who.pid, 0, 0, 0);
  }
}

static tcpx_status take_shared(tcpx_session *session, struct answer *answer) {
  const struct attached_message *facts = &session->facts;
  if (answer->fds[0] < 0 || answer->fds[1] < 0 || facts->mapping_bytes <= 0) {
    return fail(TCPX_ERR_VERSION, "the service sent no shared memory");
  }
  size_t bytes = (size_t)facts->mapping_bytes;
  void *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, answer->fds[0], 0);
  if (mapping == MAP_FAILED) return fail_errno("mmap of the shared memory");
  session->mapping = mapping;
  session->mapping_bytes = bytes;
  session->bell = answer->fds[1];
  answer->fds[1] = -1;
  return TCPX_OK;
}

static tcpx_status attach(tcpx_session *session, const char *name, const char *settings) {
  uint8_t probe[16];
  if (getrandom(probe, sizeof probe, 0) != sizeof probe) return fail_errno("getrandom");
  struct attach_message wish = {
      .version = SERVICE_VERSION,
      .name_bytes = (int32_t)strlen(name),
      .settings_bytes = (int32_t)strlen(settings),
      .probe_addr = (uint64_t)(uintptr_t)probe,
  };
  memcpy(wish.probe, probe, sizeof probe);
  const struct part parts[] = {
      {&wish, sizeof wish}, {name, strlen(name)}, {settings, strlen(settings)}};
  struct answer answer;
  tcpx_status status = call(session, MESSAGE_ATTACH, parts, 3, NOTHING_PASSED, &answer);
  if (status != TCPX_OK) return status;
  const struct attached_message *facts = (const void *)answer.payload;
  if (answer.bytes < sizeof *facts || facts->version != SERVICE_VERSION) {
    status = fail(TCPX_ERR_VERSION, "the service speaks another version than %d", SERVICE_VERSION);
  } else {
    session->facts = *facts;
    session->info = strndup((const char *)answer.payload + sizeof *facts,
                            (size_t)facts->info_bytes);
    status = session->info == NULL ? fail_errno("strndup") : take_shared(session, &answer);
  }
  drop_answer(&answer);
  return status;
}

static tcpx_status try_open(const char *folder, const char *name, const char *settings,
                            tcpx_session **out) {
  tcpx_session *session = calloc(1, sizeof *session);
  if (session == NULL) return fail_errno("calloc");
  tcpx_status status = connect_service(folder, &session->fd);
  if (status != TCPX_OK) return free(session), status;
  session->bell = -1;
  session->answer_ms = answer_ms();
  init_locks(session);
  mark_owner(session);
  allow_service(session->fd);
  status = attach(session, name, settings);
  if (status != TCPX_OK) return tcpx_close(session), status;
  *out = session;
  return TCPX_OK;
}

tcpx_status tcpx_open(const char *folder, const char *name, const char *settings,
                      tcpx_session **out) {
  if (out == NULL || name == NULL || name[0] == '\0' || strlen(name) > NAME_BYTES_MAX) {
    return fail(TCPX_ERR_ARGUMENT, "open: a name of 1 to %d bytes is needed", NAME_BYTES_MAX);
  }
  if (settings != NULL && strlen(settings) > MESSAGE_TEXT_BYTES_MAX) {
    return fail(TCPX_ERR_ARGUMENT, "open: the settings are too long");
  }
  tcpx_status status = TCPX_ERR_SERVICE_GONE;
  int64_t end = now_ms() + answer_ms();
  // A service that was just ending has taken the connection along: the next one may stay. One that
  // does not answer at all is not asked again.
  for (int i = 0; i < OPENS_MAX && status == TCPX_ERR_SERVICE_GONE && now_ms() < end; i++) {
    status = try_open(folder, name, settings == NULL ? "" : settings, out);
  }
  return status;
}

// Until the service has answered, or closed the socket, it may still copy into memory that the
// caller is about to free. A child has only inherited the socket, and nobody closes that.
static void let_go(tcpx_session *session) {
  int64_t end_ms = now_ms() + session->answer_ms;
  tcpx_status status = call_number(session, MESSAGE_CLOSE, NULL, 0, NULL);
  char rest[256];
  while (status != TCPX_OK && status != TCPX_ERR_FORKED && now_ms() < end_ms) {
    struct pollfd ready = {.fd = session->fd, .events = POLLIN};
    if (poll(&ready, 1, (int)(end_ms - now_ms())) < 0 && errno != EINTR) return;
    ssize_t got = recv(session->fd, rest, sizeof rest, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return;
  }
}

void tcpx_close(tcpx_session *session) {
  if (session == NULL) return;
  if (session->mapping != NULL) let_go(session);
  close(session->fd);
  if (session->bell >= 0) close(session->bell);
  free_requests(session);
  for (size_t i = 0; i < session->memory_count; i++) free(session->memories[i].key);
  free(session->memories);
  while (session->allocations != NULL) {
    struct allocation *allocation = session->allocations;
    session->allocations = allocation->next;
    munmap(allocation->addr, allocation->bytes);
    close(allocation->fd);
    free(allocation);
  }
  if (session->mapping != NULL) munmap(session->mapping, session->mapping_bytes);
  if (session->fork_mark != NULL) {
    munmap((void *)(uintptr_t)session->fork_mark, (size_t)sysconf(_SC_PAGESIZE));
  }
  free(session->info);
  free(session);
}

const char *tcpx_conn_info(const tcpx_session *session) {
  return check_owner(session) == TCPX_OK ? session->info : NULL;
}

static void sleep_on(int32_t *word, int32_t seen, int64_t ms) {
  struct timespec limit = {ms / 1000, (ms % 1000) * 1000000};
  syscall(SYS_futex, word, FUTEX_WAIT, seen, &limit, NULL, 0);
}

tcpx_status wait_until(tcpx_session *session, bool (*is_ready)(void *), void *what,
                       int timeout_ms) {
  if (is_ready(what)) return TCPX_OK;
  int64_t end = now_ms() + timeout_ms;
  if (timeout_ms != 0 && look(&session->rest, is_ready, what)) return TCPX_OK;
  struct client_block *block = client_block(session);
  for (;;) {
    __atomic_add_fetch(&block->waiters, 1, __ATOMIC_SEQ_CST);
    int32_t seen = load(&block->events);
    int64_t left = timeout_ms < 0 ? SLEEP_MS : end - now_ms();
    bool is_over = is_ready(what);
    if (!is_over && left > 0) sleep_on(&block->events, seen, left < SLEEP_MS ? left : SLEEP_MS);
    __atomic_sub_fetch(&block->waiters, 1, __ATOMIC_SEQ_CST);
    if (is_over || is_ready(what)) return TCPX_OK;
    tcpx_status alive = check_service(session);
    if (alive != TCPX_OK) return alive;
    if (left <= 0) return fail(TCPX_ERR_TIMEOUT, "not finished within %d ms", timeout_ms);
  }
}
