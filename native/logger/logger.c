// The logger handed to an NCCL net plugin. It formats the variadic line and writes it to a
// descriptor in one call, from whatever thread, and never waits: a full pipe costs the line, which
// is counted. A JavaScript callback would block the plugin's thread until the event loop turns.
//
// One line: `level<TAB>flags in hex<TAB>where<TAB>line<TAB>text`.

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { LINE_BYTES = 2048 };  // below PIPE_BUF, so that lines of several threads do not mix

static atomic_int log_fd = -1;
static atomic_int level_max = 3;
static atomic_long dropped_lines;

// The last warning, for whoever holds the plugin: it comes with a result code that says nothing.
// A counter that is odd while somebody writes; a reader takes only what did not change meanwhile.
enum { LEVEL_WARN = 2, KEPT_BYTES = 512 };
static char kept[KEPT_BYTES];
static atomic_uint kept_version;

// Lines above `level` are not written. 0, or −errno where the descriptor is unusable.
EXPORT int tcpx_logger_open(int fd, int level) {
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0) return -errno;
  atomic_store(&level_max, level);
  atomic_store(&log_fd, fd);
  return 0;
}

EXPORT void tcpx_logger_close(void) { atomic_store(&log_fd, -1); }

EXPORT long tcpx_logger_dropped(void) { return atomic_load(&dropped_lines); }

static void keep_warning(const char *text, size_t bytes) {
  unsigned version = atomic_load(&kept_version);
  // Two warnings at once: the other one is kept.
  if ((version & 1) != 0 || !atomic_compare_exchange_strong(&kept_version, &version, version + 1)) {
    return;
  }
  if (bytes > KEPT_BYTES - 1) bytes = KEPT_BYTES - 1;
  memcpy(kept, text, bytes);
  kept[bytes] = '\0';
  atomic_store(&kept_version, version + 2);
}

// Copies the text of the last warning; its number, which rises with every warning, 0 without one.
EXPORT unsigned tcpx_logger_last_warning(char *target, int bytes) {
  unsigned version = atomic_load(&kept_version);
  if (version == 0 || (version & 1) != 0 || bytes < KEPT_BYTES) return 0;
  memcpy(target, kept, KEPT_BYTES);
  return atomic_load(&kept_version) == version ? version / 2 : 0;
}

static void write_line(int fd, const char *text, size_t bytes) {
  struct pollfd ready = {.fd = fd, .events = POLLOUT};
  // The flags of an inherited descriptor belong to everybody who shares it: ask, do not change.
  if (poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0 &&
      write(fd, text, bytes) == (ssize_t)bytes) {
    return;
  }
  atomic_fetch_add(&dropped_lines, 1);
}

EXPORT void tcpx_logger(int level, unsigned long flags, const char *where, int line,
                        const char *format, ...) {
  int fd = atomic_load(&log_fd);
  if (fd < 0 || level > atomic_load(&level_max)) return;
  char text[LINE_BYTES];
  int error = errno;  // plugins read errno after they have logged
  int used = snprintf(text, sizeof text, "%d\t%lx\t%s\t%d\t", level, flags,
                      where == NULL ? "" : where, line);
  if (used > 0 && used < LINE_BYTES - 2) {
    int head = used;
    va_list values;
    va_start(values, format);
    int body = vsnprintf(text + used, (size_t)(LINE_BYTES - 1 - used), format, values);
    va_end(values);
    if (body > 0) used += body < LINE_BYTES - 1 - used ? body : LINE_BYTES - 2 - used;
    for (int i = 0; i < used; i++) {
      if (text[i] == '\n') text[i] = ' ';
    }
    if (level == LEVEL_WARN) keep_warning(text + head, (size_t)(used - head));
    text[used++] = '\n';
    write_line(fd, text, (size_t)used);
  }
  errno = error;
}
