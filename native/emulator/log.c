// Lines to the host's logger, and the end of the process where the original ends it.

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "emulator.h"

static net_logger host_logger;

void log_open(net_logger logger) { host_logger = logger; }

void log_line(int level, unsigned long flags, const char *where, int line, const char *format,
              ...) {
  char text[1024];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  if (host_logger != NULL) host_logger(level, flags, where, line, "%s", text);
}

void fatal(const char *format, ...) {
  char text[1024];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  WARN("%s", text);
  exit(1);
}

uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000ULL + (uint64_t)time.tv_nsec;
}
