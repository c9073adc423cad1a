// What the files of the library share. Every word of the mapping has one writer (layout.h); the
// library reads and writes them with the compiler's atomics.
#ifndef TCPX_P2P_INTERNAL_H
#define TCPX_P2P_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../include/tcpx_p2p.h"
#include "layout.h"

struct memory {
  uint32_t id;
  char *key;
  const char *way;
};

struct allocation {
  void *addr;
  size_t bytes;
  int fd;
  struct allocation *next;
};

// look.c; all in nanoseconds.
struct look_rest {
  int64_t rest_ns;   // how long it last did not look
  int64_t sound_ns;  // for how long it has looked since, without a loss
  int64_t until_ns;  // until then it does not look
};

struct tcpx_session {
  int fd;
  // A byte into it wakes a service that sleeps.
  int bell;
  pid_t owner;
  // One page that is empty in a forked child, where the kernel can do that; else NULL.
  volatile uint32_t *fork_mark;
  // A question and its answer; a message on the socket; a record in the ring; the lists below.
  pthread_mutex_t call_lock, send_lock, ring_lock, list_lock;
  int32_t sequence;
  int answer_ms;
  // 0, or the status that everything answers with since the service is gone.
  int gone;
  int64_t checked_ms;
  struct look_rest rest;
  uint8_t *mapping;
  size_t mapping_bytes;
  struct attached_message facts;
  uint32_t command_tail, event_head;
  char *info;
  struct memory *memories;  // by id, ascending
  size_t memory_count, memory_room;
  struct allocation *allocations;
  struct tcpx_request *requests;
};

struct tcpx_request {
  tcpx_session *session;
  uint32_t index;
  int32_t posts;
  struct tcpx_request *next;
};

// Places and lengths are numbers of JavaScript at the service, which lets a client go that sends
// others: what a program got wrong is refused here, and its session lives on.
#define COUNTABLE_MAX ((UINT64_C(1) << 53) - 1)
static inline bool is_countable(uint64_t value) { return value <= COUNTABLE_MAX; }

// Of a session, as the service allows it (src/nixl/names.ts).
enum { NAME_BYTES_MAX = 255 };

// status.c: keeps a line for tcpx_last_error and hands the status on.
tcpx_status fail(tcpx_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
tcpx_status fail_errno(const char *call);

// session.c
int64_t now_ms(void);
// TCPX_OK, or why the session cannot be used: not this process', or the service is gone. The first
// thing in every call: in a forked child another thread's lock may be held for ever.
tcpx_status check_session(const tcpx_session *session);
// The same for calls that are answered also where the service is gone.
tcpx_status check_owner(const tcpx_session *session);
// Asks the kernel whether the service still lives, if that was not asked within the last 100 ms.
tcpx_status check_service(tcpx_session *session);
tcpx_status mark_gone(tcpx_session *session);
static inline struct client_block *client_block(const tcpx_session *session) {
  return (struct client_block *)session->mapping;
}
static inline int32_t load(const int32_t *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }
// Until `is_ready` or the time is over (TCPX_ERR_TIMEOUT; below 0: none), or the service is gone.
tcpx_status wait_until(tcpx_session *session, bool (*is_ready)(void *), void *what, int timeout_ms);

// look.c: looks again for a bounded while, or not at all while it rests; whether it is ready.
bool look(struct look_rest *rest, bool (*is_ready)(void *), void *what);
// How long to rest after a yield of `yield_ns`, 0 for not at all.
int64_t next_rest_ns(int64_t rest_ns, int64_t sound_ns, int64_t yield_ns);

// connect.c: a connected socket of the service, or below 0 after fail().
tcpx_status connect_service(const char *folder, int *fd);
// Of the environment; NULL where it is empty too.
const char *variable(const char *name);
// A service that does not answer for so long counts as gone.
int answer_ms(void);

// autostart.c: whether a service is to be started where none answers; refuses what is no boolean.
tcpx_status read_autostart(bool *is_wished);
// What it is started by.
const char *service_command(void);
// Returns once the command runs; that it listens is to be waited for.
tcpx_status start_service(const char *folder);

// call.c: a question over the socket and its answer.
struct part {
  const void *data;
  size_t bytes;
};
enum { ANSWER_FDS_MAX = 2 };
struct answer {
  uint8_t *payload;  // to be freed
  size_t bytes;
  int fds[ANSWER_FDS_MAX];  // −1, or to be closed
};
// Descriptors that go along; they stay the caller's.
struct passed {
  const int *fds;
  size_t count;
};
extern const struct passed NOTHING_PASSED;
// Sends the parts as one message, with descriptors, and waits for the answer.
tcpx_status call(tcpx_session *session, int kind, const struct part *parts, size_t count,
                 struct passed passed, struct answer *answer);
// The same where the answer is at most one number.
tcpx_status call_number(tcpx_session *session, int kind, const struct part *parts, size_t count,
                        uint32_t *number);
tcpx_status call_text(tcpx_session *session, int kind, const struct part *parts, size_t count,
                      char *text, size_t size);
void drop_answer(struct answer *answer);

// ring.c
void wake_service(const tcpx_session *session);
tcpx_status put_command(tcpx_session *session, int kind, const struct part *parts, size_t count);

// cuda.c: fills what REGISTER needs to know about the device memory that it names.
struct device_export {
  const char *way;
  // Of each allocation behind the address, to be closed, and their lengths.
  int fds[REGISTER_DESCRIPTORS_MAX];
  uint64_t segments[REGISTER_DESCRIPTORS_MAX];
  size_t fd_count, segment_count;
};
tcpx_status describe_device(struct register_message *message, struct device_export *given);
void drop_export(struct device_export *given);

// transfer.c
void free_requests(tcpx_session *session);

#endif
