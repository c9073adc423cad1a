#include "tcpx_peer.h"

#include <algorithm>
#include <cmath>

namespace {
constexpr size_t SMALL_BYTES = 64 * 1024;
constexpr size_t LARGE_BYTES = 1024 * 1024;
// Of the newest figure.
constexpr double WEIGHT = 0.125;
}  // namespace

void TcpxCost::observe(size_t bytes, std::chrono::nanoseconds took) {
  const double tookUs = static_cast<double>(took.count()) / 1000;
  if (tookUs <= 0) return;
  std::lock_guard lock(mutex);
  const double expectedUs = fixedUs + static_cast<double>(bytes) / bytesPerUs;
  const double miss = std::min(1.0, std::abs(expectedUs - tookUs) / tookUs);
  missShare += (miss - missShare) * WEIGHT;
  if (bytes <= SMALL_BYTES) {
    fixedUs += (tookUs - fixedUs) * WEIGHT;
  } else if (bytes >= LARGE_BYTES) {
    const double movingUs = std::max(tookUs - fixedUs, tookUs / 2);
    bytesPerUs += (static_cast<double>(bytes) / movingUs - bytesPerUs) * WEIGHT;
  }
}

TcpxCost::Estimate TcpxCost::estimate(size_t bytes) const {
  std::lock_guard lock(mutex);
  const double us = fixedUs + static_cast<double>(bytes) / bytesPerUs;
  return {std::chrono::microseconds(std::llround(us)),
          std::chrono::microseconds(std::llround(us * missShare))};
}
