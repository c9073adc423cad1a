// nccl-check [max bytes]: two ranks on one GPU exchange checked data through NCCL, with whatever
// net plugin the environment names. Each rank claims another host, so that NCCL uses the network.
// Opens libnccl.so.2 and libcuda.so.1 at run time; a line per size, exit 0 when all is right.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../symbols.h"

enum { RANKS = 2, TYPE_INT32 = 2, OP_SUM = 0, STREAM_NON_BLOCKING = 1 };

struct unique_id { char bytes[128]; };

static struct {
  int (*get_version)(int *version);
  int (*get_unique_id)(struct unique_id *id);
  int (*init_rank)(void **comm, int ranks, struct unique_id id, int rank);
  int (*send)(const void *data, size_t count, int type, int peer, void *comm, void *stream);
  int (*receive)(void *data, size_t count, int type, int peer, void *comm, void *stream);
  int (*all_reduce)(const void *source, void *target, size_t count, int type, int op, void *comm,
                    void *stream);
  int (*destroy)(void *comm);
  const char *(*last_error)(void *comm);
} nccl;

static struct {
  int (*init)(unsigned flags);
  int (*device_get)(int *device, int ordinal);
  int (*primary_retain)(void **context, int device);
  int (*set_current)(void *context);
  int (*mem_alloc)(uint64_t *address, size_t bytes);
  int (*copy_in)(uint64_t target, const void *source, size_t bytes);
  int (*copy_out)(void *target, uint64_t source, size_t bytes);
  int (*stream_create)(void **stream, unsigned flags);
  int (*stream_sync)(void *stream);
} cuda;

static int rank;
static void *comm, *stream;

static void fail(const char *what, int result) {
  const char *more = comm != NULL && nccl.last_error != NULL ? nccl.last_error(comm) : "";
  fprintf(stderr, "nccl-check: rank %d: %s returned %d %s\n", rank, what, result, more);
  _exit(4);
}

#define CHECK(call) do { int result = (call); if (result != 0) fail(#call, result); } while (0)

static void load_from(const char *name, const struct symbol *symbols, size_t count) {
  void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  const char *missing = load_symbols(library, symbols, count);
  if (missing == NULL) return;
  if (library == NULL) fprintf(stderr, "nccl-check: %s\n", dlerror());
  else fprintf(stderr, "nccl-check: %s has no %s\n", name, missing);
  _exit(3);
}

static void load_all(void) {
  const struct symbol cuda_symbols[] = {
      {&cuda.init, "cuInit"},
      {&cuda.device_get, "cuDeviceGet"},
      {&cuda.primary_retain, "cuDevicePrimaryCtxRetain"},
      {&cuda.set_current, "cuCtxSetCurrent"},
      {&cuda.mem_alloc, "cuMemAlloc_v2"},
      {&cuda.copy_in, "cuMemcpyHtoD_v2"},
      {&cuda.copy_out, "cuMemcpyDtoH_v2"},
      {&cuda.stream_create, "cuStreamCreate"},
      {&cuda.stream_sync, "cuStreamSynchronize"},
  };
  const struct symbol nccl_symbols[] = {
      {&nccl.get_version, "ncclGetVersion"},
      {&nccl.get_unique_id, "ncclGetUniqueId"},
      {&nccl.init_rank, "ncclCommInitRank"},
      {&nccl.send, "ncclSend"},
      {&nccl.receive, "ncclRecv"},
      {&nccl.all_reduce, "ncclAllReduce"},
      {&nccl.destroy, "ncclCommDestroy"},
      {&nccl.last_error, "ncclGetLastError"},
  };
  load_from("libcuda.so.1", cuda_symbols, sizeof cuda_symbols / sizeof cuda_symbols[0]);
  load_from("libnccl.so.2", nccl_symbols, sizeof nccl_symbols / sizeof nccl_symbols[0]);
}

static int32_t word_at(size_t index, int of_rank, int round) {
  uint32_t mixed = ((uint32_t)index + 1) * 2654435761u;
  // Below 2^29, so that sums do not overflow.
  return (int32_t)((mixed ^ ((uint32_t)of_rank * 977u + (uint32_t)round * 31u)) >> 3);
}

static void check_words(const char *what, int32_t *host, uint64_t device, size_t count, int round) {
  CHECK(cuda.copy_out(host, device, count * 4));
  for (size_t i = 0; i < count; i++) {
    int32_t expected = strcmp(what, "all-reduce") == 0
                           ? word_at(i, 0, round) + word_at(i, 1, round)
                           : word_at(i, 1 - rank, round);
    if (host[i] == expected) continue;
    fprintf(stderr, "nccl-check: rank %d: %s of %zu words: word %zu is %d, expected %d\n", rank,
            what, count, i, host[i], expected);
    _exit(1);
  }
  if (rank == 0) printf("ok %s %zu bytes\n", what, count * 4);
  fflush(stdout);
}

static void finish(int result, const char *what) {
  if (result != 0) fail(what, result);
  CHECK(cuda.stream_sync(stream));
}

static void run_size(size_t count, int round, int32_t *host, uint64_t source, uint64_t target) {
  const void *from = (const void *)(uintptr_t)source;
  void *to = (void *)(uintptr_t)target;
  for (size_t i = 0; i < count; i++) host[i] = word_at(i, rank, round);
  CHECK(cuda.copy_in(source, host, count * 4));
  // One after the other: a lone send or receive needs no group.
  for (int turn = 0; turn < RANKS; turn++) {
    if (turn == rank) finish(nccl.send(from, count, TYPE_INT32, 1 - rank, comm, stream), "send");
    else finish(nccl.receive(to, count, TYPE_INT32, 1 - rank, comm, stream), "receive");
  }
  check_words("send/recv", host, target, count, round);
  finish(nccl.all_reduce(from, to, count, TYPE_INT32, OP_SUM, comm, stream), "all-reduce");
  check_words("all-reduce", host, target, count, round);
}

static void run_rank(int fd, size_t max_bytes) {
  struct unique_id id;
  int device = 0;
  void *context = NULL;
  uint64_t source = 0;
  uint64_t target = 0;
  char host_id[32];
  snprintf(host_id, sizeof host_id, "nccl-check-%d", rank);
  setenv("NCCL_HOSTID", host_id, 1);
  load_all();
  CHECK(cuda.init(0));
  CHECK(cuda.device_get(&device, 0));
  CHECK(cuda.primary_retain(&context, device));
  CHECK(cuda.set_current(context));
  CHECK(cuda.stream_create(&stream, STREAM_NON_BLOCKING));
  CHECK(cuda.mem_alloc(&source, max_bytes));
  CHECK(cuda.mem_alloc(&target, max_bytes));
  int version = 0;
  CHECK(nccl.get_version(&version));
  if (rank == 0) CHECK(nccl.get_unique_id(&id));
  ssize_t moved = rank == 0 ? write(fd, &id, sizeof id) : read(fd, &id, sizeof id);
  if (moved != (ssize_t)sizeof id) fail("exchange of the id", (int)moved);
  CHECK(nccl.init_rank(&comm, RANKS, id, rank));
  if (rank == 0) printf("ok init, NCCL %d\n", version);
  int32_t *host = malloc(max_bytes);
  int round = 0;
  for (size_t bytes = 4; bytes <= max_bytes; bytes *= 4) {
    run_size(bytes / 4, round++, host, source, target);
  }
  CHECK(nccl.destroy(comm));
}

int main(int argc, char **argv) {
  size_t max_bytes = argc > 1 ? strtoull(argv[1], NULL, 0) : 64u << 20;
  int ends[2];
  int worst = 0;
  if (max_bytes < 4 || pipe(ends) != 0) return 2;
  for (rank = 0; rank < RANKS; rank++) {
    if (fork() != 0) continue;
    run_rank(ends[rank == 0 ? 1 : 0], max_bytes);
    exit(0);
  }
  for (int i = 0; i < RANKS; i++) {
    int status = 0;
    wait(&status);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (code > worst) worst = code;
  }
  return worst;
}
