// Unpack: fragments that a NIC left in a bounce buffer go to where the message wants them.
// Up to 16 chunks in one launch, each with its own list of at most 2048 fragments in memory that
// the device can read (the pinned block of the plugin as it is). The chunk table travels in the
// kernel's parameters, so the first thing read over PCIe is the fragment lists themselves.
//
// Visibility: the host launches after the plugin has reported the receive done, so launch order
// covers lists and counts; bounce pages are read with volatile loads (device-copy.cuh).

#include "completion.cuh"
#include "device-copy.cuh"

namespace tcpx {

constexpr unsigned CHUNKS_MAX = 16;

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
  /** A fragment is copied by this many warps, each taking partBytes of it. */
  uint32_t parts;
  uint32_t partBytes;
  uint32_t sequence;
  Tally *tally;
  Outcome *outcome;
};

static_assert(sizeof(Chunk) == 32 && sizeof(UnpackParams) == 544, "as in src/memory/gpu-params.ts");

__device__ __forceinline__ unsigned findChunk(const UnpackParams &params, uint32_t index) {
  unsigned chunk = 0;
#pragma unroll
  for (unsigned other = 1; other < CHUNKS_MAX; other++) {
    if (index >= params.chunks[other].before) chunk = other;
  }
  return chunk;
}

__device__ __forceinline__ Run unpackRun(const UnpackParams &params, uint32_t item) {
  const uint32_t index = item / params.parts;
  const Chunk &chunk = params.chunks[findChunk(params, index)];
  const Word entry = loadEntry(chunk.entries + uint64_t(index - chunk.before) * WORD_BYTES);
  const uint64_t targetOffset = uint64_t(entry.part[3]) << 32 | entry.part[2];
  return cutPart(chunk.source + entry.part[0], chunk.target + targetOffset, entry.part[1],
                 item % params.parts, params.parts, params.partBytes);
}

}  // namespace tcpx

extern "C" __global__ void __launch_bounds__(tcpx::BLOCK_THREADS, tcpx::BLOCKS_PER_PROCESSOR)
    tcpx_unpack(const __grid_constant__ tcpx::UnpackParams params) {
  using namespace tcpx;
  copyItems(params.total * params.parts,
            [&](uint32_t item) { return unpackRun(params, item); });
  finish<Reach::Device>(params.tally, params.outcome, params.sequence);
}
