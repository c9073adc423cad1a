// `threads PEER THREADS ROUNDS`: threads of one session, each of which registers memory, moves it
// to this program itself (PEER), looks at it and gives everything back, again and again, with a
// notification each time. Says how many rounds were whole, and how many notifications came.

#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { BYTES = 10007, WAIT_MS = 60000 };

struct worker {
  pthread_t thread;
  uint32_t peer, number;
  size_t rounds, whole;
};

static bool move_once(const struct worker *worker, uint8_t *from, uint8_t *to, size_t round) {
  memset(from, (int)(worker->number * 31 + round), BYTES);
  memset(to, 0xff, BYTES);
  uint32_t source = 0, target = 0, region = 0;
  tcpx_request *request = NULL;
  if (tcpx_register(session, from, BYTES, TCPX_MEMORY_HOST, TCPX_READ, &source) != TCPX_OK ||
      tcpx_register(session, to, BYTES, TCPX_MEMORY_HOST, TCPX_WRITE, &target) != TCPX_OK) {
    return false;
  }
  const char *key = tcpx_describe(session, target), *way = tcpx_memory_way(session, target);
  if (key == NULL || way == NULL || strcmp(way, "copied") != 0) return false;
  if (tcpx_load_region(session, worker->peer, key, BYTES, &region) != TCPX_OK) return false;
  const tcpx_block block = {source, region, 0, 0, BYTES};
  if (tcpx_prepare(session, TCPX_OP_WRITE, worker->peer, &block, 1, &request) != TCPX_OK) {
    return false;
  }
  const tcpx_post_options options = {.size = sizeof options, .notify = "x", .notify_bytes = 1};
  bool is_moved = tcpx_post(request, &options) == TCPX_OK &&
                  tcpx_wait(request, WAIT_MS) == TCPX_OK && memcmp(from, to, BYTES) == 0;
  return tcpx_release(request, WAIT_MS) == TCPX_OK &&
         tcpx_unload_region(session, region) == TCPX_OK &&
         tcpx_deregister(session, target) == TCPX_OK &&
         tcpx_deregister(session, source) == TCPX_OK && is_moved;
}

static void *work(void *what) {
  struct worker *worker = what;
  uint8_t *from = malloc(BYTES), *to = malloc(BYTES);
  for (size_t round = 0; round < worker->rounds; round++) {
    worker->whole += move_once(worker, from, to, round);
  }
  free(from);
  free(to);
  return NULL;
}

static size_t take_notifications(size_t count) {
  size_t taken = 0;
  for (tcpx_status status = TCPX_OK; taken < count && status == TCPX_OK;) {
    char name[256], message[16];
    size_t name_size = sizeof name, size = sizeof message;
    status = tcpx_next_notification(session, name, &name_size, message, &size);
    if (status == TCPX_OK) taken++;
    else if (status == TCPX_IN_PROGRESS) status = tcpx_wait_event(session, WAIT_MS);
  }
  return taken;
}

bool run_threads(int count, char **words) {
  if (strcmp(words[0], "threads") != 0 || count < 4) return false;
  size_t threads = strtoul(words[2], NULL, 10), rounds = strtoul(words[3], NULL, 10), whole = 0;
  struct worker *workers = calloc(threads, sizeof *workers);
  for (size_t i = 0; i < threads; i++) {
    workers[i] = (struct worker){.peer = (uint32_t)strtoul(words[1], NULL, 10),
                                 .number = (uint32_t)i, .rounds = rounds};
    pthread_create(&workers[i].thread, NULL, work, &workers[i]);
  }
  // This thread takes them while the others work.
  size_t taken = take_notifications(threads * rounds);
  for (size_t i = 0; i < threads; i++) {
    pthread_join(workers[i].thread, NULL);
    whole += workers[i].whole;
  }
  free(workers);
  return reply(TCPX_OK, "%zu %zu", whole, taken), true;
}
