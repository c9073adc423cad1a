// Fault switches: TCPX_EMU_FAULT = name[@nic][:count][,…]. The count is how many messages of a
// comm pass before the fault strikes; 0 when absent.

#include <stdlib.h>
#include <string.h>

#include "emulator.h"

static const char *const NAMES[FAULT_COUNT] = {
    [FAULT_INIT] = "init",
    [FAULT_NO_CMSG] = "no-cmsg",
    [FAULT_HEADER_LANDING] = "header-landing",
    [FAULT_CMSG_TRUNCATED] = "cmsg-truncated",
    [FAULT_BYTES_MISMATCH] = "bytes-mismatch",
    [FAULT_TOO_MANY_FRAGMENTS] = "too-many-fragments",
    [FAULT_RXDM_ABSENT] = "rxdm-absent",
    [FAULT_RXDM_REFUSED] = "rxdm-refused",
    [FAULT_PEER_CLOSED] = "peer-closed",
    [FAULT_SOCKET_DEATH] = "socket-death",
    [FAULT_ACCEPT_STUCK] = "accept-stuck",
    [FAULT_HANG] = "hang",
    [FAULT_CRASH] = "crash",
    [FAULT_UNCOUNTED] = "uncounted",
    [FAULT_BAD_ENTRY] = "bad-entry",
    [FAULT_CLOSE_STUCK] = "close-stuck",
    [FAULT_CONTROL_ERROR] = "control-error",
    [FAULT_RXDM_SILENT] = "rxdm-silent",
};

struct fault_switch {
  bool is_on;
  char nic[NAME_BYTES];  // empty: every NIC
  uint64_t count;
};

static struct fault_switch switches[FAULT_COUNT];

static bool read_switch(char *word) {
  uint64_t count = 0;
  char *colon = strchr(word, ':');
  if (colon != NULL) {
    *colon = '\0';
    count = strtoull(colon + 1, NULL, 0);
  }
  char *at = strchr(word, '@');
  if (at != NULL) *at = '\0';
  for (int fault = 0; fault < FAULT_COUNT; fault++) {
    if (strcmp(word, NAMES[fault]) != 0) continue;
    struct fault_switch *chosen = &switches[fault];
    chosen->is_on = true;
    chosen->count = count;
    if (at != NULL) strncpy(chosen->nic, at + 1, NAME_BYTES - 1);
    return true;
  }
  WARN("TCPX_EMU_FAULT: no fault is called %s", word);
  return false;
}

bool faults_read(void) {
  const char *text = settings_text("TCPX_EMU_FAULT");
  if (text == NULL) return true;
  char *copy = strdup(text);
  char *rest = NULL;
  bool is_good = true;
  for (char *word = strtok_r(copy, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
    is_good = read_switch(word) && is_good;
  }
  free(copy);
  return is_good;
}

bool fault_hits(enum fault fault, const char *nic, uint64_t count) {
  const struct fault_switch *chosen = &switches[fault];
  if (!chosen->is_on || count < chosen->count) return false;
  return chosen->nic[0] == '\0' || nic == NULL || strcmp(chosen->nic, nic) == 0;
}
