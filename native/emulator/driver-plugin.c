// Loading the plugin, and the small things every part of the driver needs.

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"

const struct net_plugin_v7 *plugin;
static void *library;
static uint64_t deadline_ns;

void die(int code, const char *format, ...) {
  va_list values;
  va_start(values, format);
  fprintf(stderr, "driver: ");
  vfprintf(stderr, format, values);
  fprintf(stderr, "\n");
  va_end(values);
  _exit(code);
}

void check(int result, const char *call) {
  if (result != NET_OK) die(EXIT_PLUGIN, "%s returned %d", call, result);
}

static void log_line(int level, unsigned long flags, const char *file, int line,
                     const char *format, ...) {
  (void)flags, (void)line;
  if (level != LOG_LEVEL_WARN && options.is_quiet) return;
  char text[1024];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  fprintf(stderr, "%s %s: %s\n", level == LOG_LEVEL_WARN ? "WARN" : "INFO", file, text);
}

void plugin_load(void) {
  library = dlopen(options.plugin, RTLD_LAZY | RTLD_GLOBAL);
  if (library == NULL) die(EXIT_SETUP, "%s", dlerror());
  plugin = dlsym(library, "ncclNetPlugin_v7");
  if (plugin == NULL) die(EXIT_SETUP, "%s", dlerror());
  check(plugin->init(log_line), "init");
  int count = 0;
  check(plugin->devices(&count), "devices");
  if (count < options.nics) die(EXIT_SETUP, "%d NICs, %d are needed", count, options.nics);
  cuda_open();
}

int plugin_init_again(void) { return plugin->init(log_line); }

static long call_counter(const char *name, int gpu) {
  long (*counter)(int);
  void *symbol = dlsym(library, name);
  if (symbol == NULL) return -1;
  memcpy(&counter, &symbol, sizeof counter);
  return counter(gpu);
}

long plugin_free_pages(int gpu) { return call_counter("tcpx_emu_free_pages", gpu); }
long plugin_pages(int gpu) { return call_counter("tcpx_emu_pages", gpu); }
bool plugin_is_emulated(void) { return dlsym(library, "tcpx_emu_version") != NULL; }

uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000ULL + (uint64_t)time.tv_nsec;
}

void deadline_start(int factor) {
  deadline_ns = now_ns() + options.deadline_ms * (uint64_t)factor * 1000000ULL;
}

void deadline_check(const char *role, int channel, uint64_t message) {
  if (now_ns() < deadline_ns) return;
  die(EXIT_DEADLINE, "deadline: %s, channel %d, message %llu", role, channel,
      (unsigned long long)message);
}

void write_all(int fd, const void *bytes, size_t count) {
  for (size_t moved = 0; moved < count;) {
    ssize_t part = write(fd, (const uint8_t *)bytes + moved, count - moved);
    if (part <= 0 && errno != EINTR) die(EXIT_SETUP, "the other process is gone");
    if (part > 0) moved += (size_t)part;
  }
}

void read_all(int fd, void *bytes, size_t count) {
  for (size_t moved = 0; moved < count;) {
    ssize_t part = read(fd, (uint8_t *)bytes + moved, count - moved);
    if (part < 0 && errno == EAGAIN) die(EXIT_DEADLINE, "deadline: the other process is silent");
    if (part == 0 || (part < 0 && errno != EINTR)) die(EXIT_SETUP, "the other process is gone");
    if (part > 0) moved += (size_t)part;
  }
}

uint8_t *buffer_create(uint64_t bytes) {
  uint64_t mapped = (bytes + 8191) / 4096 * 4096;
  void *memory = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) die(EXIT_SETUP, "no memory for %llu bytes", (unsigned long long)bytes);
  return memory;
}

// A different word at every position and for every seed, so that displaced bytes show.
static uint64_t pattern_word(uint64_t index, uint64_t seed) {
  uint64_t x = index + seed * 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  return x ^ (x >> 27);
}

void pattern_fill(uint8_t *buffer, uint64_t bytes, uint64_t seed) {
  for (uint64_t i = 0; i * 8 < bytes; i++) {
    uint64_t word = pattern_word(i, seed);
    memcpy(buffer + i * 8, &word, bytes - i * 8 < 8 ? bytes - i * 8 : 8);
  }
}

uint64_t pattern_check(const uint8_t *buffer, uint64_t bytes, uint64_t seed) {
  for (uint64_t i = 0; i * 8 < bytes; i++) {
    uint64_t word = pattern_word(i, seed);
    uint64_t count = bytes - i * 8 < 8 ? bytes - i * 8 : 8;
    if (memcmp(buffer + i * 8, &word, count) == 0) continue;
    uint64_t at = 0;
    while (buffer[i * 8 + at] == ((const uint8_t *)&word)[at]) at++;
    return i * 8 + at;
  }
  return UINT64_MAX;
}
