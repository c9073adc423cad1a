#include "tcpx_keeper.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace {
constexpr std::chrono::milliseconds PERIOD(200);
}

TcpxKeeper::TcpxKeeper(tcpx_session *watched) : session(watched), owner(getpid()) {
  // Signals of the program are for its own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread = std::thread(&TcpxKeeper::run, this);
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void TcpxKeeper::stop(TcpxKeeper *keeper) {
  if (keeper == nullptr || getpid() != keeper->owner) return;
  {
    std::lock_guard lock(keeper->mutex);
    keeper->isOver = true;
  }
  keeper->wakeUp.notify_one();
  keeper->thread.join();
  delete keeper;
}

void TcpxKeeper::keepRequest(tcpx_request *request) {
  std::lock_guard lock(mutex);
  requests.push_back(request);
}

void TcpxKeeper::keepMemory(uint32_t memory) {
  std::lock_guard lock(mutex);
  memories.push_back(memory);
}

void TcpxKeeper::run() {
  std::unique_lock lock(mutex);
  while (!wakeUp.wait_for(lock, PERIOD, [this] { return isOver; })) {
    tcpx_alive(session);
    if (!requests.empty() || !memories.empty()) {
      lock.unlock();
      freeKept();
      lock.lock();
    }
  }
}

// Without the lock while the service is asked: those who bring more must not wait for it.
void TcpxKeeper::freeKept() {
  std::vector<tcpx_request *> someRequests;
  std::vector<uint32_t> someMemories;
  {
    std::lock_guard lock(mutex);
    someRequests.swap(requests);
    someMemories.swap(memories);
  }
  std::erase_if(someRequests, [](tcpx_request *request) {
    return tcpx_release(request, 0) != TCPX_ERR_BUSY;
  });
  std::erase_if(someMemories, [this](uint32_t memory) {
    return tcpx_deregister(session, memory) != TCPX_ERR_BUSY;
  });
  std::lock_guard lock(mutex);
  requests.insert(requests.end(), someRequests.begin(), someRequests.end());
  memories.insert(memories.end(), someMemories.begin(), someMemories.end());
}
