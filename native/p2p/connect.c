// Finding the service: its folder, its socket, and starting it where that is wished for.

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"

extern char **environ;

enum { START_MS_MAX = 15000, RETRY_MS = 20 };
// The same numbers as the setting has (src/base/service-settings.ts).
enum { ANSWER_MS = 30000, ANSWER_MS_MIN = 100, ANSWER_MS_MAX = 3600000 };

static const char *variable(const char *name) {
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

static bool is_autostart_wished(void) {
  const char *wish = variable("NIXL_TCPX_SERVICE_AUTOSTART");
  return wish != NULL && (strcmp(wish, "1") == 0 || strcmp(wish, "true") == 0);
}

// Through a shell that ends at once, so that the service is nobody's child here, and in a session
// of its own, so that no terminal ends it. Of several that are started one stays: it has the lock.
static tcpx_status start_service(const char *folder) {
  static char script[] =
      "export NIXL_TCPX_SERVICE_FOLDER=\"$1\"; exec </dev/null >>\"$1/service.log\" 2>&1; $2 &";
  const char *command = variable("NIXL_TCPX_SERVICE_COMMAND");
  if (command == NULL) command = "tcpx serve";
  if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
    return fail(TCPX_ERR_NO_SERVICE, "start a service: mkdir %s: %s", folder, strerror(errno));
  }
  char *words[] = {"sh", "-c", script, "sh", (char *)folder, (char *)command, NULL};
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t shell;
  int result = posix_spawn(&shell, "/bin/sh", NULL, &attributes, words, environ);
  posix_spawnattr_destroy(&attributes);
  if (result != 0) {
    return fail(TCPX_ERR_NO_SERVICE, "start a service: /bin/sh: %s", strerror(result));
  }
  while (waitpid(shell, NULL, 0) < 0 && errno == EINTR) continue;
  return TCPX_OK;
}

tcpx_status connect_service(const char *wanted, int *fd) {
  char folder[256];
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int length = folder_path(wanted, folder, sizeof folder);
  if (length < 0 || (size_t)length >= sizeof folder ||
      (size_t)snprintf(address.sun_path, sizeof address.sun_path, "%s/service.sock", folder) >=
          sizeof address.sun_path) {
    return fail(TCPX_ERR_ARGUMENT, "folder of the service: its path is too long for a socket");
  }
  int result = try_connect(&address);
  if (is_nobody_there(result) && is_autostart_wished()) {
    tcpx_status started = start_service(folder);
    if (started != TCPX_OK) return started;
    for (int64_t end = now_ms() + START_MS_MAX; is_nobody_there(result) && now_ms() < end;) {
      poll(NULL, 0, RETRY_MS);
      result = try_connect(&address);
    }
  }
  if (result >= 0) return *fd = result, TCPX_OK;
  tcpx_status status = result == -EACCES || result == -EPERM ? TCPX_ERR_PERMISSION
                       : is_nobody_there(result)             ? TCPX_ERR_NO_SERVICE
                       : result == -EAGAIN                   ? TCPX_ERR_SERVICE_GONE
                                                             : TCPX_ERR_SYSTEM;
  return fail(status, "connect to %s: %s", address.sun_path, strerror(-result));
}
