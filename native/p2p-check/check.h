// A program that does with the C library what it is told on its standard input, a line at a time:
// tests drive one or several of them. Each line is answered by one: a status, then facts.
#ifndef P2P_CHECK_H
#define P2P_CHECK_H

#include "../p2p/internal.h"

enum { MEMORIES_MAX = 4096, REQUESTS_MAX = 4096 };

struct check_memory {
  uint8_t *addr;
  size_t bytes;
  bool is_device;
};

extern tcpx_session *session;
extern struct check_memory memories[MEMORIES_MAX];

void reply(tcpx_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

// misbehave.c: true where the words were of this file.
bool misbehave(int count, char **words);
// measure.c
bool measure(int count, char **words);
// threads.c
bool run_threads(int count, char **words);
// fork.c
void fork_and_ask(tcpx_request *request);
// numbers.c
bool take_numbers(int count, char **words);
// device.c
// cuda: of cuMemAlloc; vmm, pool: exportable; hidden: of a pool that is not. NULL: not of these.
uint8_t *device_alloc(size_t bytes, const char *kind);
void device_copy(uint8_t *device, uint8_t *host, size_t bytes, bool is_in);

#endif
