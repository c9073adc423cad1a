// Transfers of the check program.

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "check.h"

std::vector<CheckTransfer> transfers;

namespace {

using Clock = std::chrono::steady_clock;

// write|read AGENT MEMORY TARGET BYTES [COUNT [STRIDE]]; a target sN is own memory N.
CheckTransfer listsOf(const Words &words) {
  const CheckMemory &memory = memories.at(number(words[2]));
  const bool isSelf = words[3][0] == 's';
  CheckTarget target = {words[1], 0, nullptr};
  nixl_mem_t type = DRAM_SEG;
  if (isSelf) {
    const CheckMemory &own = memories.at(number(words[3].substr(1)));
    target.addr = reinterpret_cast<uintptr_t>(own.addr);
    target.md = own.self;
    type = own.type;
  } else {
    target = targets.at(number(words[3]));
  }
  const size_t bytes = number(words[4]);
  const size_t count = words.size() > 5 ? number(words[5]) : 1;
  const size_t stride = words.size() > 6 ? number(words[6]) : bytes;
  CheckTransfer made = {words[0] == "write" ? NIXL_WRITE : NIXL_READ,
                        nixl_meta_dlist_t(memory.type), nixl_meta_dlist_t(type), words[1],
                        nullptr};
  const auto addr = reinterpret_cast<uintptr_t>(memory.addr);
  for (size_t i = 0; i < count; i++) {
    made.local.addDesc({addr + i * stride, bytes, 0, memory.local});
    made.remote.addDesc({target.addr + i * stride, bytes, 0, target.md});
  }
  return made;
}

nixl_status_t prepare(CheckTransfer &made) {
  return engine->prepXfer(made.operation, made.local, made.remote, made.agent, made.handle);
}

nixl_status_t post(CheckTransfer &made, const std::string *notif) {
  nixl_opt_b_args_t args;
  if (notif != nullptr) args.notifMsg = *notif, args.hasNotif = true;
  return engine->postXfer(made.operation, made.local, made.remote, made.agent, made.handle, &args);
}

nixl_status_t waitFor(nixlBackendReqH *handle, size_t ms) {
  const auto end = Clock::now() + std::chrono::milliseconds(ms);
  nixl_status_t status = NIXL_IN_PROG;
  while (status == NIXL_IN_PROG && Clock::now() < end) {
    for (int i = 0; i < 100 && status == NIXL_IN_PROG; i++) status = engine->checkXfer(handle);
    std::this_thread::yield();
  }
  return status;
}

// Checks without anything between them, from one thread, between two marks for who traces it.
void look(nixlBackendReqH *handle, size_t times) {
  size_t running = 0;
  syscall(SYS_getppid);
  for (size_t i = 0; i < times; i++) running += engine->checkXfer(handle) == NIXL_IN_PROG;
  syscall(SYS_getppid);
  reply(NIXL_SUCCESS, std::to_string(running));
}

// storm THREADS POSTS write … : each thread prepares a request of its own and posts it again and
// again, with a message each time.
void storm(const Words &words) {
  const size_t threads = number(words[1]), posts = number(words[2]);
  const Words request(words.begin() + 3, words.end());
  std::atomic<int> worst = NIXL_SUCCESS;
  std::vector<std::thread> running;
  for (size_t i = 0; i < threads; i++) {
    running.emplace_back([&, i] {
      CheckTransfer made = listsOf(request);
      nixl_status_t status = prepare(made);
      for (size_t at = 0; at < posts && status == NIXL_SUCCESS; at++) {
        const std::string notif = std::to_string(i) + "/" + std::to_string(at);
        status = post(made, &notif);
        if (status == NIXL_IN_PROG) status = waitFor(made.handle, 20000);
      }
      if (status == NIXL_SUCCESS) status = engine->releaseReqH(made.handle);
      if (status != NIXL_SUCCESS) worst = status;
    });
  }
  for (std::thread &thread : running) thread.join();
  reply(static_cast<nixl_status_t>(worst.load()), "over");
}

void estimate(const CheckTransfer &made) {
  std::chrono::microseconds duration(0), margin(0);
  nixl_cost_t method;
  const nixl_status_t status = engine->estimateXferCost(
      made.operation, made.local, made.remote, made.agent, made.handle, duration, margin, method);
  reply(status, std::to_string(duration.count()) + " " + std::to_string(margin.count()));
}

void onHandle(const Words &words, CheckTransfer &made) {
  const std::string &verb = words[0];
  if (verb == "post") {
    reply(post(made, words.size() > 2 ? &words[2] : nullptr), "posted");
  } else if (verb == "postempty") {
    const std::string nothing;
    reply(post(made, &nothing), "posted");
  } else if (verb == "check") {
    reply(engine->checkXfer(made.handle), "checked");
  } else if (verb == "wait") {
    reply(waitFor(made.handle, number(words[2])), "waited");
  } else if (verb == "look") {
    look(made.handle, number(words[2]));
  } else if (verb == "cost") {
    estimate(made);
  } else {
    reply(engine->releaseReqH(made.handle), "released");
  }
}

}  // namespace

bool onTransfer(const Words &words) {
  const std::string &verb = words[0];
  if ((verb == "write" || verb == "read") && words.size() > 4) {
    CheckTransfer made = listsOf(words);
    const nixl_status_t status = prepare(made);
    transfers.push_back(made);
    reply(status, std::to_string(transfers.size() - 1));
    return true;
  }
  if (verb == "storm") return storm(words), true;
  for (const char *known : {"post", "postempty", "check", "wait", "look", "cost", "release"}) {
    if (verb == known) return onHandle(words, transfers.at(number(words[1]))), true;
  }
  return false;
}
