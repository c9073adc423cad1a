// Finding the service: its folder and its socket. Starting one is autostart.c's.

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "internal.h"

enum { START_MS_MAX = 15000, RETRY_MS = 20 };
// The same numbers as the setting has (src/base/service-settings.ts).
enum { ANSWER_MS = 30000, ANSWER_MS_MIN = 100, ANSWER_MS_MAX = 3600000 };

const char *variable(const char *name) {
  const char *value = getenv(name);
  return value == NULL || value[0] == '\0' ? NULL : value;
}

// The service has the same rule (src/service/runtime-folder.ts).
static int folder_path(const char *wanted, char *path, size_t size) {
  if (wanted == NULL || wanted[0] == '\0') wanted = variable("NIXL_TCPX_SERVICE_FOLDER");
  if (wanted != NULL) return snprintf(path, size, "%s", wanted);
  const char *runtime = variable("XDG_RUNTIME_DIR");
  if (runtime != NULL) return snprintf(path, size, "%s/nixl-tcpx", runtime);
  return snprintf(path, size, "/tmp/nixl-tcpx-%u", (unsigned)getuid());
}

int answer_ms(void) {
  const char *text = variable("NIXL_TCPX_SERVICE_ANSWER_MS");
  if (text == NULL) return ANSWER_MS;
  char *end = NULL;
  long ms = strtol(text, &end, 10);
  return *end == '\0' && ms >= ANSWER_MS_MIN && ms <= ANSWER_MS_MAX ? (int)ms : ANSWER_MS;
}

// A connected socket, or −errno. A service that does not turn leaves connections and messages
// lying; the kernel then waits for as long as an answer may take, and no longer.
static int try_connect(const struct sockaddr_un *address) {
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  const struct timeval limit = {answer_ms() / 1000, answer_ms() % 1000 * 1000};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0) return fd;
  int reason = errno;
  close(fd);
  return -reason;
}

static bool is_nobody_there(int result) {
  return result == -ENOENT || result == -ECONNREFUSED || result == -ENOTDIR;
}

static tcpx_status find_socket(const char *wanted, char *folder, size_t size,
                               struct sockaddr_un *address) {
  int length = folder_path(wanted, folder, size);
  if (length >= 0 && (size_t)length < size &&
      (size_t)snprintf(address->sun_path, sizeof address->sun_path, "%s/service.sock", folder) <
          sizeof address->sun_path) {
    return TCPX_OK;
  }
  return fail(TCPX_ERR_ARGUMENT, "folder of the service: its path is too long for a socket");
}

static int connect_started(const struct sockaddr_un *address) {
  int result = try_connect(address);
  for (int64_t end = now_ms() + START_MS_MAX; is_nobody_there(result) && now_ms() < end;) {
    poll(NULL, 0, RETRY_MS);
    result = try_connect(address);
  }
  return result;
}

static tcpx_status refuse(int result, const char *path) {
  tcpx_status status = result == -EACCES || result == -EPERM ? TCPX_ERR_PERMISSION
                       : result == -EAGAIN                   ? TCPX_ERR_SERVICE_GONE
                                                             : TCPX_ERR_SYSTEM;
  return fail(status, "connect to %s: %s", path, strerror(-result));
}

tcpx_status connect_service(const char *wanted, int *fd) {
  char folder[256];
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  tcpx_status status = find_socket(wanted, folder, sizeof folder, &address);
  if (status != TCPX_OK) return status;
  int result = try_connect(&address);
  bool is_wished = false;
  if (is_nobody_there(result)) {
    status = read_autostart(&is_wished);
    if (status == TCPX_OK && is_wished) status = start_service(folder);
    if (status != TCPX_OK) return status;
    if (is_wished) result = connect_started(&address);
  }
  if (result >= 0) return *fd = result, TCPX_OK;
  if (!is_nobody_there(result)) return refuse(result, address.sun_path);
  const char *reason = strerror(-result);
  if (!is_wished) {
    return fail(TCPX_ERR_NO_SERVICE, "connect to %s: %s: start a service there by `tcpx serve`, or "
                "set NIXL_TCPX_SERVICE_AUTOSTART=1", address.sun_path, reason);
  }
  return fail(TCPX_ERR_NO_SERVICE, "connect to %s: %s, %d s after %.200s was started: see "
              "%s/service.log", address.sun_path, reason, START_MS_MAX / 1000, service_command(),
              folder);
}
