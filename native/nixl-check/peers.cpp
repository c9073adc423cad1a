// Peers of the check program, their memory, and messages.

#include "check.h"

std::vector<CheckTarget> targets;

namespace {

// region AGENT ADDR BYTES dram|vram KEY
void loadRegion(const Words &words, const std::string &rest) {
  size_t at = 0;
  for (int i = 0; i < 3; i++) at = rest.find(' ', at) + 1;
  CheckTarget target = {words[1], number(words[2]), nullptr};
  const nixlBlobDesc desc(target.addr, number(words[3]), 0, rest.substr(at));
  const nixl_mem_t type = words[4] == "vram" ? VRAM_SEG : words[4] == "file" ? FILE_SEG : DRAM_SEG;
  const nixl_status_t status = engine->loadRemoteMD(desc, type, target.agent, target.md);
  if (status == NIXL_SUCCESS) targets.push_back(target);
  reply(status, status == NIXL_SUCCESS ? std::to_string(targets.size() - 1) : "not loaded");
}

// One call: how many, then AGENT:MESSAGE for each, long ones by their length.
void takeNotifications() {
  notif_list_t list;
  const nixl_status_t status = engine->getNotifs(list);
  std::string text = std::to_string(list.size());
  for (const auto &[agent, message] : list) {
    const bool isLong = message.size() > 100;
    text += "|" + agent + ":" + (isLong ? std::to_string(message.size()) : message);
  }
  reply(status, text);
}

}  // namespace

bool onPeer(const Words &words, const std::string &rest) {
  const std::string &verb = words[0];
  if (verb == "notifs") return takeNotifications(), true;
  if (words.size() < 2) return false;
  const std::string &agent = words[1];
  if (verb == "peer") {
    reply(engine->loadRemoteConnInfo(agent, rest), "loaded");
  } else if (verb == "region") {
    loadRegion(words, rest);
  } else if (verb == "unload") {
    reply(engine->unloadMD(targets.at(number(agent)).md), "unloaded");
  } else if (verb == "connect") {
    reply(engine->connect(agent), "connected");
  } else if (verb == "disconnect") {
    reply(engine->disconnect(agent), "disconnected");
  } else if (verb == "notify") {
    reply(engine->genNotif(agent, rest), "sent");
  } else if (verb == "notifylong") {
    reply(engine->genNotif(agent, std::string(number(words[2]), 'x')), "sent");
  } else {
    return false;
  }
  return true;
}
