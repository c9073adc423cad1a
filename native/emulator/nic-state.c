// What processes share about a NIC, as small text files in TCPX_EMU_STATE_DIR, each changed under
// a file lock: NAME.stats holds counters in the form of `ethtool -S`, NAME.sockets one line
// `pid count` for each process that holds data sockets.

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "emulator.h"

enum { TEXT_BYTES = 4096 };

static const char STATS_FORMAT[] =
    "NIC statistics:\n"
    "     rx_packets: %" PRIu64 "\n     rx_bytes: %" PRIu64 "\n"
    "     tx_packets: %" PRIu64 "\n     tx_bytes: %" PRIu64 "\n"
    "     rx_devmem_pkts: %" PRIu64 "\n     rx_devmem_bytes: %" PRIu64 "\n";
static const char STATS_SCAN[] =
    "NIC statistics: rx_packets: %" SCNu64 " rx_bytes: %" SCNu64 " tx_packets: %" SCNu64
    " tx_bytes: %" SCNu64 " rx_devmem_pkts: %" SCNu64 " rx_devmem_bytes: %" SCNu64;

// Opens and locks; −1 without a state folder or when it cannot be written.
static int open_locked(const struct nic *nic, const char *suffix, char *text) {
  if (settings.state_dir == NULL) return -1;
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s.%s", settings.state_dir, nic->name, suffix);
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    WARN("cannot open %s: %s", path, strerror(errno));
    return -1;
  }
  flock(fd, LOCK_EX);
  ssize_t length = pread(fd, text, TEXT_BYTES - 1, 0);
  text[length > 0 ? length : 0] = '\0';
  return fd;
}

static void close_written(int fd, const char *text) {
  size_t length = strlen(text);
  if (pwrite(fd, text, length, 0) != (ssize_t)length || ftruncate(fd, (off_t)length) != 0) {
    WARN("cannot write NIC state: %s", strerror(errno));
  }
  close(fd);  // also unlocks
}

void nic_count_traffic(const struct nic *nic, const struct traffic *added) {
  char text[TEXT_BYTES];
  int fd = open_locked(nic, "stats", text);
  if (fd < 0) return;
  struct traffic sum = {0};
  if (sscanf(text, STATS_SCAN, &sum.rx_packets, &sum.rx_bytes, &sum.tx_packets, &sum.tx_bytes,
             &sum.devmem_packets, &sum.devmem_bytes) != 6) {
    memset(&sum, 0, sizeof sum);
  }
  snprintf(text, sizeof text, STATS_FORMAT, sum.rx_packets + added->rx_packets,
           sum.rx_bytes + added->rx_bytes, sum.tx_packets + added->tx_packets,
           sum.tx_bytes + added->tx_bytes, sum.devmem_packets + added->devmem_packets,
           sum.devmem_bytes + added->devmem_bytes);
  close_written(fd, text);
}

// Adds `change` to this process' line, drops lines of dead processes; the sum over all lines.
static int change_sockets(char *text, int change, char *holders, size_t holders_bytes) {
  char lines[TEXT_BYTES] = "";
  size_t used = 0;
  int sum = 0;
  int own = change;
  char *rest = NULL;
  for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
    int pid = 0;
    int count = 0;
    if (sscanf(line, "%d %d", &pid, &count) != 2) continue;
    if (pid == getpid()) own += count;
    else if (kill(pid, 0) == 0 || errno == EPERM) {
      used += (size_t)snprintf(lines + used, sizeof lines - used, "%d %d\n", pid, count);
      sum += count;
    }
  }
  if (holders != NULL) {
    snprintf(holders, holders_bytes, "%s%d %d\n", lines, getpid(), own - change);
  }
  if (own > 0) snprintf(lines + used, sizeof lines - used, "%d %d\n", getpid(), own);
  strcpy(text, lines);
  return sum + (own > 0 ? own : 0);
}

// One data socket more; false when the NIC's budget over all processes is used up.
bool nic_take_socket(const struct nic *nic, char *holders, size_t holders_bytes) {
  if (settings.socket_budget == 0) return true;
  char text[TEXT_BYTES];
  int fd = open_locked(nic, "sockets", text);
  if (fd < 0) return false;
  char before[TEXT_BYTES];
  strcpy(before, text);
  bool is_taken = change_sockets(text, 1, holders, holders_bytes) <= settings.socket_budget;
  close_written(fd, is_taken ? text : before);
  return is_taken;
}

void nic_return_sockets(const struct nic *nic, int count) {
  if (settings.socket_budget == 0 || count == 0) return;
  char text[TEXT_BYTES];
  int fd = open_locked(nic, "sockets", text);
  if (fd < 0) return;
  change_sockets(text, -count, NULL, 0);
  close_written(fd, text);
}
