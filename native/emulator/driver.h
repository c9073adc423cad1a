// What the files of the driver share. The driver moves checked data through any v7 plugin between
// two processes of its own, with windows as our transport keeps them.
#ifndef DRIVER_H
#define DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../nccl-net-v7.h"

enum {
  CHANNELS_MAX = 32,
  SETUP_DEADLINES = 5,  // connecting may take this many times the deadline of an iteration
  WINDOW_MAX = 16,
  // Exit codes of the two processes; 1 is left to the plugin's own exit(1).
  EXIT_MISMATCH = 5,
  EXIT_DEADLINE = 6,
  EXIT_PLUGIN = 7,
  EXIT_SETUP = 8,
};

struct options {
  const char *plugin;
  const char *mode;  // transfer or contract
  uint64_t bytes;
  uint64_t message_bytes;
  int iterations;
  int warmup;
  int verify_every;  // iterations; filling and checking leave their mark on the caches
  int nics;
  int channels;  // per NIC
  int receive_window;
  int send_window;
  int memory_type;
  uint64_t deadline_ms;
  bool is_unpack_skipped;
  bool is_consume_skipped;
  bool is_unpack_late;  // after consume: the pages are no longer ours
  bool is_quiet;
};
extern struct options options;

extern const struct net_plugin_v7 *plugin;
void plugin_load(void);
long plugin_free_pages(int gpu);
long plugin_pages(int gpu);
bool plugin_is_emulated(void);
int plugin_init_again(void);

_Noreturn void die(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void check(int result, const char *call);
uint64_t now_ns(void);
void write_all(int fd, const void *bytes, size_t count);
void read_all(int fd, void *bytes, size_t count);
void deadline_start(int factor);
void deadline_check(const char *role, int channel, uint64_t message);

struct channel {
  void *listen_comm;
  void *comm;
  void *mhandle;
  struct net_device_handle device;
  struct unpack_handle unpack;
  uint64_t completed;  // receives done so far: the j-th uses slot j mod 16
};
extern struct channel channels[CHANNELS_MAX];
int channel_count(void);
void receiver_open(int peer_fd, uint8_t *buffer, uint64_t bytes);
void sender_open(int peer_fd, uint8_t *buffer, uint64_t bytes);
void channels_close(void);
void unpack_message(struct channel *channel, void *request, uint8_t *target, uint64_t expected);

void cuda_open(void);
uint8_t *send_buffer_create(uint8_t *host, uint64_t bytes);
void send_buffer_fill(uint8_t *target, const uint8_t *host, uint64_t bytes);
void receive_buffer_pin(uint8_t *buffer, uint64_t bytes);
void copy_from_device(void *target, uint64_t source, size_t bytes);
void copy_from_device_later(void *target, uint64_t source, size_t bytes);
void copies_wait(void);

uint8_t *buffer_create(uint64_t bytes);
void pattern_fill(uint8_t *buffer, uint64_t bytes, uint64_t seed);
// Index of the first byte that differs, UINT64_MAX when none does.
uint64_t pattern_check(const uint8_t *buffer, uint64_t bytes, uint64_t seed);

void run_receiver(int peer_fd);
void run_sender(int peer_fd);
void contract_receiver(int peer_fd);
void contract_sender(int peer_fd);

#endif
