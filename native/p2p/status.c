// Statuses as text, the last error of a thread, versions.

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#ifndef TCPX_P2P_VERSION
#error "the build gives the version of the package"
#endif

enum { ERROR_BYTES = 512 };

// By key, not by thread-local variable, which would need room in the program's static block or the
// dynamic loader as a library of its own.
static pthread_key_t error_key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static bool has_key;

static void make_key(void) { has_key = pthread_key_create(&error_key, free) == 0; }

// Of this thread; NULL where there is no memory for it.
static char *error_line(void) {
  pthread_once(&key_once, make_key);
  if (!has_key) return NULL;
  char *line = pthread_getspecific(error_key);
  if (line != NULL) return line;
  line = calloc(1, ERROR_BYTES);
  if (line != NULL && pthread_setspecific(error_key, line) != 0) {
    free(line);
    line = NULL;
  }
  return line;
}

tcpx_status fail(tcpx_status status, const char *format, ...) {
  char *line = error_line();
  if (line != NULL) {
    va_list words;
    va_start(words, format);
    vsnprintf(line, ERROR_BYTES, format, words);
    va_end(words);
  }
  return status;
}

tcpx_status fail_errno(const char *call) {
  return fail(TCPX_ERR_SYSTEM, "%s: %s", call, strerror(errno));
}

const char *tcpx_last_error(void) {
  const char *line = error_line();
  return line == NULL ? "" : line;
}

const char *tcpx_status_text(tcpx_status status) {
  switch (status) {
    case TCPX_OK: return "TCPX_OK: done";
    case TCPX_IN_PROGRESS: return "TCPX_IN_PROGRESS: not finished yet";
    case TCPX_ERR_ARGUMENT:
      return "TCPX_ERR_ARGUMENT: an argument is missing, malformed or out of range";
    case TCPX_ERR_STATE: return "TCPX_ERR_STATE: not allowed in this state";
    case TCPX_ERR_NOT_FOUND:
      return "TCPX_ERR_NOT_FOUND: no such peer, memory, region or request";
    case TCPX_ERR_NOT_SUPPORTED:
      return "TCPX_ERR_NOT_SUPPORTED: not offered by this service or this build";
    case TCPX_ERR_LIMIT: return "TCPX_ERR_LIMIT: a quota of the service is used up";
    case TCPX_ERR_BUSY: return "TCPX_ERR_BUSY: in use; try again later";
    case TCPX_ERR_TIMEOUT: return "TCPX_ERR_TIMEOUT: the time given is over";
    case TCPX_ERR_CANCELLED: return "TCPX_ERR_CANCELLED: cancelled by its owner";
    case TCPX_ERR_DEADLINE: return "TCPX_ERR_DEADLINE: not finished by its deadline";
    case TCPX_ERR_PEER_LOST: return "TCPX_ERR_PEER_LOST: the peer is gone or cannot be reached";
    case TCPX_ERR_PEER_REFUSED: return "TCPX_ERR_PEER_REFUSED: the peer answered and refused";
    case TCPX_ERR_ACCESS:
      return "TCPX_ERR_ACCESS: the region at the peer is stale, out of bounds or grants no such "
             "right";
    case TCPX_ERR_TRANSFER:
      return "TCPX_ERR_TRANSFER: the transfer failed; bytes may have landed in part";
    case TCPX_ERR_MEMORY: return "TCPX_ERR_MEMORY: the service cannot reach this memory";
    case TCPX_ERR_DEVICE: return "TCPX_ERR_DEVICE: a GPU or its driver is missing or failed";
    case TCPX_ERR_NO_SERVICE: return "TCPX_ERR_NO_SERVICE: no service answers at this path";
    case TCPX_ERR_SERVICE_GONE:
      return "TCPX_ERR_SERVICE_GONE: the service has ended, or has let this client go";
    case TCPX_ERR_VERSION:
      return "TCPX_ERR_VERSION: library and service speak different versions";
    case TCPX_ERR_PROTOCOL:
      return "TCPX_ERR_PROTOCOL: the client broke the rules of its ring or socket and was let go";
    case TCPX_ERR_PERMISSION:
      return "TCPX_ERR_PERMISSION: the system or the service does not allow it";
    case TCPX_ERR_FORKED:
      return "TCPX_ERR_FORKED: this process is a fork of the one that opened the session";
    case TCPX_ERR_SYSTEM: return "TCPX_ERR_SYSTEM: a system call failed";
    case TCPX_ERR_FULL: return "TCPX_ERR_FULL: the ring is full; the service has not kept up";
  }
  return "a status that this library does not know";
}

const char *tcpx_version(void) { return TCPX_P2P_VERSION; }
int tcpx_api_version(void) { return TCPX_P2P_API_VERSION; }
