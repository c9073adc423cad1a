// Gather and scatter: many small blocks of device memory ↔ one staging buffer, which may be device
// memory or mapped host memory. The block table lies in memory that the device can read, best its
// own. A block is `base` + offset, so a table may hold offsets into a region or, with base 0,
// addresses.

#include "completion.cuh"
#include "device-copy.cuh"

namespace tcpx {

/** 16 bytes: parts 0 and 1 block offset, 2 staging offset, 3 length. */
struct BlocksParams {
  uint64_t entries;
  uint64_t base;
  uint64_t staging;
  uint32_t count;
  /** A block is copied by this many warps, each taking partBytes of it. */
  uint32_t parts;
  uint32_t partBytes;
  uint32_t sequence;
  Tally *tally;
  Outcome *outcome;
};

static_assert(sizeof(BlocksParams) == 56, "as in src/memory/gpu-params.ts");

enum class Direction { Gather, Scatter };

template <Direction DIRECTION>
__device__ __forceinline__ Run blockRun(const BlocksParams &params, uint32_t item) {
  const uint32_t index = item / params.parts;
  const uint32_t part = item % params.parts;
  const Word entry = loadEntry(params.entries + uint64_t(index) * WORD_BYTES);
  const uint64_t block = params.base + (uint64_t(entry.part[1]) << 32 | entry.part[0]);
  const uint64_t staged = params.staging + entry.part[2];
  const bool isGather = DIRECTION == Direction::Gather;
  return cutPart(isGather ? block : staged, isGather ? staged : block, entry.part[3], part,
                 params.parts, params.partBytes);
}

template <Direction DIRECTION>
__device__ __forceinline__ void copyBlocks(const BlocksParams &params) {
  copyItems(params.count * params.parts,
            [&](uint32_t item) { return blockRun<DIRECTION>(params, item); });
  finish<Reach::System>(params.tally, params.outcome, params.sequence);
}

}  // namespace tcpx

extern "C" __global__ void __launch_bounds__(tcpx::BLOCK_THREADS, tcpx::BLOCKS_PER_PROCESSOR)
    tcpx_gather(const __grid_constant__ tcpx::BlocksParams params) {
  tcpx::copyBlocks<tcpx::Direction::Gather>(params);
}

extern "C" __global__ void __launch_bounds__(tcpx::BLOCK_THREADS, tcpx::BLOCKS_PER_PROCESSOR)
    tcpx_scatter(const __grid_constant__ tcpx::BlocksParams params) {
  tcpx::copyBlocks<tcpx::Direction::Scatter>(params);
}
