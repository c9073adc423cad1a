// Contract mode: the rules that callers of the plugin rely on, broken on purpose one by one. Each
// line printed is a rule that held; the first that does not ends the process.

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"

enum { MESSAGE_BYTES = 8192, MESSAGES = 20 };

static void expect(const char *rule, int result, int expected) {
  if (result != expected) {
    die(EXIT_MISMATCH, "%s: returned %d, expected %d", rule, result, expected);
  }
  printf("ok %s\n", rule);
  fflush(stdout);
}

static void *post_receive(uint8_t *buffer, int size) {
  int tag = 0;
  void *data = buffer;
  void *request = NULL;
  struct channel *channel = &channels[0];
  check(plugin->irecv(channel->comm, 1, &data, &size, &tag, &channel->mhandle, &request), "irecv");
  return request;
}

static void finish(void *request) {
  int done = 0;
  deadline_start(1);
  while (done == 0) {
    check(plugin->test(request, &done, NULL), "test");
    deadline_check("contract", 0, 0);
  }
}

static void check_before_data(uint8_t *buffer, void **requests) {
  int done = 0;
  void *comm = channels[0].comm;
  int size = MESSAGE_BYTES;
  int tag = 0;
  void *data = buffer;
  void *extra = NULL;
  // A place for each: a plugin that receives into host memory writes there.
  for (int i = 0; i < 16; i++) {
    requests[i] = post_receive(buffer + i * MESSAGE_BYTES, MESSAGE_BYTES);
  }
  expect("depth: the 17th receive is refused",
         plugin->irecv(comm, 1, &data, &size, &tag, &channels[0].mhandle, &extra), NET_INTERNAL);
  expect("grouping: two receives in one call are refused",
         plugin->irecv(comm, 2, &data, &size, &tag, &channels[0].mhandle, &extra), NET_INTERNAL);
  void *none = NULL;
  expect("registration: a receive without a handle is refused",
         plugin->irecv(comm, 1, &data, &size, &tag, &none, &extra), NET_INTERNAL);
  expect("order: testing while nothing moves is no error",
         plugin->test(requests[5], &done, NULL), NET_OK);
  expect("test: null is refused", plugin->test(NULL, &done, NULL), NET_INTERNAL);
  expect("consume: null is refused", plugin->irecv_consumed(comm, 1, NULL), NET_INTERNAL);
  expect("consume: a receive without data is refused",
         plugin->irecv_consumed(comm, 1, requests[0]), NET_INTERNAL);
  expect("alignment: a CUDA address off the page is refused",
         plugin->reg_mr(comm, buffer + 1, 4096, PTR_CUDA, &extra), NET_INTERNAL);
  expect("init: a second one is refused", plugin_init_again(), NET_INTERNAL);
}

static void check_with_data(uint8_t *buffer, void **requests) {
  void *comm = channels[0].comm;
  int done = 0;
  // Until the first message is on its way, testing the second is harmless.
  deadline_start(1);
  while (plugin->test(requests[1], &done, NULL) == NET_OK) deadline_check("contract", 0, 1);
  expect("order: testing a younger request is refused",
         plugin->test(requests[1], &done, NULL), NET_INTERNAL);
  for (int i = 0; i < 16; i++) finish(requests[i]);
  expect("consume: out of order is refused", plugin->irecv_consumed(comm, 1, requests[1]),
         NET_INTERNAL);
  expect("consume: two at once are refused", plugin->irecv_consumed(comm, 2, requests[0]),
         NET_INTERNAL);
  for (int i = 0; i < 16; i++) {
    uint8_t *place = buffer + i * MESSAGE_BYTES;
    unpack_message(&channels[0], requests[i], place, MESSAGE_BYTES);
    if (pattern_check(place, MESSAGE_BYTES, (uint64_t)i) != UINT64_MAX) {
      die(EXIT_MISMATCH, "message %d differs", i);
    }
    check(plugin->irecv_consumed(comm, 1, requests[i]), "irecvConsumed");
  }
  expect("consume: twice is refused", plugin->irecv_consumed(comm, 1, requests[15]),
         NET_INTERNAL);
  void *next = post_receive(buffer, 100);
  expect("ring: addresses come back after 16", next == requests[0], 1);
  finish(next);
  int32_t size = 0;
  memcpy(&size, (uint8_t *)next + 36, sizeof size);
  expect("bounds: a receive takes the sender's length", size, MESSAGE_BYTES);
  check(plugin->irecv_consumed(comm, 1, next), "irecvConsumed");
  void *empty = post_receive(buffer, MESSAGE_BYTES);
  finish(empty);
  memcpy(&size, (uint8_t *)empty + 36, sizeof size);
  expect("empty: a message of 0 bytes arrives", size, 0);
  expect("empty: it is consumed as any other", plugin->irecv_consumed(comm, 1, empty), NET_OK);
}

void contract_receiver(int peer_fd) {
  uint8_t *buffer = buffer_create(MESSAGE_BYTES * MESSAGES);
  void *requests[16];
  uint8_t token = 1;
  int done = 0;
  receiver_open(peer_fd, buffer, MESSAGE_BYTES * MESSAGES);
  void *again = NULL;
  struct net_device_handle device;
  struct net_device_handle *pointer = &device;
  // In the original that is use after free: only the emulator survives the question.
  if (plugin_is_emulated()) {
    expect("accept: a second one on the same listen comm is refused",
           plugin->accept(channels[0].listen_comm, &again, &pointer), NET_INTERNAL);
  } else {
    printf("skipped accept: a second one on the same listen comm\n");
  }
  check_before_data(buffer, requests);
  write_all(peer_fd, &token, 1);
  check_with_data(buffer, requests);
  void *waiting = post_receive(buffer, MESSAGE_BYTES);
  write_all(peer_fd, &token, 1);
  deadline_start(1);
  int result = NET_OK;
  while (result == NET_OK) {
    result = plugin->test(waiting, &done, NULL);
    deadline_check("contract", 0, 99);
  }
  expect("close: a receive that waits for a peer that closed gets 2", result, NET_SYSTEM);
  long lost = plugin_pages(0) - plugin_free_pages(0);
  expect("pages: none is missing at the end", (int)lost, 0);
  channels_close();
}

void contract_sender(int peer_fd) {
  uint8_t *buffer = buffer_create(MESSAGE_BYTES * MESSAGES);
  uint8_t token = 0;
  void *request = NULL;
  for (int i = 0; i < 17; i++) {
    pattern_fill(buffer + i * MESSAGE_BYTES, MESSAGE_BYTES, (uint64_t)i);
  }
  uint8_t *source = send_buffer_create(buffer, MESSAGE_BYTES * MESSAGES);
  send_buffer_fill(source, buffer, MESSAGE_BYTES * MESSAGES);
  sender_open(peer_fd, source, MESSAGE_BYTES * MESSAGES);
  struct channel *channel = &channels[0];
  read_all(peer_fd, &token, 1);
  for (int i = 0; i < 18; i++) {
    uint8_t *data = source + i * MESSAGE_BYTES;
    int size = i < 17 ? MESSAGE_BYTES : 0;
    check(plugin->isend(channel->comm, data, size, 0, channel->mhandle, &request), "isend");
    finish(request);
    if (i == 0) {
      expect("consume: a send request is left alone",
             plugin->irecv_consumed(channel->comm, 1, request), NET_OK);
    }
  }
  read_all(peer_fd, &token, 1);
  channels_close();
}
