// A client that breaks the rules of its ring and its socket: what the service makes of it is what
// the tests look at. The library's own structures are open to this program.

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static struct ring_block *commands(void) {
  return (void *)(session->mapping + session->facts.commands_at);
}

static void publish(uint32_t tail) {
  __atomic_store_n(&commands()->tail, (int32_t)tail, __ATOMIC_SEQ_CST);
  __atomic_store_n(&client_block(session)->service_sleeps, 0, __ATOMIC_SEQ_CST);
  wake_service(session);
}

// The whole mapping, with a tail that says that all of it is commands.
static void scribble(void) {
  for (size_t at = 0; at + 256 <= session->mapping_bytes; at += 256) {
    if (getrandom(session->mapping + at, 256, 0) != 256) return;
  }
  publish(session->command_tail + COMMAND_RING_DATA_BYTES);
}

static void put_raw(int kind, const int32_t *words, size_t count) {
  const struct part parts[] = {{words, count * sizeof *words}};
  put_command(session, kind, parts, 1);
}

static void send_raw(const void *bytes, size_t count) {
  if (send(session->fd, bytes, count, MSG_NOSIGNAL) < 0) return;
}

// Asks and asks, and reads no answer, until nobody takes questions any more.
static void ask_without_end(void) {
  const int32_t question[] = {20, MESSAGE_TELEMETRY, 1, 0, 0};
  while (send(session->fd, question, sizeof question, MSG_NOSIGNAL) == sizeof question) continue;
}

// Past the library, which refuses it itself: more blocks than the service allows.
static tcpx_status prepare_too_many(void) {
  size_t count = (size_t)session->facts.blocks_max + 1;
  const int32_t head[] = {TCPX_OP_WRITE, 0, (int32_t)count, 0};
  tcpx_block *blocks = calloc(count, sizeof *blocks);
  const struct part parts[] = {{head, sizeof head}, {blocks, count * sizeof *blocks}};
  tcpx_status status = call_number(session, MESSAGE_PREPARE, parts, 2, NULL);
  free(blocks);
  return status;
}

// Past the library too: a place that is no number of JavaScript.
static void prepare_nowhere(void) {
  struct {
    struct message_head message;
    int32_t head[4];
    struct block_row row;
  } wish = {.head = {TCPX_OP_WRITE, 0, 1, 0}, .row = {1, 1, UINT64_MAX, 0, 16}};
  wish.message = (struct message_head){sizeof wish, MESSAGE_PREPARE, 1, 0};
  send_raw(&wish, sizeof wish);
}

// GPU memory of a kind, with more room behind it than it has: past its end, and too long.
static tcpx_status reach_over(const char *kind, bool is_long) {
  enum { OWN_BYTES = 2 << 20 };
  uint8_t *addr = device_alloc(OWN_BYTES, kind);
  struct register_message wish = {.rights = TCPX_READ | TCPX_WRITE};
  wish.addr = (uint64_t)(uintptr_t)addr;
  wish.bytes = OWN_BYTES;
  struct device_export given = {.way = "ipc"};
  tcpx_status status = describe_device(&wish, &given);
  if (is_long) wish.bytes++;
  else wish.offset += 4096;
  const struct part parts[] = {{&wish, sizeof wish},
                               {given.segments, given.segment_count * sizeof given.segments[0]}};
  struct answer answer;
  const struct passed passed = {given.fds, given.fd_count};
  if (status == TCPX_OK) status = call(session, MESSAGE_REGISTER, parts, 2, passed, &answer);
  drop_export(&given);
  return status;
}

enum { LONG_BYTES = 8192, SHORT_BYTES = 4096, SHRINK_SPAN_NS = 200000 };

struct shrinking {
  int fd;
  long delay_ns;
};

static void *shrink_and_seal(void *what) {
  const struct shrinking *one = what;
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < one->delay_ns);
  if (ftruncate(one->fd, SHORT_BYTES) != 0) return NULL;
  fcntl(one->fd, F_ADD_SEALS, F_SEAL_SHRINK);
  return NULL;
}

// Files that become shorter and are sealed just while they are registered: how many of them were
// taken for as long as they had been.
static size_t shrink_under_way(size_t rounds) {
  size_t taken = 0;
  for (size_t i = 0; i < rounds; i++) {
    int fd = memfd_create("p2p-check", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, LONG_BYTES) != 0) continue;
    struct shrinking one = {fd, (long)(i * SHRINK_SPAN_NS / rounds)};
    pthread_t thread;
    pthread_create(&thread, NULL, shrink_and_seal, &one);
    uint32_t id = 0;
    tcpx_status status = tcpx_register_fd(session, &one, LONG_BYTES, fd, 0, TCPX_READ, &id);
    pthread_join(thread, NULL);
    struct stat file;
    if (status == TCPX_OK && fstat(fd, &file) == 0) taken += file.st_size < LONG_BYTES;
    if (status == TCPX_OK) tcpx_deregister(session, id);
    close(fd);
  }
  return taken;
}

bool misbehave(int count, char **words) {
  const char *verb = words[0];
  if (strcmp(verb, "break") != 0 || count < 2) return false;
  const char *how = words[1];
  if (strcmp(how, "scribble") == 0) scribble();
  else if (strcmp(how, "tail") == 0) publish(session->command_tail + 2 * COMMAND_RING_DATA_BYTES);
  else if (strcmp(how, "kind") == 0) put_raw(77, (int32_t[]){1, 2, 3, 4}, 4);
  else if (strcmp(how, "request") == 0) put_raw(COMMAND_POST, (int32_t[]){1 << 30, 1, 0, -1}, 4);
  else if (strcmp(how, "length") == 0) put_raw(COMMAND_POST, (int32_t[]){0, 1, 0, 1 << 20}, 4);
  else if (strcmp(how, "short") == 0) put_raw(COMMAND_POST, (int32_t[]){0}, 1);
  else if (strcmp(how, "message") == 0) send_raw((int32_t[]){1 << 30, 2, 1, 0}, 16);
  else if (strcmp(how, "unknown") == 0) send_raw((int32_t[]){16, 99, 1, 0}, 16);
  else if (strcmp(how, "offset") == 0) prepare_nowhere();
  else if (strcmp(how, "mute") == 0) ask_without_end();
  else if (strcmp(how, "blocks") == 0) return reply(prepare_too_many(), "accepted"), true;
  else if (strcmp(how, "shrink") == 0 && count > 2) {
    return reply(TCPX_OK, "%zu", shrink_under_way(strtoul(words[2], NULL, 10))), true;
  } else if (strcmp(how, "extent") == 0 && count > 3) {
    return reply(reach_over(words[2], strcmp(words[3], "long") == 0), "accepted"), true;
  } else if (strcmp(how, "version") == 0) {
    struct attach_message wish = {.version = SERVICE_VERSION + 1, .name_bytes = 1};
    const struct part parts[] = {{&wish, sizeof wish}, {"x", 1}};
    struct answer answer;
    tcpx_session other = {.fd = -1, .owner = getpid(), .answer_ms = answer_ms()};
    pthread_mutex_init(&other.call_lock, NULL);
    pthread_mutex_init(&other.send_lock, NULL);
    tcpx_status status = connect_service(count > 2 ? words[2] : NULL, &other.fd);
    if (status == TCPX_OK) status = call(&other, MESSAGE_ATTACH, parts, 2, NOTHING_PASSED, &answer);
    close(other.fd);
    reply(status, "accepted");
    return true;
  }
  reply(TCPX_OK, "done");
  return true;
}
