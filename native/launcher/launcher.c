// bin/tcpx of the bundle: runs the node that lies beside it with the app, wherever the bundle lies
// and whatever PATH says. Needs libc alone, no shell.

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Of the last part of a path.
static void cut(char *path) {
  char *slash = strrchr(path, '/');
  if (slash != NULL) *slash = '\0';
}

// A host without a C++ run time gets the bundle's; one that has it keeps its own, because what is
// loaded into the process later was built for that.
static void offer_runtime(const char *root) {
  if (dlopen("libstdc++.so.6", RTLD_LAZY) != NULL && dlopen("libgcc_s.so.1", RTLD_LAZY) != NULL) {
    return;
  }
  const char *before = getenv("LD_LIBRARY_PATH");
  char paths[2 * PATH_MAX];
  bool has_some = before != NULL && before[0] != '\0';
  snprintf(paths, sizeof paths, "%s/lib/runtime%s%s", root, has_some ? ":" : "",
           has_some ? before : "");
  setenv("LD_LIBRARY_PATH", paths, 1);
}

int main(int count, char **words) {
  char root[PATH_MAX], node[PATH_MAX + 16], app[PATH_MAX + 32];
  ssize_t bytes = readlink("/proc/self/exe", root, sizeof root - 1);
  if (bytes > 0) {
    root[bytes] = '\0';
  } else if (realpath(words[0], root) == NULL) {
    fprintf(stderr, "tcpx: where is this program? /proc is not mounted\n");
    return 3;
  }
  cut(root);
  cut(root);
  snprintf(node, sizeof node, "%s/bin/node", root);
  snprintf(app, sizeof app, "%s/app/bin/tcpx.js", root);
  offer_runtime(root);
  char **all = calloc((size_t)count + 2, sizeof *all);
  if (all == NULL) return 3;
  all[0] = node;
  all[1] = app;
  for (int i = 1; i < count; i++) all[i + 1] = words[i];
  execv(node, all);
  fprintf(stderr, "tcpx: %s: %s\n", node, strerror(errno));
  return 3;
}
