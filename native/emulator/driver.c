// driver --plugin PATH [options]: starts a receiving and a sending process that move data through
// the plugin and check every byte (of every N-th iteration with --verify-every N). Prints one JSON
// line; exit 0 good, 4 when a process failed.

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"

enum { VARIABLES_MAX = 16, GRACE_MS = 500, SILENCE_DEADLINES = 10 };

struct options options = {
    .mode = "transfer",
    .bytes = 1 << 20,
    .message_bytes = 512 * 1024,
    .iterations = 1,
    .nics = 1,
    .channels = 1,
    .receive_window = 16,
    .send_window = 12,
    .memory_type = PTR_CUDA,
    .deadline_ms = 20000,
    .verify_every = 1,
};

static const char *receive_variables[VARIABLES_MAX];
static const char *send_variables[VARIABLES_MAX];

enum { RECEIVE_ENV = 256, SEND_ENV, SKIP_UNPACK, SKIP_CONSUME, LATE_UNPACK, VERIFY_EVERY };

static const struct option LONG_OPTIONS[] = {
    {"plugin", required_argument, NULL, 'p'},   {"mode", required_argument, NULL, 'm'},
    {"bytes", required_argument, NULL, 'b'},    {"message", required_argument, NULL, 'c'},
    {"iters", required_argument, NULL, 'i'},    {"warmup", required_argument, NULL, 'w'},
    {"nics", required_argument, NULL, 'n'},     {"channels", required_argument, NULL, 'k'},
    {"recv-window", required_argument, NULL, 'r'},
    {"send-window", required_argument, NULL, 's'},
    {"memory", required_argument, NULL, 't'},   {"deadline-ms", required_argument, NULL, 'd'},
    {"quiet", no_argument, NULL, 'q'},
    {"recv-env", required_argument, NULL, RECEIVE_ENV},
    {"send-env", required_argument, NULL, SEND_ENV},
    {"skip-unpack", no_argument, NULL, SKIP_UNPACK},
    {"skip-consume", no_argument, NULL, SKIP_CONSUME},
    {"late-unpack", no_argument, NULL, LATE_UNPACK},
    {"verify-every", required_argument, NULL, VERIFY_EVERY},
    {0},
};

static void add_variable(const char **list, const char *text) {
  for (int i = 0; i < VARIABLES_MAX - 1; i++) {
    if (list[i] != NULL) continue;
    list[i] = text;
    return;
  }
}

static bool read_option(int letter, const char *text) {
  uint64_t number = text == NULL ? 0 : strtoull(text, NULL, 0);
  switch (letter) {
    case 'p': options.plugin = text; return true;
    case 'm': options.mode = text; return true;
    case 'b': options.bytes = number; return true;
    case 'c': options.message_bytes = number; return number > 0;
    case 'i': options.iterations = (int)number; return true;
    case 'w': options.warmup = (int)number; return true;
    case 'n': options.nics = (int)number; return number > 0;
    case 'k': options.channels = (int)number; return number > 0;
    case 'r': options.receive_window = (int)number; return number > 0 && number <= WINDOW_MAX;
    case 's': options.send_window = (int)number; return number > 0 && number <= WINDOW_MAX;
    case 't': options.memory_type = strcmp(text, "host") == 0 ? PTR_HOST : PTR_CUDA; return true;
    case 'd': options.deadline_ms = number; return true;
    case 'q': options.is_quiet = true; return true;
    case RECEIVE_ENV: add_variable(receive_variables, text); return true;
    case SEND_ENV: add_variable(send_variables, text); return true;
    case SKIP_UNPACK: options.is_unpack_skipped = true; return true;
    case SKIP_CONSUME: options.is_consume_skipped = true; return true;
    case LATE_UNPACK: options.is_unpack_late = true; return true;
    case VERIFY_EVERY: options.verify_every = (int)number; return number > 0;
    default: return false;
  }
}

static pid_t start(bool is_receiver, int fd, int other_fd) {
  pid_t pid = fork();
  if (pid != 0) return pid;
  close(other_fd);
  // A peer that hangs after it has taken everything must not keep this end waiting for its word.
  struct timeval silence = {.tv_sec = (time_t)(options.deadline_ms * SILENCE_DEADLINES / 1000)};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence);
  const char **variables = is_receiver ? receive_variables : send_variables;
  for (int i = 0; variables[i] != NULL; i++) putenv((char *)(uintptr_t)variables[i]);
  bool is_contract = strcmp(options.mode, "contract") == 0;
  plugin_load();
  if (is_receiver) (is_contract ? contract_receiver : run_receiver)(fd);
  else (is_contract ? contract_sender : run_sender)(fd);
  exit(0);
}

static int report(const char *role, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
  if (WIFEXITED(status)) fprintf(stderr, "driver: %s exited %d\n", role, WEXITSTATUS(status));
  else fprintf(stderr, "driver: %s killed by signal %d\n", role, WTERMSIG(status));
  return 4;
}

// When one process has ended the other gets a while to end by itself, a short one after a failure.
static int supervise(pid_t receiver, pid_t sender) {
  int result = 0;
  uint64_t end_ns = UINT64_MAX;
  pid_t living[2] = {receiver, sender};
  while (living[0] != 0 || living[1] != 0) {
    int status = 0;
    pid_t ended = waitpid(-1, &status, end_ns == UINT64_MAX ? 0 : WNOHANG);
    if (ended < 0) break;
    if (ended > 0) {
      int code = report(ended == receiver ? "receiver" : "sender", status);
      if (code != 0) result = code;
      living[ended == receiver ? 0 : 1] = 0;
      uint64_t grace_ms = result == 0 ? options.deadline_ms : GRACE_MS;
      if (end_ns == UINT64_MAX || result != 0) end_ns = now_ns() + grace_ms * 1000000ULL;
      continue;
    }
    usleep(2000);
    for (int i = 0; i < 2 && now_ns() > end_ns; i++) {
      if (living[i] != 0) kill(living[i], SIGKILL);
    }
  }
  return result;
}

int main(int argc, char **argv) {
  int letter;
  while ((letter = getopt_long(argc, argv, "", LONG_OPTIONS, NULL)) != -1) {
    if (!read_option(letter, optarg)) return 2;
  }
  if (options.plugin == NULL || options.nics * options.channels > CHANNELS_MAX) {
    fprintf(stderr, "driver: --plugin PATH is needed, at most %d channels\n", CHANNELS_MAX);
    return 2;
  }
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return 4;
  signal(SIGPIPE, SIG_IGN);
  pid_t receiver = start(true, pair[0], pair[1]);
  pid_t sender = start(false, pair[1], pair[0]);
  close(pair[0]);
  close(pair[1]);
  return supervise(receiver, sender);
}
