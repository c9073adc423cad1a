// Numbers as a program in another language may pass them: a place below 0, which arrives as one
// near 2^64, or an operation that there is not.
//
//     block OPERATION PEER MEMORY REGION LOCAL_OFFSET REMOTE_OFFSET BYTES
//     lend ADDRESS BYTES
//     lend-file BYTES OFFSET

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

static uint64_t number(const char *word) { return strtoull(word, NULL, 10); }

static void do_block(char **words) {
  const tcpx_block block = {(uint32_t)number(words[3]), (uint32_t)number(words[4]),
                            number(words[5]), number(words[6]), number(words[7])};
  tcpx_request *request = NULL;
  tcpx_status status = tcpx_prepare(session, (tcpx_operation)number(words[1]),
                                    (uint32_t)number(words[2]), &block, 1, &request);
  if (status == TCPX_OK) status = tcpx_release(request, 0);
  reply(status, "prepared");
}

static void do_lend(uint64_t addr, uint64_t bytes) {
  uint32_t id = 0;
  tcpx_status status = tcpx_register(session, (void *)(uintptr_t)addr, bytes, TCPX_MEMORY_HOST,
                                     TCPX_READ, &id);
  reply(status, "%u", id);
}

static void do_lend_file(uint64_t bytes, uint64_t offset) {
  uint32_t id = 0;
  int fd = memfd_create("p2p-check", MFD_CLOEXEC);
  tcpx_status status = tcpx_register_fd(session, &id, bytes, fd, offset, TCPX_READ, &id);
  close(fd);
  reply(status, "%u", id);
}

bool take_numbers(int count, char **words) {
  const char *verb = words[0];
  if (strcmp(verb, "block") == 0 && count > 7) return do_block(words), true;
  if (count < 3) return false;
  uint64_t first = number(words[1]), second = number(words[2]);
  if (strcmp(verb, "lend") == 0) return do_lend(first, second), true;
  if (strcmp(verb, "lend-file") == 0) return do_lend_file(first, second), true;
  return false;
}
