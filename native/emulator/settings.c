// Settings: the plugin's own environment names, and the emulator's switches (TCPX_EMU_…).

#include <stdlib.h>
#include <string.h>

#include "emulator.h"

struct settings settings;

const char *settings_text(const char *name) {
  const char *text = getenv(name);
  return text == NULL || text[0] == '\0' ? NULL : text;
}

uint64_t settings_number(const char *name, uint64_t fallback, uint64_t low, uint64_t high) {
  const char *text = settings_text(name);
  if (text == NULL) return fallback;
  char *end = NULL;
  unsigned long long value = strtoull(text, &end, 0);
  if (*end != '\0' || text[0] == '-' || value < low || value > high) {
    INFO("%s %s invalid, restore to default %llu", name, text, (unsigned long long)fallback);
    return fallback;
  }
  INFO(": %s: %llu", name, value);
  return value;
}

// One of the words in `choices` (separated by '|'); −1 for a word that is not among them.
static int settings_choice(const char *name, const char *choices, int fallback) {
  const char *text = settings_text(name);
  if (text == NULL) return fallback;
  size_t bytes = strlen(text);
  int index = 0;
  for (const char *word = choices; word != NULL; index++) {
    const char *bar = strchr(word, '|');
    size_t length = bar == NULL ? strlen(word) : (size_t)(bar - word);
    if (length == bytes && strncmp(word, text, length) == 0) return index;
    word = bar == NULL ? NULL : bar + 1;
  }
  WARN("%s: %s is none of %s", name, text, choices);
  return -1;
}

static void read_sockets(void) {
  settings.sockets = (int)settings_number("NCCL_NSOCKS_PERTHREAD", 1, 1, SOCKETS_MAX);
  settings.threads = (int)settings_number("NCCL_SOCKET_NTHREADS", 1, 1, THREADS_MAX);
  if (settings.sockets * settings.threads > SOCKETS_MAX) {
    WARN("the total number of sockets is greater than the maximum allowed %d", SOCKETS_MAX);
    // By integer division, as the original: more than 8 threads leave no socket at all.
    settings.sockets = SOCKETS_MAX / settings.threads;
  }
}

static void read_plugin_names(void) {
  read_sockets();
  // The default of 0 is the original's: every message then stalls.
  settings.chunk_bytes =
      (uint32_t)settings_number("NCCL_DYNAMIC_CHUNK_SIZE", 0, 0, INT32_MAX - 1);
  INFO("dynamic chunk size: %u", settings.chunk_bytes);
  settings.inline_bytes = (uint32_t)settings_number("NCCL_INLINE_THRESHOLD", 0, 0, 2048);
  settings.retries = (int)settings_number("NCCL_GPUDIRECTTCPX_CONNECTION_RETRY", 3, 0, 1000);
  settings.recv_sync = settings_number("NCCL_GPUDIRECTTCPX_RECV_SYNC", 0, 0, 1) == 1;
  settings.steering_wait_us = settings_number(
      "NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS", 5000000, 1, UINT32_MAX);
  settings.warn_after_ns = settings_number("NCCL_GPUDIRECTTCPX_TIMEOUT_THRESHOLD_NS",
                                           10000000000ULL, 100000, UINT64_MAX);
  settings.warn_every_ns = settings_number("NCCL_GPUDIRECTTCPX_TIMEOUT_FREQUENCY_NS",
                                           30000000000ULL, 100000, UINT64_MAX);
}

bool settings_read(void) {
  read_plugin_names();
  settings.setup_step_us = settings_number("TCPX_EMU_SETUP_STEP_MICROS", 100000, 0, 10000000);
  settings.same_host_allowed = settings_number("TCPX_EMU_SAME_HOST", 0, 0, 1) == 1;
  settings.strict_pci = settings_number("TCPX_EMU_STRICT_PCI", 0, 0, 1) == 1;
  settings.token_leak = settings_number("TCPX_EMU_TOKEN_LEAK", 1, 0, 1) == 1;
  settings.seed = settings_number("TCPX_EMU_SEED", 1, 0, UINT64_MAX);
  settings.bounce_bytes =
      settings_number("TCPX_EMU_BOUNCE_BYTES", 64u << 20, PAGE_BYTES, 4ULL << 30);
  settings.huge_pages = settings_number("TCPX_EMU_HUGE_PAGES", 1, 0, 1) == 1;
  settings.page_run = (uint32_t)settings_number("TCPX_EMU_PAGE_RUN", 0, 1, BATCH_PAGES);
  settings.register_max_bytes =
      settings_number("TCPX_EMU_REGISTER_MAX_BYTES", UINT64_MAX, 1, UINT64_MAX);
  settings.socket_budget = (int)settings_number("TCPX_EMU_SOCKET_BUDGET", 0, 0, 4096);
  settings.state_dir = settings_text("TCPX_EMU_STATE_DIR");
  int poison = settings_choice("TCPX_EMU_POISON", "off|head|full", POISON_HEAD);
  int fragments = settings_choice("TCPX_EMU_FRAGMENTS", "page|random", FRAGMENT_PAGE);
  int memory = settings_choice("TCPX_EMU_MEMORY", "auto|host|cuda", MEMORY_AUTO);
  int device = settings_choice("TCPX_EMU_DEVICE", "host|unpack", NET_DEVICE_UNPACK);
  int bad = settings_choice("TCPX_EMU_BAD_DEVICE",
                            "no|type|version|size|null|wild|no-lists|no-bounce", DEVICE_GOOD);
  if (poison < 0 || fragments < 0 || memory < 0 || device < 0 || bad < 0) return false;
  settings.bad_device = (enum bad_device)bad;
  settings.poison = (enum poison_mode)poison;
  settings.fragments = (enum fragment_mode)fragments;
  settings.memory = (enum memory_mode)memory;
  settings.device_type = device;
  if (settings.socket_budget > 0 && settings.state_dir == NULL) {
    WARN("TCPX_EMU_SOCKET_BUDGET counts over processes: it needs TCPX_EMU_STATE_DIR");
    return false;
  }
  return true;
}
