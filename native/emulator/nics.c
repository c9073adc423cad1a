// Which NICs there are. Either real interfaces, or those of TCPX_EMU_NICS:
//   name,addr=127.0.0.11[,speed=200000][,pci=/sys/devices/…][;name,…]
// The plugin's interface list (prefixes; = exact, ^ all but) chooses among them; the order of the
// result is that of the names.

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator.h"

struct nic nics[NICS_MAX];
int nic_count;
struct sockaddr_in control_address;
bool has_control_address;

enum { CANDIDATES_MAX = 64, SPEED_UNKNOWN_MBPS = 10000 };
static struct nic candidates[CANDIDATES_MAX];
static int candidate_count;

static bool read_field(struct nic *nic, const char *field) {
  if (strncmp(field, "addr=", 5) == 0) {
    nic->address.sin_family = AF_INET;
    return inet_pton(AF_INET, field + 5, &nic->address.sin_addr) == 1;
  }
  if (strncmp(field, "speed=", 6) == 0) {
    nic->speed_mbps = atoi(field + 6);
    return nic->speed_mbps > 0;
  }
  if (strncmp(field, "pci=", 4) == 0) {
    nic->pci_path = strdup(field + 4);
    return nic->pci_path != NULL;
  }
  return false;
}

static bool read_emulated_nic(char *text) {
  if (candidate_count == CANDIDATES_MAX) return false;
  struct nic *nic = &candidates[candidate_count];
  char *rest = NULL;
  char *name = strtok_r(text, ",", &rest);
  if (name == NULL || strlen(name) >= NAME_BYTES) return false;
  strcpy(nic->name, name);
  nic->speed_mbps = SPEED_UNKNOWN_MBPS;
  for (char *field = strtok_r(NULL, ",", &rest); field != NULL;
       field = strtok_r(NULL, ",", &rest)) {
    if (!read_field(nic, field)) return false;
  }
  candidate_count++;
  return nic->address.sin_family == AF_INET;
}

static bool find_emulated(const char *text) {
  char *copy = strdup(text);
  char *rest = NULL;
  bool is_good = true;
  for (char *nic = strtok_r(copy, ";", &rest); nic != NULL; nic = strtok_r(NULL, ";", &rest)) {
    if (read_emulated_nic(nic)) continue;
    WARN("TCPX_EMU_NICS: cannot read %s", text);
    is_good = false;
    break;
  }
  free(copy);
  return is_good;
}

static void read_sysfs(struct nic *nic) {
  char path[96];
  char real[PATH_MAX];
  snprintf(path, sizeof path, "/sys/class/net/%s/device", nic->name);
  nic->pci_path = realpath(path, real) == NULL ? NULL : strdup(real);
  snprintf(path, sizeof path, "/sys/class/net/%s/speed", nic->name);
  FILE *file = fopen(path, "r");
  nic->speed_mbps = 0;
  if (file != NULL) {
    if (fscanf(file, "%d", &nic->speed_mbps) != 1) nic->speed_mbps = 0;
    fclose(file);
  }
  if (nic->speed_mbps > 0) return;
  INFO("Could not get speed from %s. Defaulting to 10 Gbps", path);
  nic->speed_mbps = SPEED_UNKNOWN_MBPS;
}

static bool find_real(void) {
  struct ifaddrs *list = NULL;
  if (getifaddrs(&list) != 0) return false;
  for (struct ifaddrs *entry = list; entry != NULL; entry = entry->ifa_next) {
    if (entry->ifa_addr == NULL || entry->ifa_addr->sa_family != AF_INET) continue;
    if ((entry->ifa_flags & IFF_UP) == 0 || candidate_count == CANDIDATES_MAX) continue;
    bool is_known = false;
    for (int i = 0; i < candidate_count; i++) {
      is_known |= strcmp(candidates[i].name, entry->ifa_name) == 0;
    }
    if (is_known) continue;  // the first address of an interface is the one that counts
    struct nic *nic = &candidates[candidate_count++];
    snprintf(nic->name, NAME_BYTES, "%s", entry->ifa_name);
    memcpy(&nic->address, entry->ifa_addr, sizeof nic->address);
    nic->address.sin_port = 0;
    read_sysfs(nic);
  }
  freeifaddrs(list);
  return true;
}

static bool matches_list(const char *name, const char *list) {
  bool is_negated = list[0] == '^';
  if (is_negated) list++;
  bool is_exact = list[0] == '=';
  if (is_exact) list++;
  char *copy = strdup(list);
  char *rest = NULL;
  bool is_listed = false;
  for (char *word = strtok_r(copy, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
    is_listed |= is_exact ? strcmp(name, word) == 0 : strncmp(name, word, strlen(word)) == 0;
  }
  free(copy);
  return is_listed != is_negated;
}

static void choose(const char *list) {
  for (int i = 0; i < candidate_count && nic_count < NICS_MAX; i++) {
    if (matches_list(candidates[i].name, list)) nics[nic_count++] = candidates[i];
  }
}

static int compare_names(const void *left, const void *right) {
  return strcmp(((const struct nic *)left)->name, ((const struct nic *)right)->name);
}

static void find_control(void) {
  const char *list = settings_text("NCCL_GPUDIRECTTCPX_CTRL_DEV");
  if (list == NULL) return;
  for (int i = 0; i < candidate_count; i++) {
    if (!matches_list(candidates[i].name, list)) continue;
    control_address = candidates[i].address;
    has_control_address = true;
    return;
  }
  WARN("no ctrl interface found");
}

bool nics_find(void) {
  const char *emulated = settings_text("TCPX_EMU_NICS");
  if (emulated != NULL ? !find_emulated(emulated) : !find_real()) return false;
  const char *list = settings_text("NCCL_GPUDIRECTTCPX_SOCKET_IFNAME");
  if (list != NULL) choose(list);
  else if (emulated != NULL) choose("^-");
  else {
    choose("^docker,lo");
    if (nic_count == 0) choose("docker");
    if (nic_count == 0) choose("lo");
  }
  find_control();
  if (nic_count == 0) {
    WARN("no interface found");
    return false;
  }
  qsort(nics, (size_t)nic_count, sizeof nics[0], compare_names);
  for (int i = 0; i < nic_count; i++) {
    nics[i].index = i;
    const char *path = nics[i].pci_path;
    INFO("set up %d, %s, pci_path %s", i, nics[i].name, path == NULL ? "(null)" : path);
  }
  return true;
}

bool is_local_address(const struct sockaddr_in *address) {
  if ((ntohl(address->sin_addr.s_addr) >> 24) == 127) return true;
  struct ifaddrs *list = NULL;
  bool is_local = false;
  if (getifaddrs(&list) != 0) return false;
  for (struct ifaddrs *entry = list; entry != NULL; entry = entry->ifa_next) {
    if (entry->ifa_addr == NULL || entry->ifa_addr->sa_family != AF_INET) continue;
    const struct sockaddr_in *own = (const struct sockaddr_in *)(const void *)entry->ifa_addr;
    is_local |= own->sin_addr.s_addr == address->sin_addr.s_addr;
  }
  freeifaddrs(list);
  return is_local;
}

// TCPX_EMU_GPU_NICS = 0=eth1,1=eth1,2=eth2: GPUs behind each NIC. Without it all pairs work.
bool gpu_is_bound(int gpu, const char *nic) {
  const char *text = settings_text("TCPX_EMU_GPU_NICS");
  if (text == NULL) return true;
  char pair[NAME_BYTES + 16];
  int length = snprintf(pair, sizeof pair, "%d=%s", gpu, nic);
  for (const char *entry = text; entry != NULL;) {
    if (strncmp(entry, pair, (size_t)length) == 0 &&
        (entry[length] == '\0' || entry[length] == ',')) {
      return true;
    }
    const char *comma = strchr(entry, ',');
    entry = comma == NULL ? NULL : comma + 1;
  }
  return false;
}
