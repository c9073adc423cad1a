// One warp copies one run of bytes, any alignment, touching no byte outside the run.
//
// Loads are volatile: a NIC (or the CPU, in mapped memory) rewrites the source between launches,
// and an L1 line must never stand in for it. Stores are 16 bytes wide on 16-byte boundaries of the
// target; when the source sits differently, neighbouring lanes exchange words by shuffle and the
// bytes are shifted into place, so that every alignment runs at nearly the same speed.
#pragma once

#include <cstdint>

namespace tcpx {

constexpr unsigned WARP_LANES = 32;
constexpr unsigned FULL_MASK = 0xffffffffu;
constexpr unsigned WORD_BYTES = 16;
/**
 * 16-byte words that each lane keeps in flight: 4 × 32 lanes × 16 bytes = 2 KiB per warp and round.
 * More would cost registers, hence resident warps; 32 warps × 2 KiB per multiprocessor hold all of
 * 8 MiB in flight at once on a GPU with 132 of them.
 */
constexpr int WORDS_IN_FLIGHT = 4;
constexpr unsigned BLOCK_THREADS = 256;
constexpr unsigned BLOCKS_PER_PROCESSOR = 4;

struct Word {
  uint32_t part[4];
};

__device__ __forceinline__ Word loadWord(uint64_t addr) {
  Word word;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(word.part[0]), "=r"(word.part[1]), "=r"(word.part[2]), "=r"(word.part[3])
               : "l"(addr)
               : "memory");
  return word;
}

// For tables that the host wrote before the launch: launch order makes them visible.
__device__ __forceinline__ Word loadEntry(uint64_t addr) {
  Word word;
  asm("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(word.part[0]), "=r"(word.part[1]), "=r"(word.part[2]), "=r"(word.part[3])
      : "l"(addr));
  return word;
}

__device__ __forceinline__ uint32_t loadByte(uint64_t addr) {
  uint32_t value;
  asm volatile("ld.volatile.global.u8 %0, [%1];" : "=r"(value) : "l"(addr) : "memory");
  return value;
}

__device__ __forceinline__ void storeWord(uint64_t addr, const Word &word) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(addr), "r"(word.part[0]),
               "r"(word.part[1]), "r"(word.part[2]), "r"(word.part[3])
               : "memory");
}

__device__ __forceinline__ void storeByte(uint64_t addr, uint32_t value) {
  asm volatile("st.global.u8 [%0], %1;" ::"l"(addr), "r"(value) : "memory");
}

// The 16 bytes that start `skew` bytes into the pair (low, high), skew being 0 to 15.
__device__ __forceinline__ Word shiftPair(const Word &low, const Word &high, unsigned skew) {
  uint32_t parts[8];
#pragma unroll
  for (int index = 0; index < 4; index++) {
    parts[index] = low.part[index];
    parts[index + 4] = high.part[index];
  }
  const bool skipsTwo = (skew & 8) != 0;
  const bool skipsOne = (skew & 4) != 0;
#pragma unroll
  for (int index = 0; index < 6; index++) parts[index] = skipsTwo ? parts[index + 2] : parts[index];
#pragma unroll
  for (int index = 0; index < 5; index++) parts[index] = skipsOne ? parts[index + 1] : parts[index];
  Word result;
#pragma unroll
  for (int index = 0; index < 4; index++) {
    result.part[index] = __funnelshift_r(parts[index], parts[index + 1], (skew & 3) * 8);
  }
  return result;
}

// The right-hand neighbour's word; lane 31's neighbour is lane 0 of the next turn.
__device__ __forceinline__ Word neighbourWord(const Word &own, const Word &nextTurn,
                                              unsigned lane) {
  Word next;
#pragma unroll
  for (int index = 0; index < 4; index++) {
    const uint32_t offered = lane == 0 ? nextTurn.part[index] : own.part[index];
    next.part[index] = __shfl_sync(FULL_MASK, offered, (lane + 1) & (WARP_LANES - 1));
  }
  return next;
}

// `target` is on a 16-byte boundary, `source` is the boundary below the byte that goes there, skew
// bytes before it. Of the source's words the first `readable` lie inside the run.
// One code path for all skews, with the shift chosen at run time, is the fastest: it is small, so
// that a launch of a few microseconds does not wait for instructions.
__device__ __forceinline__ void copyWords(uint64_t target, uint64_t source, uint32_t words,
                                          uint32_t readable, unsigned skew, unsigned lane) {
  for (uint32_t base = 0; base < words; base += WORDS_IN_FLIGHT * WARP_LANES) {
    Word held[WORDS_IN_FLIGHT + 1] = {};
#pragma unroll
    for (int turn = 0; turn < WORDS_IN_FLIGHT; turn++) {
      const uint32_t index = base + turn * WARP_LANES + lane;
      if (index < readable) held[turn] = loadWord(source + uint64_t(index) * WORD_BYTES);
    }
    const uint32_t after = base + WORDS_IN_FLIGHT * WARP_LANES;
    if (lane == 0 && after < readable) {
      held[WORDS_IN_FLIGHT] = loadWord(source + uint64_t(after) * WORD_BYTES);
    }
#pragma unroll
    for (int turn = 0; turn < WORDS_IN_FLIGHT; turn++) {
      const uint32_t index = base + turn * WARP_LANES + lane;
      // All lanes have the same skew, so all of them take part in the exchange or none.
      if (skew != 0) {
        const Word next = neighbourWord(held[turn], held[turn + 1], lane);
        held[turn] = shiftPair(held[turn], next, skew);
      }
      if (index < words) storeWord(target + uint64_t(index) * WORD_BYTES, held[turn]);
    }
  }
}

__device__ __forceinline__ void copyBytes(uint64_t target, uint64_t source, uint32_t bytes,
                                          unsigned lane) {
  for (uint32_t index = lane; index < bytes; index += WARP_LANES) {
    storeByte(target + index, loadByte(source + index));
  }
}

/** All 32 lanes call this together with the same arguments but `lane`. */
__device__ __forceinline__ void copyRun(uint64_t target, uint64_t source, uint32_t bytes,
                                        unsigned lane) {
  uint32_t head = unsigned(-target) & (WORD_BYTES - 1);
  const unsigned skew = unsigned(source + head) & (WORD_BYTES - 1);
  // A shifted body starts one boundary below its first byte: keep that boundary inside the run.
  if (skew > head) head += WORD_BYTES;
  if (bytes < head + 2 * WORD_BYTES) {
    copyBytes(target, source, bytes, lane);
    return;
  }
  // Whole source words between that boundary and the end of the run.
  const uint32_t readable = (bytes - head + skew) / WORD_BYTES;
  const uint32_t words = skew == 0 ? readable : readable - 1;
  // Head and tail are under 32 bytes each, one per lane; loaded first so that they share the
  // body's wait for memory instead of adding their own.
  const uint32_t tail = head + words * WORD_BYTES + lane;
  const uint32_t headByte = lane < head ? loadByte(source + lane) : 0;
  const uint32_t tailByte = tail < bytes ? loadByte(source + tail) : 0;
  copyWords(target + head, source + head - skew, words, readable, skew, lane);
  if (lane < head) storeByte(target + lane, headByte);
  if (tail < bytes) storeByte(target + tail, tailByte);
}

/** What one warp copies: each lane holds its own, `copyRuns` takes them one after the other. */
struct Run {
  uint64_t source;
  uint64_t target;
  uint32_t bytes;
};

__device__ __forceinline__ void copyRuns(const Run &own, unsigned count, unsigned lane) {
  for (unsigned turn = 0; turn < count; turn++) {
    const uint64_t source = __shfl_sync(FULL_MASK, own.source, turn);
    const uint64_t target = __shfl_sync(FULL_MASK, own.target, turn);
    const uint32_t bytes = __shfl_sync(FULL_MASK, own.bytes, turn);
    if (bytes > 0) copyRun(target, source, bytes, lane);
  }
}

/** Part `part` of a fragment of `bytes`; the last part takes the rest, whatever it is. */
__device__ __forceinline__ Run cutPart(uint64_t source, uint64_t target, uint32_t bytes,
                                       uint32_t part, uint32_t parts, uint32_t partBytes) {
  const uint64_t begin = uint64_t(part) * partBytes;
  if (begin >= bytes) return {source, target, 0};
  const uint32_t left = bytes - uint32_t(begin);
  return {source + begin, target + begin, part + 1 == parts || left < partBytes ? left : partBytes};
}

/**
 * Gives each warp of the grid one stretch of neighbouring items and calls `runOf(item)` on 32 of
 * them at a time, one per lane: the table is read in wide requests and its latency is paid once
 * for 32 items.
 */
template <typename RunOf>
__device__ __forceinline__ void copyItems(uint32_t items, RunOf runOf) {
  const unsigned lane = threadIdx.x % WARP_LANES;
  const uint32_t warps = gridDim.x * (blockDim.x / WARP_LANES);
  const uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / WARP_LANES;
  const uint32_t share = (items + warps - 1) / warps;
  // The host keeps items + share of every warp below 2^32.
  const uint32_t end = min(items, (warp + 1) * share);
  for (uint32_t first = warp * share; first < end; first += WARP_LANES) {
    const unsigned count = min(WARP_LANES, end - first);
    Run own = {0, 0, 0};
    if (lane < count) own = runOf(first + lane);
    copyRuns(own, count, lane);
  }
}

}  // namespace tcpx
