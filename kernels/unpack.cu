// Unpack: fragments that a NIC left in a bounce buffer go to where the message wants them.
// Up to 16 chunks in one launch, each with its own list of at most 2048 fragments in memory that
// the device can read (the pinned block of the plugin as it is). The chunk table travels in the
// kernel's parameters, so the first thing read over PCIe is the fragment lists themselves; a launch
// of one chunk with few fragments carries these, packed, in its parameters and reads nothing over
// PCIe.
//
// Visibility: the host launches after the plugin has reported the receive done, so launch order
// covers lists and counts; bounce pages are read with volatile loads (device-copy.cuh).

#include "completion.cuh"
#include "device-copy.cuh"
#include "launch-order.cuh"

namespace tcpx {

constexpr unsigned CHUNKS_MAX = 16;
/** More than the 128 pages of a 512 KiB chunk; every byte of it is copied at each launch. */
constexpr unsigned FEW_MAX = 144;
/** A packed entry: source offset, then target offset and, in its low bits, length. */
constexpr unsigned FEW_LENGTH_BITS = 13;

struct Chunk {
  /** The plugin's entries, 16 bytes: parts 0 source offset, 1 length, 2 and 3 target offset. */
  uint64_t entries;
  uint64_t source;
  uint64_t target;
  /** Fragments of all chunks before it; all ones in unused rows, which no index reaches. */
  uint32_t before;
  uint32_t reserved;
};

struct UnpackParams {
  Chunk chunks[CHUNKS_MAX];
  /** Fragments of all chunks. */
  uint32_t total;
  /** Neighbouring fragments that one block copies. */
  uint32_t perBlock;
  /** A fragment is copied by this many warps, each taking partBytes of it. */
  uint32_t parts;
  uint32_t partBytes;
  uint32_t sequence;
  uint32_t reserved;
  Tally *tally;
  Outcome *outcome;
};

struct UnpackFewParams {
  uint2 entries[FEW_MAX];
  uint64_t source;
  uint64_t target;
  uint32_t total;
  uint32_t perBlock;
  uint32_t parts;
  uint32_t partBytes;
  uint32_t sequence;
  uint32_t reserved;
  Tally *tally;
  Outcome *outcome;
};

static_assert(sizeof(Chunk) == 32 && sizeof(UnpackParams) == 552, "as in src/memory/gpu-params.ts");
static_assert(sizeof(UnpackFewParams) == 1208, "as in src/memory/gpu-params.ts");

__device__ __forceinline__ const Chunk &findChunk(const UnpackParams &params, uint32_t index) {
  unsigned chunk = 0;
#pragma unroll
  for (unsigned other = 1; other < CHUNKS_MAX; other++) {
    if (index >= params.chunks[other].before) chunk = other;
  }
  return params.chunks[chunk];
}

__device__ __forceinline__ Run fragmentRun(const Chunk &chunk, const Word &entry) {
  const uint64_t targetOffset = uint64_t(entry.part[3]) << 32 | entry.part[2];
  return {chunk.source + entry.part[0], chunk.target + targetOffset, entry.part[1]};
}

/** Copies part after part of `count` fragments with all warps of the block. */
template <typename Params, typename FragmentOf>
__device__ __forceinline__ void copyFragments(const Params &params, uint32_t count,
                                              FragmentOf fragmentOf) {
  const unsigned lane = threadIdx.x % WARP_LANES;
  for (uint32_t item = threadIdx.x / WARP_LANES; item < count * params.parts;
       item += BLOCK_THREADS / WARP_LANES) {
    const Run whole = fragmentOf(item / params.parts);
    const Run part = cutPart(whole.source, whole.target, whole.bytes, item % params.parts,
                             params.parts, params.partBytes);
    if (part.bytes > 0) copyRun(part.target, part.source, part.bytes, lane);
  }
}

__device__ __forceinline__ Run packedRun(const UnpackFewParams &params, const uint2 &entry) {
  const uint32_t length = entry.y & ((1u << FEW_LENGTH_BITS) - 1);
  return {params.source + entry.x, params.target + (entry.y >> FEW_LENGTH_BITS), length};
}

}  // namespace tcpx

// A block reads its stretch of the lists in one go: neighbouring threads, neighbouring entries, so
// that PCIe carries few wide requests, and their latency passes while an earlier launch still runs.
extern "C" __global__ void __launch_bounds__(tcpx::BLOCK_THREADS, tcpx::BLOCKS_PER_PROCESSOR)
    tcpx_unpack(const __grid_constant__ tcpx::UnpackParams params) {
  using namespace tcpx;
  __shared__ Run fragments[BLOCK_THREADS];
  letNextLaunchBegin();
  const uint32_t begin = blockIdx.x * params.perBlock;
  const uint32_t end = min(params.total, begin + params.perBlock);
  for (uint32_t first = begin; first < end; first += BLOCK_THREADS) {
    const uint32_t count = min(BLOCK_THREADS, end - first);
    if (threadIdx.x < count) {
      const uint32_t index = first + threadIdx.x;
      const Chunk &chunk = findChunk(params, index);
      const uint64_t entry = chunk.entries + uint64_t(index - chunk.before) * WORD_BYTES;
      fragments[threadIdx.x] = fragmentRun(chunk, loadEntry(entry));
    }
    awaitEarlierWork();
    __syncthreads();
    copyFragments(params, count, [&](uint32_t index) { return fragments[index]; });
    __syncthreads();
  }
  awaitEarlierWork();
  finish<Reach::Device>(params.tally, params.outcome, params.sequence);
}

extern "C" __global__ void __launch_bounds__(tcpx::BLOCK_THREADS, tcpx::BLOCKS_PER_PROCESSOR)
    tcpx_unpack_few(const __grid_constant__ tcpx::UnpackFewParams params) {
  using namespace tcpx;
  letNextLaunchBegin();
  awaitEarlierWork();
  const uint32_t begin = blockIdx.x * params.perBlock;
  const uint32_t end = min(params.total, begin + params.perBlock);
  if (begin < end) {
    copyFragments(params, end - begin, [&](uint32_t index) {
      return packedRun(params, params.entries[begin + index]);
    });
  }
  finish<Reach::Device>(params.tally, params.outcome, params.sequence);
}
