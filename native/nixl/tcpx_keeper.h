// A thread that sleeps. Five times a second it asks whether the service still lives, so that a check
// of a transfer can be the load of a word; and it frees what could not be freed at once because a
// transfer was still being aborted.
#ifndef NIXL_TCPX_KEEPER_H
#define NIXL_TCPX_KEEPER_H

#include <sys/types.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "tcpx_p2p.h"

class TcpxKeeper {
  tcpx_session *const session;
  const pid_t owner;
  std::mutex mutex;
  std::condition_variable wakeUp;
  bool isOver = false;
  std::vector<tcpx_request *> requests;
  std::vector<uint32_t> memories;
  std::thread thread;

  explicit TcpxKeeper(tcpx_session *watched);
  ~TcpxKeeper() = default;
  void run();
  void freeKept();

 public:
  static TcpxKeeper *start(tcpx_session *watched) { return new TcpxKeeper(watched); }
  // Ends the thread. In a forked child, which has no such thread, it is left alone.
  static void stop(TcpxKeeper *keeper);

  void keepRequest(tcpx_request *request);
  void keepMemory(uint32_t memory);
};

#endif
