// A peer as the backend knows it, and how long transfers to it take.
#ifndef NIXL_TCPX_PEER_H
#define NIXL_TCPX_PEER_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

// A fixed part, learnt from small transfers, and a rate, learnt from large ones. Before any was seen
// the figures are a guess at a plain network, and the margin is as large as the estimate.
class TcpxCost {
  mutable std::mutex mutex;
  double fixedUs = 50;
  double bytesPerUs = 1000;
  double missShare = 1;

 public:
  struct Estimate {
    std::chrono::microseconds duration, margin;
  };

  void observe(size_t bytes, std::chrono::nanoseconds took);
  Estimate estimate(size_t bytes) const;
};

struct TcpxPeer {
  const uint32_t number;
  TcpxCost cost;

  explicit TcpxPeer(uint32_t itsNumber) : number(itsNumber) {}
};

#endif
