// Transfers of the driver: message k goes over channel k mod N, windows of receives and sends per
// channel, only the oldest request of a channel is tested, receives are unpacked then consumed.

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

struct window {
  uint64_t posted, finished;  // messages of this channel
  uint64_t total;
  void *requests[WINDOW_MAX];
};

static struct window windows[CHANNELS_MAX];
static int high_water;

static uint64_t message_count(void) {
  if (options.bytes == 0) return 1;  // one empty message
  return (options.bytes + options.message_bytes - 1) / options.message_bytes;
}

static uint64_t message_offset(int channel, uint64_t index) {
  return (index * (uint64_t)channel_count() + (uint64_t)channel) * options.message_bytes;
}

static int message_size(uint64_t offset) {
  uint64_t rest = options.bytes - offset;
  return (int)(rest < options.message_bytes ? rest : options.message_bytes);
}

static void windows_start(void) {
  uint64_t count = message_count();
  uint64_t channels_used = (uint64_t)channel_count();
  memset(windows, 0, sizeof windows);
  for (uint64_t i = 0; i < channels_used; i++) {
    windows[i].total = count / channels_used + (i < count % channels_used ? 1 : 0);
  }
}

static void post_message(bool is_send, int index, uint8_t *buffer) {
  struct window *window = &windows[index];
  struct channel *channel = &channels[index];
  uint64_t offset = message_offset(index, window->posted);
  int size = message_size(offset);
  int tag = 0;
  void *data = buffer + offset;
  void **request = &window->requests[window->posted % WINDOW_MAX];
  if (is_send) {
    check(plugin->isend(channel->comm, data, size, tag, channel->mhandle, request), "isend");
  } else {
    check(plugin->irecv(channel->comm, 1, &data, &size, &tag, &channel->mhandle, request), "irecv");
  }
  window->posted++;
}

static void finish_receive(int index, void *request, uint8_t *buffer) {
  struct channel *channel = &channels[index];
  uint64_t offset = message_offset(index, windows[index].finished);
  uint64_t bytes = (uint64_t)message_size(offset);
  if (!options.is_unpack_late) unpack_message(channel, request, buffer + offset, bytes);
  if (!options.is_consume_skipped) {
    check(plugin->irecv_consumed(channel->comm, 1, request), "irecvConsumed");
  }
  if (options.is_unpack_late) unpack_message(channel, request, buffer + offset, bytes);
}

// Posts what the window allows and tests the oldest; whether anything moved.
static bool step_channel(bool is_send, int index, uint8_t *buffer) {
  struct window *window = &windows[index];
  int limit = is_send ? options.send_window : options.receive_window;
  while (window->posted < window->total && window->posted - window->finished < (uint64_t)limit) {
    post_message(is_send, index, buffer);
  }
  int outstanding = (int)(window->posted - window->finished);
  if (outstanding > high_water) high_water = outstanding;
  if (outstanding == 0) return false;
  void *request = window->requests[window->finished % WINDOW_MAX];
  int done = 0;
  int size = -7;
  check(plugin->test(request, &done, &size), "test");
  if (size != -7) die(EXIT_PLUGIN, "test wrote a size");
  if (!done) return false;
  if (!is_send) finish_receive(index, request, buffer);
  window->finished++;
  return true;
}

static void move_all(bool is_send, uint8_t *buffer) {
  uint64_t left = message_count();
  windows_start();
  deadline_start(1);
  uint64_t idle = 0;
  while (left > 0) {
    uint64_t moved = 0;
    for (int i = 0; i < channel_count(); i++) moved += step_channel(is_send, i, buffer);
    left -= moved;
    idle = moved > 0 ? 0 : idle + 1;
    if (idle == 0) continue;
    sched_yield();
    if (idle % 256 != 0) continue;
    const char *role = is_send ? "send" : "receive";
    for (int i = 0; i < channel_count(); i++) {
      if (windows[i].finished < windows[i].total) deadline_check(role, i, windows[i].finished);
    }
  }
}

static bool is_verified(int iteration) { return iteration % options.verify_every == 0; }

static int compare_ns(const void *one, const void *other) {
  uint64_t a = *(const uint64_t *)one;
  uint64_t b = *(const uint64_t *)other;
  return a < b ? -1 : a > b;
}

// Of the timed iterations, in microseconds; `sorted` has them ascending.
static double percentile_us(const uint64_t *sorted, int percent) {
  if (options.iterations == 0) return 0;
  int rank = (options.iterations * percent + 99) / 100;
  return (double)sorted[rank > 0 ? rank - 1 : 0] / 1000.0;
}

static void print_result(uint64_t *times_ns, int verified, long free_before) {
  long free_after = plugin_free_pages(0);
  uint64_t bytes = options.bytes * (uint64_t)options.iterations;
  uint64_t ns = 0;
  for (int i = 0; i < options.iterations; i++) ns += times_ns[i];
  qsort(times_ns, (size_t)options.iterations, sizeof *times_ns, compare_ns);
  printf("{\"evidence\":\"%s\",\"bytes\":%llu,\"messageBytes\":%llu,\"iterations\":%d,"
         "\"nics\":%d,\"channels\":%d,\"bandwidthGBps\":%.4f,\"verified\":%d,\"mismatches\":0,"
         "\"iterationUs\":{\"p50\":%.1f,\"p90\":%.1f,\"max\":%.1f},"
         "\"highWater\":%d,\"pages\":%ld,\"pagesLost\":%ld}\n",
         plugin_is_emulated() ? "emulated" : "measured", (unsigned long long)options.bytes,
         (unsigned long long)options.message_bytes, options.iterations, options.nics,
         options.channels, ns == 0 ? 0.0 : (double)bytes / (double)ns, verified,
         percentile_us(times_ns, 50), percentile_us(times_ns, 90), percentile_us(times_ns, 100),
         high_water,
         plugin_pages(0), free_before - free_after);
  fflush(stdout);
}

void run_receiver(int peer_fd) {
  uint8_t *buffer = buffer_create(options.bytes);
  receive_buffer_pin(buffer, options.bytes);
  receiver_open(peer_fd, buffer, options.bytes);
  long free_before = plugin_free_pages(0);
  uint64_t *times_ns = calloc((size_t)options.iterations + 1, sizeof *times_ns);
  if (times_ns == NULL) die(EXIT_SETUP, "no memory for %d times", options.iterations);
  uint8_t token = 1;
  int verified = 0;
  for (int i = 0; i < options.warmup + options.iterations; i++) {
    if (is_verified(i)) memset(buffer, 0xEE, options.bytes);
    write_all(peer_fd, &token, 1);
    uint64_t begin = now_ns();
    move_all(false, buffer);
    if (i >= options.warmup) times_ns[i - options.warmup] = now_ns() - begin;
    if (!is_verified(i)) continue;
    verified++;
    uint64_t wrong = pattern_check(buffer, options.bytes, (uint64_t)i);
    if (wrong != UINT64_MAX) {
      die(EXIT_MISMATCH, "iteration %d: byte %llu differs", i, (unsigned long long)wrong);
    }
  }
  print_result(times_ns, verified, free_before);
  free(times_ns);
  write_all(peer_fd, &token, 1);
  channels_close();
}

void run_sender(int peer_fd) {
  uint8_t *buffer = buffer_create(options.bytes);
  uint8_t *source = send_buffer_create(buffer, options.bytes);
  uint8_t token = 0;
  sender_open(peer_fd, source, options.bytes);
  for (int i = 0; i < options.warmup + options.iterations; i++) {
    if (is_verified(i)) {
      pattern_fill(buffer, options.bytes, (uint64_t)i);
      send_buffer_fill(source, buffer, options.bytes);
    }
    read_all(peer_fd, &token, 1);
    move_all(true, source);
  }
  // An acknowledged end: closing earlier would cut off a receiver that still drains.
  read_all(peer_fd, &token, 1);
  channels_close();
}
