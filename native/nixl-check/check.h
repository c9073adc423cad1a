// A program that does with the plugin what an agent of NIXL does, as it is told on its standard
// input, a line at a time. Each line is answered by one: a status of NIXL, then facts.
#ifndef NIXL_CHECK_H
#define NIXL_CHECK_H

#include <cstdint>
#include <string>
#include <vector>

#include "backend/backend_plugin.h"

using Words = std::vector<std::string>;

struct CheckMemory {
  nixl_mem_t type;
  uint8_t *addr;
  size_t bytes;
  nixlBackendMD *local;
  nixlBackendMD *self;
};

struct CheckTarget {
  std::string agent;
  uintptr_t addr;
  nixlBackendMD *md;
};

struct CheckTransfer {
  nixl_xfer_op_t operation;
  nixl_meta_dlist_t local, remote;
  std::string agent;
  nixlBackendReqH *handle;
};

extern nixlBackendPlugin *plugin;
extern nixlBackendEngine *engine;
extern std::vector<CheckMemory> memories;
extern std::vector<CheckTarget> targets;
extern std::vector<CheckTransfer> transfers;

void reply(nixl_status_t status, const std::string &text);
size_t number(const std::string &word);

// Each is true where the words were of its file.
bool onMemory(const Words &words);
bool onTransfer(const Words &words);
bool onPeer(const Words &words, const std::string &rest);

uint8_t *deviceAlloc(size_t bytes);
void deviceCopy(uint8_t *device, uint8_t *host, size_t bytes, bool isIn);

#endif
