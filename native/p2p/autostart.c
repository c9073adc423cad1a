// Starting a service where none answers: nobody's child, in a session of its own so that no
// terminal ends it, and with nothing of this program but its environment. Of several that are
// started one stays: it has the lock.

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

extern char **environ;

static const char SWITCH[] = "NIXL_TCPX_SERVICE_AUTOSTART";
static const char FOLDER[] = "NIXL_TCPX_SERVICE_FOLDER";
enum { DESCRIPTORS_MAX = 1 << 20, EXEC_MS_MAX = 2000 };

// What the child needs, made before it is there: it may not allocate.
struct start {
  char *command;  // cut into its words
  char **words;
  char *folder;
  char **environment;
  int log, report[2];
};

tcpx_status read_autostart(bool *is_wished) {
  const char *text = variable(SWITCH);
  // The words that the setting has too (src/base/config.ts).
  *is_wished = text != NULL && (strcmp(text, "true") == 0 || strcmp(text, "1") == 0);
  if (*is_wished || text == NULL || strcmp(text, "false") == 0 || strcmp(text, "0") == 0) {
    return TCPX_OK;
  }
  return fail(TCPX_ERR_ARGUMENT, "%s=%.60s: expected true, false, 1 or 0", SWITCH, text);
}

const char *service_command(void) {
  const char *command = variable("NIXL_TCPX_SERVICE_COMMAND");
  return command == NULL ? "tcpx serve" : command;
}

static char **split(char *text) {
  char **words = calloc(strlen(text) / 2 + 2, sizeof *words), *place = NULL;
  size_t count = 0;
  if (words == NULL) return NULL;
  for (char *word = strtok_r(text, " \t\n", &place); word != NULL;
       word = strtok_r(NULL, " \t\n", &place)) {
    words[count++] = word;
  }
  return words;
}

// This program's, with the folder in place of what is said of it there.
static char **environment_with(char *folder) {
  size_t count = 0, kept = 0, length = strlen(FOLDER);
  while (environ != NULL && environ[count] != NULL) count++;
  char **list = calloc(count + 2, sizeof *list);
  if (list == NULL) return NULL;
  for (size_t i = 0; i < count; i++) {
    bool is_folder = strncmp(environ[i], FOLDER, length) == 0 && environ[i][length] == '=';
    if (!is_folder) list[kept++] = environ[i];
  }
  list[kept] = folder;
  return list;
}

static void drop_start(struct start *start) {
  free(start->command);
  free(start->words);
  free(start->folder);
  free(start->environment);
  const int fds[] = {start->log, start->report[0], start->report[1]};
  for (size_t i = 0; i < 3; i++) {
    if (fds[i] >= 0) close(fds[i]);
  }
}

static tcpx_status make_start(const char *folder, struct start *start) {
  char place[PATH_MAX], text[PATH_MAX + 64];
  if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
    return fail(TCPX_ERR_NO_SERVICE, "start a service: mkdir %s: %s", folder, strerror(errno));
  }
  // The service works in another folder.
  if (realpath(folder, place) == NULL) return fail_errno("start a service: realpath");
  snprintf(text, sizeof text, "%s/service.log", place);
  start->log = open(text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (start->log < 0) {
    return fail(TCPX_ERR_NO_SERVICE, "start a service: open %s: %s", text, strerror(errno));
  }
  snprintf(text, sizeof text, "%s=%s", FOLDER, place);
  start->folder = strdup(text);
  start->command = strdup(service_command());
  if (start->folder == NULL || start->command == NULL) return fail_errno("strdup");
  start->words = split(start->command);
  start->environment = environment_with(start->folder);
  if (start->words == NULL || start->environment == NULL) return fail_errno("calloc");
  if (start->words[0] == NULL) {
    return fail(TCPX_ERR_ARGUMENT, "NIXL_TCPX_SERVICE_COMMAND has no words");
  }
  return pipe2(start->report, O_CLOEXEC) == 0 ? TCPX_OK : fail_errno("start a service: pipe");
}

// What is open here, a listening socket say, is not the service's: another program could not listen
// there for as long as it lives.
static void hold_back_descriptors(void) {
  const int first = STDERR_FILENO + 1;
  if (syscall(SYS_close_range, first, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  struct rlimit limit = {.rlim_cur = DESCRIPTORS_MAX};
  getrlimit(RLIMIT_NOFILE, &limit);
  int end = limit.rlim_cur < DESCRIPTORS_MAX ? (int)limit.rlim_cur : DESCRIPTORS_MAX;
  for (int fd = first; fd < end; fd++) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static void become_service(const struct start *start) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(start->log, STDOUT_FILENO) >= 0 &&
      dup2(start->log, STDERR_FILENO) >= 0 && chdir("/") == 0) {
    hold_back_descriptors();
    execvpe(start->words[0], start->words, start->environment);
  }
}

// Between fork and exec: nothing that allocates or locks. The report is closed by what is executed.
static void run_children(const struct start *start) {
  setsid();
  pid_t service = fork();
  if (service > 0) _exit(0);
  if (service == 0) become_service(start);
  int reason = errno;
  _exit(write(start->report[1], &reason, sizeof reason) == sizeof reason ? 0 : 1);
}

// 0 once the command runs, or why it does not.
static int run(struct start *start) {
  pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) run_children(start);
  close(start->report[1]);
  start->report[1] = -1;
  while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
  // It ends when the command runs, unless another thread forked meanwhile: its child has it too.
  struct pollfd end = {.fd = start->report[0], .events = POLLIN};
  int reason = 0;
  if (poll(&end, 1, EXEC_MS_MAX) <= 0) return 0;
  while (read(start->report[0], &reason, sizeof reason) < 0 && errno == EINTR) continue;
  return reason;
}

tcpx_status start_service(const char *folder) {
  struct start start = {.log = -1, .report = {-1, -1}};
  tcpx_status status = make_start(folder, &start);
  if (status == TCPX_OK) {
    int reason = run(&start);
    if (reason != 0) {
      status = fail(TCPX_ERR_NO_SERVICE,
                    "start a service: %.200s: %s; its output would be in %s/service.log "
                    "(NIXL_TCPX_SERVICE_COMMAND, run in / with the words between blanks)",
                    service_command(), strerror(reason), folder);
    }
  }
  drop_start(&start);
  return status;
}
