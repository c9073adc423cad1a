// Memory of the check program: registered, described, filled, compared.

#include <cstdlib>
#include <memory>

#include "check.h"

std::vector<CheckMemory> memories;

namespace {

uint8_t pattern(size_t at, size_t seed) {
  return static_cast<uint8_t>((at * 2654435761u >> 13) + at + seed * 37);
}

// What an agent does at once with memory that is registered: it keeps both ends and the key.
void add(CheckMemory memory) {
  const nixlBlobDesc desc(reinterpret_cast<uintptr_t>(memory.addr), memory.bytes, 0, "");
  std::string key;
  nixl_status_t status = engine->registerMem(desc, memory.type, memory.local);
  if (status == NIXL_SUCCESS) status = engine->loadLocalMD(memory.local, memory.self);
  if (status == NIXL_SUCCESS) status = engine->getPublicData(memory.local, key);
  if (status != NIXL_SUCCESS) return reply(status, "not registered");
  memories.push_back(memory);
  reply(status, std::to_string(memories.size() - 1) + " " + std::to_string(desc.addr) + " " + key);
}

// memory BYTES dram|vram|file
void allocate(const Words &words) {
  const size_t bytes = number(words[1]);
  if (words[2] == "vram") return add({VRAM_SEG, deviceAlloc(bytes), bytes, nullptr, nullptr});
  auto *addr = static_cast<uint8_t *>(std::malloc(bytes));
  add({words[2] == "file" ? FILE_SEG : DRAM_SEG, addr, bytes, nullptr, nullptr});
}

void fill(const CheckMemory &memory, size_t seed) {
  std::vector<uint8_t> bytes(memory.bytes);
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = pattern(i, seed);
  if (memory.type == VRAM_SEG) deviceCopy(memory.addr, bytes.data(), bytes.size(), true);
  else std::copy(bytes.begin(), bytes.end(), memory.addr);
}

void compare(const CheckMemory &memory, size_t seed) {
  std::vector<uint8_t> bytes(memory.bytes);
  if (memory.type == VRAM_SEG) deviceCopy(memory.addr, bytes.data(), bytes.size(), false);
  else std::copy(memory.addr, memory.addr + memory.bytes, bytes.begin());
  size_t at = 0;
  while (at < bytes.size() && bytes[at] == pattern(at, seed)) at++;
  const std::string verdict = at == bytes.size() ? "same " : "differs ";
  reply(NIXL_SUCCESS, verdict + std::to_string(at));
}

// How it is reached, and what the engine says of its rails; - for memory that is not registered.
void query(const CheckMemory &memory) {
  std::vector<nixl_query_resp_t> answers;
  nixl_reg_dlist_t ranges(memory.type);
  ranges.addDesc({reinterpret_cast<uintptr_t>(memory.addr), memory.bytes, 0, ""});
  ranges.addDesc({4096, 1, 0, ""});
  const nixl_status_t status = engine->queryMem(ranges, answers);
  std::string text;
  for (const nixl_query_resp_t &answer : answers) {
    text += answer ? answer->at("way") + " " + answer->at("telemetry") : " -";
  }
  reply(status, text);
}

// Both ends of it, in the order of an agent.
void remove(CheckMemory &memory) {
  const nixl_status_t unloaded = engine->unloadMD(memory.self);
  const nixl_status_t status = engine->deregisterMem(memory.local);
  reply(unloaded != NIXL_SUCCESS ? unloaded : status, "deregistered");
}

}  // namespace

bool onMemory(const Words &words) {
  const std::string &verb = words[0];
  if (verb == "memory" && words.size() == 3) return allocate(words), true;
  if (words.size() < 2) return false;
  const bool isKnown = verb == "again" || verb == "fill" || verb == "same" ||
                       verb == "query" || verb == "deregister";
  if (!isKnown) return false;
  CheckMemory &memory = memories.at(number(words[1]));
  if (verb == "again") {
    add(CheckMemory(memory));
  } else if (verb == "fill") {
    fill(memory, number(words[2]));
    reply(NIXL_SUCCESS, "filled");
  } else if (verb == "query") {
    query(memory);
  } else if (verb == "same") {
    compare(memory, number(words[2]));
  } else {
    remove(memory);
  }
  return true;
}
