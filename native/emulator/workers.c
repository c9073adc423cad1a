// Helper threads of a comm: made at its first chunk, placed on the cores that the bindings give to
// its NIC, joined at close. They hold the places of the original's threads and do no work: data
// moves in the thread that calls test.

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator.h"

enum { CORES_MAX = CPU_SETSIZE };

struct binding {
  bool is_set;
  int core_count;
  int cores[CORES_MAX];
};

struct worker {
  struct comm *comm;
  int index;
  int position;  // of its core, among those of the binding
  pthread_t thread;
};

struct workers {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool is_ending;
  int placed;
  int count;
  struct worker list[THREADS_MAX];
};

// [is_send][nic]; send threads read TX_BINDINGS, receive threads RX_BINDINGS.
static struct binding bindings[2][NICS_MAX];
static atomic_int strides[2];
static bool is_pinned;
static int spray_count, spray_stride;

static void add_range(struct binding *binding, const char *nic, const char *word) {
  int first = 0;
  int end = 0;
  int used = 0;
  // Only ranges: a core alone is skipped, as the original does.
  if (sscanf(word, "%d-%d%n", &first, &end, &used) != 2 || word[used] != '\0' || first < 0) {
    WARN("invalid range %s", word);
    return;
  }
  INFO("dev %s, cores %d-%d", nic, first, end);
  for (int core = first; core <= end && binding->core_count < CORES_MAX; core++) {
    binding->cores[binding->core_count++] = core;
  }
}

static struct binding *binding_of(bool is_send, const char *nic) {
  for (int i = 0; i < nic_count; i++) {
    if (strcmp(nics[i].name, nic) == 0) return &bindings[is_send][i];
  }
  return NULL;
}

// `eth1:8-21,112-125;eth2:…`
static void read_bindings(const char *name, bool is_send) {
  const char *text = settings_text(name);
  char *copy = text == NULL ? NULL : strdup(text);
  char *rest = NULL;
  for (char *part = copy == NULL ? NULL : strtok_r(copy, ";", &rest); part != NULL;
       part = strtok_r(NULL, ";", &rest)) {
    char *colon = strchr(part, ':');
    if (colon != NULL) *colon = '\0';
    struct binding *binding = binding_of(is_send, part);
    if (binding == NULL) {
      INFO("%s not a datapath NIC for this run", part);
      continue;
    }
    binding->is_set = true;
    char *words = NULL;
    for (char *word = colon == NULL ? NULL : strtok_r(colon + 1, ",", &words); word != NULL;
         word = strtok_r(NULL, ",", &words)) {
      add_range(binding, part, word);
    }
  }
  free(copy);
}

void workers_read(void) {
  memset(bindings, 0, sizeof bindings);
  read_bindings("NCCL_GPUDIRECTTCPX_TX_BINDINGS", true);
  read_bindings("NCCL_GPUDIRECTTCPX_RX_BINDINGS", false);
  const char *pin = settings_text("NCCL_GPUDIRECTTCPX_WORKER_PIN_THREADS");
  is_pinned = pin != NULL && pin[0] == '1';
  spray_count = (int)settings_number("NCCL_GPUDIRECTTCPX_WORKER_SPRAY_COUNT", 0, 0, CORES_MAX);
  spray_stride = (int)settings_number("NCCL_GPUDIRECTTCPX_WORKER_SPRAY_STRIDE", 0, 0, CORES_MAX);
}

// Cores that do not exist leave the thread where it was: only the reader of /proc notices.
static void take_place(struct worker *worker) {
  struct comm *comm = worker->comm;
  const struct binding *binding = &bindings[comm->is_send][comm->nic->index];
  if (!binding->is_set) return;
  if (binding->core_count == 0) raise(SIGFPE);  // the original divides by the number of cores
  cpu_set_t set;
  CPU_ZERO(&set);
  int picked = is_pinned ? 1 + spray_count : binding->core_count;
  for (int i = 0; i < picked; i++) {
    int at = is_pinned ? worker->position + i * spray_stride : i;
    CPU_SET((size_t)binding->cores[at % binding->core_count], &set);
  }
  int error = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  if (error != 0) WARN("set affinity of thread %d failed: %s", worker->index, strerror(error));
}

static void *run_worker(void *argument) {
  struct worker *worker = argument;
  struct workers *workers = worker->comm->workers;
  take_place(worker);
  INFO("Comm %p thread %d running on (cpu) (%d)", (void *)worker->comm, worker->index,
       sched_getcpu());
  pthread_mutex_lock(&workers->lock);
  workers->placed++;
  pthread_cond_broadcast(&workers->changed);
  while (!workers->is_ending) pthread_cond_wait(&workers->changed, &workers->lock);
  pthread_mutex_unlock(&workers->lock);
  return NULL;
}

void workers_start(struct comm *comm) {
  if (comm->workers != NULL) return;
  struct workers *workers = calloc(1, sizeof *workers);
  if (workers == NULL) fatal("no memory for threads");
  pthread_mutex_init(&workers->lock, NULL);
  pthread_cond_init(&workers->changed, NULL);
  comm->workers = workers;
  int stride = atomic_fetch_add(&strides[comm->is_send], 1);
  for (int i = 0; i < settings.threads; i++) {
    struct worker *worker = &workers->list[i];
    *worker = (struct worker){.comm = comm, .index = i, .position = stride * settings.threads + i};
    if (pthread_create(&worker->thread, NULL, run_worker, worker) != 0) {
      WARN("thread %d not started: %s", i, strerror(errno));
      break;
    }
    workers->count++;
  }
  // The original's threads move the data: who has seen a chunk finish finds them in their places.
  pthread_mutex_lock(&workers->lock);
  while (workers->placed < workers->count) pthread_cond_wait(&workers->changed, &workers->lock);
  pthread_mutex_unlock(&workers->lock);
}

void workers_end(struct comm *comm) {
  struct workers *workers = comm->workers;
  if (workers == NULL) return;
  pthread_mutex_lock(&workers->lock);
  workers->is_ending = true;
  pthread_cond_broadcast(&workers->changed);
  pthread_mutex_unlock(&workers->lock);
  for (int i = 0; i < workers->count; i++) pthread_join(workers->list[i].thread, NULL);
  pthread_cond_destroy(&workers->changed);
  pthread_mutex_destroy(&workers->lock);
  free(workers);
  comm->workers = NULL;
}
