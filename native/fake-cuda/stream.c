// Streams and events: one thread does the work of all of them, in the order in which it came, and
// lets what is launched wait a little, so that nothing is done as soon as it is asked for.

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake-cuda.h"

enum { QUEUE_OPS = 4096, DELAY_MICROS = 150 };

static struct op *queue[QUEUE_OPS];
static uint64_t submitted, completed;
static int fault;
static bool is_running;
static unsigned seed = 1;
static struct stream default_stream;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t has_room = PTHREAD_COND_INITIALIZER;

// FAKE_CUDA_FAULT_AT=n: the n-th launch of a process faults.
static bool is_faulty(void) {
  static long launches;
  const char *at = getenv("FAKE_CUDA_FAULT_AT");
  return at != NULL && ++launches == atol(at);
}

static bool run(const struct op *op) {
  uint8_t *target = op->target == 0 ? NULL : reach(op->target, op->bytes);
  const uint8_t *source = op->source == 0 ? NULL : reach(op->source, op->bytes);
  switch (op->kind) {
    case OP_COPY:
      if (target == NULL || source == NULL) return op->bytes == 0;
      return memmove(target, source, op->bytes), true;
    case OP_FILL:
      return target != NULL && memset(target, (int)op->value, op->bytes) != NULL;
    case OP_WORD:
      usleep(rand_r(&seed) % DELAY_MICROS);
      if (target == NULL) return false;
      atomic_store_explicit((_Atomic uint32_t *)(void *)target, op->value, memory_order_release);
      return true;
    case OP_LAUNCH:
      usleep(rand_r(&seed) % DELAY_MICROS);
      return !is_faulty() && run_kernel(op->value, op->parameters);
    case OP_NOTHING:
      return true;
  }
  return false;
}

static void *work(void *nothing) {
  pthread_mutex_lock(&lock);
  for (;;) {
    while (completed == submitted) pthread_cond_wait(&has_work, &lock);
    struct op *op = queue[completed % QUEUE_OPS];
    pthread_mutex_unlock(&lock);
    // As on a GPU: after a fault nothing more is done.
    bool is_good = fault != 0 || run(op);
    free(op);
    pthread_mutex_lock(&lock);
    if (!is_good) fault = ILLEGAL_ADDRESS;
    completed++;
    pthread_cond_broadcast(&has_room);
  }
  return nothing;
}

int submit(struct stream *stream, const struct op *op) {
  if (!has_context()) return INVALID_CONTEXT;
  struct op *copy = malloc(sizeof *copy);
  *copy = *op;
  pthread_mutex_lock(&lock);
  if (!is_running) {
    pthread_t thread;
    is_running = pthread_create(&thread, NULL, work, NULL) == 0 && pthread_detach(thread) == 0;
  }
  while (submitted - completed == QUEUE_OPS) pthread_cond_wait(&has_room, &lock);
  queue[submitted % QUEUE_OPS] = copy;
  (stream == NULL ? &default_stream : stream)->last = ++submitted;
  pthread_cond_signal(&has_work);
  int result = fault;
  pthread_mutex_unlock(&lock);
  return result;
}

static int wait_for(uint64_t number) {
  pthread_mutex_lock(&lock);
  while (completed < number) pthread_cond_wait(&has_room, &lock);
  int result = fault;
  pthread_mutex_unlock(&lock);
  return result;
}

static int ask_for(uint64_t number) {
  pthread_mutex_lock(&lock);
  int result = fault != 0 ? fault : completed < number ? NOT_READY : OK;
  pthread_mutex_unlock(&lock);
  return result;
}

int finish_all(void) { return wait_for(submitted); }

int cuStreamCreate(struct stream **stream, unsigned flags) {
  return *stream = calloc(1, sizeof **stream), flags == 1 ? OK : INVALID_VALUE;
}
int cuStreamDestroy_v2(struct stream *stream) { return free(stream), OK; }
int cuStreamSynchronize(struct stream *stream) {
  count_call(COUNT_WAIT);
  return wait_for(stream == NULL ? default_stream.last : stream->last);
}
int cuStreamQuery(struct stream *stream) {
  return ask_for(stream == NULL ? default_stream.last : stream->last);
}
int cuCtxSynchronize(void) { return finish_all(); }

struct event { uint64_t number; };
int cuEventCreate(struct event **event, unsigned flags) {
  return *event = calloc(1, sizeof **event), (void)flags, OK;
}
int cuEventDestroy_v2(struct event *event) { return free(event), OK; }
int cuEventRecord(struct event *event, struct stream *stream) {
  int result = submit(stream, &(struct op){.kind = OP_NOTHING});
  event->number = (stream == NULL ? &default_stream : stream)->last;
  return result;
}
int cuEventQuery(struct event *event) { return ask_for(event->number); }
int cuEventSynchronize(struct event *event) { return wait_for(event->number); }
int cuEventElapsedTime(float *ms, struct event *begin, struct event *end) {
  return *ms = 0, begin != NULL && end != NULL ? OK : INVALID_VALUE;
}
// One queue for all streams: whatever is recorded is before whatever follows.
int cuStreamWaitEvent(struct stream *stream, struct event *event, unsigned flags) {
  return (void)stream, event != NULL && flags == 0 ? OK : INVALID_VALUE;
}

static int copy(uint64_t target, uint64_t source, size_t bytes, struct stream *stream) {
  if (reach(target, bytes) == NULL || reach(source, bytes) == NULL) return INVALID_VALUE;
  struct op op = {.kind = OP_COPY, .target = target, .source = source, .bytes = bytes};
  return submit(stream, &op);
}
static int copy_now(uint64_t target, uint64_t source, size_t bytes) {
  int result = copy(target, source, bytes, NULL);
  return result != OK ? result : finish_all();
}

int cuMemcpyAsync(uint64_t target, uint64_t source, size_t bytes, struct stream *stream) {
  return copy(target, source, bytes, stream);
}
int cuMemcpyHtoDAsync_v2(uint64_t target, uint64_t source, size_t bytes, struct stream *stream) {
  count_call(COUNT_IN);
  return copy(target, source, bytes, stream);
}
int cuMemcpyDtoHAsync_v2(uint64_t target, uint64_t source, size_t bytes, struct stream *stream) {
  count_call(COUNT_OUT);
  return copy(target, source, bytes, stream);
}
int cuMemcpyDtoDAsync_v2(uint64_t target, uint64_t source, size_t bytes, struct stream *stream) {
  return copy(target, source, bytes, stream);
}
int cuMemcpyHtoD_v2(uint64_t target, uint64_t source, size_t bytes) {
  count_call(COUNT_IN);
  return copy_now(target, source, bytes);
}
int cuMemcpyDtoH_v2(uint64_t target, uint64_t source, size_t bytes) {
  count_call(COUNT_OUT);
  return copy_now(target, source, bytes);
}
int cuMemsetD8Async(uint64_t target, unsigned char byte, size_t bytes, struct stream *stream) {
  if (reach(target, bytes) == NULL) return INVALID_VALUE;
  struct op op = {.kind = OP_FILL, .target = target, .bytes = bytes, .value = byte};
  return submit(stream, &op);
}
int cuMemsetD2D8Async(uint64_t target, size_t pitch, unsigned char byte, size_t width,
                      size_t height, struct stream *stream) {
  int result = OK;
  count_call(COUNT_FILL);
  for (size_t row = 0; row < height && result == OK; row++) {
    result = cuMemsetD8Async(target + row * pitch, byte, width, stream);
  }
  return result;
}
int cuStreamWriteValue32_v2(struct stream *stream, uint64_t target, uint32_t value, unsigned flags) {
  if (flags != 0 || reach(target, 4) == NULL) return INVALID_VALUE;
  struct op op = {.kind = OP_WORD, .target = target, .bytes = 4, .value = value};
  return submit(stream, &op);
}
