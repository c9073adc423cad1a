#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum { WORDS_MAX = 16, LINE_BYTES = 65536 };

tcpx_session *session;
struct check_memory memories[MEMORIES_MAX];
static tcpx_request *requests[REQUESTS_MAX];

void reply(tcpx_status status, const char *format, ...) {
  va_list words;
  va_start(words, format);
  printf("%d ", (int)status);
  if (status < 0) printf("%s", tcpx_last_error());
  else vprintf(format, words);
  printf("\n");
  va_end(words);
  fflush(stdout);
}

static unsigned long number(const char *word) { return strtoul(word, NULL, 10); }

static uint8_t pattern(size_t at, unsigned seed) {
  return (uint8_t)((at * 2654435761u >> 13) + at + seed * 37);
}

static uint8_t *host_view(const struct check_memory *memory) {
  return memory->is_device ? malloc(memory->bytes) : memory->addr;
}

static void fill(const struct check_memory *memory, unsigned seed) {
  uint8_t *bytes = host_view(memory);
  for (size_t i = 0; i < memory->bytes; i++) bytes[i] = pattern(i, seed);
  if (memory->is_device) device_copy(memory->addr, bytes, memory->bytes, true), free(bytes);
}

// Place of the first byte that differs, or the length.
static size_t first_difference(const struct check_memory *memory, unsigned seed) {
  uint8_t *bytes = host_view(memory);
  if (memory->is_device) device_copy(memory->addr, bytes, memory->bytes, false);
  size_t at = 0;
  while (at < memory->bytes && bytes[at] == pattern(at, seed)) at++;
  if (memory->is_device) free(bytes);
  return at;
}

// `huge`: of huge pages, whether the host has some or not; nothing here touches them.
static tcpx_status make_file(size_t bytes, const char *kind, int *fd, uint8_t **addr) {
  bool is_huge = strcmp(kind, "huge") == 0, is_sealed = strcmp(kind, "unsealed") != 0;
  *fd = memfd_create("p2p-check", MFD_CLOEXEC | MFD_ALLOW_SEALING | (is_huge ? MFD_HUGETLB : 0));
  if (*fd < 0 || ftruncate(*fd, (off_t)bytes) != 0) return fail_errno("memfd_create");
  if (is_sealed && fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0) return fail_errno("seal");
  *addr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, *fd, 0);
  return TCPX_OK;
}

// memory BYTES malloc|alloc|file|unsealed|huge|nowhere, or a kind of device_alloc
static void do_memory(size_t bytes, const char *kind, unsigned rights) {
  struct check_memory memory = {.bytes = bytes};
  uint32_t id = 0;
  int fd = -1;
  tcpx_status status = TCPX_OK;
  if (strcmp(kind, "malloc") == 0) memory.addr = malloc(bytes);
  else if (strcmp(kind, "alloc") == 0) status = tcpx_alloc(session, bytes, (void **)&memory.addr);
  else if (strcmp(kind, "nowhere") == 0) memory.addr = (void *)0x10000;
  else if ((memory.addr = device_alloc(bytes, kind)) != NULL) memory.is_device = true;
  else status = make_file(bytes, kind, &fd, &memory.addr);
  if (status == TCPX_OK && fd >= 0) {
    status = tcpx_register_fd(session, memory.addr, bytes, fd, 0, rights, &id);
  } else if (status == TCPX_OK) {
    tcpx_memory_kind where = memory.is_device ? TCPX_MEMORY_CUDA : TCPX_MEMORY_HOST;
    status = tcpx_register(session, memory.addr, bytes, where, rights, &id);
  }
  if (status == TCPX_OK) memories[id] = memory;
  if (status != TCPX_OK) return reply(status, "refused");
  reply(status, "%u %s %s", id, tcpx_memory_way(session, id), tcpx_describe(session, id));
}

// prepare|write|read: PEER MEMORY REGION BYTES [BLOCKS [OPERATION]]; blocks of BYTES each.
static tcpx_status prepare(char **words, int count, tcpx_operation operation, uint32_t *slot) {
  uint64_t bytes = number(words[4]);
  size_t blocks = count > 5 ? number(words[5]) : 1;
  tcpx_block *rows = calloc(blocks, sizeof *rows);
  for (size_t i = 0; i < blocks; i++) {
    rows[i] = (tcpx_block){(uint32_t)number(words[2]), (uint32_t)number(words[3]), i * bytes,
                           i * bytes, bytes};
  }
  tcpx_request *request = NULL;
  tcpx_status status = tcpx_prepare(session, operation, (uint32_t)number(words[1]), rows, blocks,
                                    &request);
  free(rows);
  if (status == TCPX_OK) requests[*slot = request->index] = request;
  return status;
}

static void do_transfer(char **words, int count, tcpx_operation operation) {
  uint32_t slot = 0;
  tcpx_status status = prepare(words, count, operation, &slot);
  if (status == TCPX_OK) status = tcpx_post(requests[slot], NULL);
  if (status == TCPX_OK) status = tcpx_wait(requests[slot], 20000);
  char text[512] = "";
  if (status < 0 && requests[slot] != NULL) tcpx_explain(requests[slot], text, sizeof text);
  if (status < 0 && text[0] != '\0') fail(status, "%s", text);
  reply(status, "%u", slot);
}

static void do_post(tcpx_request *request, int count, char **words) {
  tcpx_post_options options = {.size = sizeof options};
  if (count > 2) options.deadline_ms = (uint32_t)number(words[2]);
  if (count > 3) options.notify = words[3], options.notify_bytes = strlen(words[3]);
  reply(tcpx_post(request, &options), "posted");
}

static void do_next(void) {
  static char name[256], message[NOTIFICATION_BYTES_MAX + 1];
  size_t name_size = sizeof name, size = sizeof message - 1;
  tcpx_status status = tcpx_next_notification(session, name, &name_size, message, &size);
  if (status == TCPX_OK) message[size] = '\0';
  reply(status, "%zu %s %.200s", size, status == TCPX_OK ? name : "",
        status == TCPX_OK ? message : "");
}

// A child that outlives this program, with its descriptors.
static void do_orphan(void) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    close(STDOUT_FILENO);
    sleep(60);
    _exit(0);
  }
  reply(TCPX_OK, "%d", (int)child);
}

static void do_telemetry(void) {
  char text[MESSAGE_TEXT_BYTES_MAX] = "";
  tcpx_status status = tcpx_telemetry(session, text, sizeof text);
  reply(status, "%s", text);
}

static void do_text(int count, char **words, tcpx_status (*ask)(tcpx_request *, char *, size_t)) {
  char text[MESSAGE_TEXT_BYTES_MAX] = "";
  tcpx_status status = count > 1 ? ask(requests[number(words[1])], text, sizeof text) : TCPX_OK;
  reply(status, "%s", text);
}

static bool on_request(int count, char **words) {
  const char *verb = words[0];
  uint32_t slot = 0;
  if (strcmp(verb, "write") == 0) return do_transfer(words, count, TCPX_OP_WRITE), true;
  if (strcmp(verb, "read") == 0) return do_transfer(words, count, TCPX_OP_READ), true;
  if (strcmp(verb, "prepare") == 0 || strcmp(verb, "prepare-read") == 0) {
    bool is_read = strcmp(verb, "prepare-read") == 0;
    tcpx_status status = prepare(words, count, is_read ? TCPX_OP_READ : TCPX_OP_WRITE, &slot);
    return reply(status, "%u", slot), true;
  }
  if (count < 2) return false;
  tcpx_request *request = requests[number(words[1]) % REQUESTS_MAX];
  if (strcmp(verb, "fork") == 0) return fork_and_ask(request), true;
  if (strcmp(verb, "post") == 0) return do_post(request, count, words), true;
  if (strcmp(verb, "test") == 0) return reply(tcpx_test(request), "tested"), true;
  if (strcmp(verb, "wait") == 0) {
    return reply(tcpx_wait(request, (int)number(words[2])), "waited"), true;
  }
  if (strcmp(verb, "cancel") == 0) return reply(tcpx_cancel(request), "cancelled"), true;
  if (strcmp(verb, "release") == 0) return reply(tcpx_release(request, 2000), "released"), true;
  if (strcmp(verb, "receipt") == 0) return do_text(count, words, tcpx_receipt), true;
  if (strcmp(verb, "explain") == 0) return do_text(count, words, tcpx_explain), true;
  return false;
}

static bool on_memory(int count, char **words) {
  const char *verb = words[0];
  if (count < 2) return false;
  unsigned long first = number(words[1]), second = count > 2 ? number(words[2]) : 0;
  if (strcmp(verb, "memory") == 0) {
    return do_memory(first, words[2], count > 3 ? (unsigned)number(words[3]) : 3), true;
  }
  if (strcmp(verb, "fill") == 0) return fill(&memories[first], (unsigned)second), reply(0, "done"), true;
  if (strcmp(verb, "check") == 0) {
    size_t at = first_difference(&memories[first], (unsigned)second);
    return reply(0, "%s %zu", at == memories[first].bytes ? "same" : "differs", at), true;
  }
  if (strcmp(verb, "where") == 0) {
    return reply(0, "%llu", (unsigned long long)(uintptr_t)memories[first].addr), true;
  }
  if (strcmp(verb, "unmap") == 0) {
    return munmap(memories[first].addr, memories[first].bytes), reply(0, "done"), true;
  }
  if (strcmp(verb, "deregister") == 0) {
    return reply(tcpx_deregister(session, (uint32_t)first), "done"), true;
  }
  return false;
}

static bool on_peer(int count, char **words, const char *rest) {
  const char *verb = words[0];
  uint32_t id = 0;
  if (strcmp(verb, "peer") == 0 && count > 2) {
    tcpx_status status = tcpx_load_peer(session, words[1], rest, &id);
    return reply(status, "%u", id), true;
  }
  if (strcmp(verb, "region") == 0 && count > 3) {
    uint32_t peer = (uint32_t)number(words[1]);
    tcpx_status status = tcpx_load_region(session, peer, strchr(rest, ' ') + 1, number(words[2]), &id);
    return reply(status, "%u", id), true;
  }
  if (strcmp(verb, "connect") == 0) {
    tcpx_status status = tcpx_connect(session, (uint32_t)number(words[1]), (int)number(words[2]));
    return reply(status, "connected"), true;
  }
  if (strcmp(verb, "accept") == 0) {
    return reply(tcpx_accept(session, words[1], (int)number(words[2])), "there"), true;
  }
  if (strcmp(verb, "disconnect") == 0) {
    return reply(tcpx_disconnect(session, (uint32_t)number(words[1])), "done"), true;
  }
  if (strcmp(verb, "notify") == 0) {
    tcpx_status status = tcpx_notify(session, (uint32_t)number(words[1]), rest, strlen(rest));
    return reply(status, "sent"), true;
  }
  return false;
}

static void obey(int count, char **words, const char *rest) {
  const char *verb = words[0];
  if (strcmp(verb, "open") == 0) {
    tcpx_status status = tcpx_open(words[1], words[2], count > 3 ? words[3] : NULL, &session);
    reply(status, "%s", status == TCPX_OK ? tcpx_conn_info(session) : "");
  } else if (strcmp(verb, "close") == 0) {
    tcpx_close(session);
    session = NULL;
    reply(TCPX_OK, "closed");
  } else if (strcmp(verb, "alive") == 0) reply(tcpx_alive(session), "alive");
  else if (strcmp(verb, "telemetry") == 0) do_telemetry();
  else if (strcmp(verb, "next") == 0) do_next();
  else if (strcmp(verb, "orphan") == 0) do_orphan();
  else if (strcmp(verb, "version") == 0) reply(TCPX_OK, "%s", tcpx_version());
  else if (!on_request(count, words) && !on_memory(count, words) && !on_peer(count, words, rest) &&
           !misbehave(count, words) && !measure(count, words) && !run_threads(count, words) &&
           !take_numbers(count, words)) {
    reply(TCPX_ERR_ARGUMENT, "unknown");
  }
}

int main(void) {
  static char line[LINE_BYTES], copy[LINE_BYTES];
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    memcpy(copy, line, sizeof copy);
    char *words[WORDS_MAX] = {0};
    int count = 0;
    char *place = NULL;
    for (char *word = strtok_r(copy, " ", &place); word != NULL && count < WORDS_MAX;
         word = strtok_r(NULL, " ", &place)) {
      words[count++] = word;
    }
    if (count == 0) continue;
    // What follows the second word, spaces included.
    const char *rest = count > 2 ? line + (words[2] - copy) : "";
    obey(count, words, rest);
  }
  return 0;
}
