// Fill, verify and checksum on the device, so that checking a transfer needs no copy back.
// The same pattern and the same sum as src/memory/pattern.ts and src/memory/checksum.ts.

#include "completion.cuh"
#include "device-copy.cuh"

namespace tcpx {

struct SpanParams {
  uint64_t addr;
  uint64_t bytes;
  /** Pattern position of the first byte (fill, verify). */
  uint64_t position;
  uint32_t seed;
  uint32_t sequence;
  Tally *tally;
  Outcome *outcome;
};

static_assert(sizeof(SpanParams) == 48, "as in src/memory/gpu-params.ts");

// Four bytes of the pattern, little-endian, at positions 4 × index … 4 × index + 3.
__device__ __forceinline__ uint32_t patternPart(uint32_t seed, uint64_t index) {
  uint32_t value = (uint32_t(index) ^ seed) * 0x9e3779b1u;
  value ^= uint32_t(index >> 32) * 0x85ebca77u;
  value ^= value >> 16;
  value *= 0x21f0aaadu;
  value ^= value >> 15;
  return value;
}

__device__ __forceinline__ uint32_t patternByte(uint32_t seed, uint64_t position) {
  return (patternPart(seed, position >> 2) >> ((unsigned(position) & 3) * 8)) & 0xff;
}

__device__ __forceinline__ Word patternWord(uint32_t seed, uint64_t position) {
  const unsigned bitShift = (unsigned(position) & 3) * 8;
  Word word;
  uint32_t low = patternPart(seed, position >> 2);
#pragma unroll
  for (int index = 0; index < 4; index++) {
    const uint32_t high = patternPart(seed, (position >> 2) + index + 1);
    word.part[index] = __funnelshift_r(low, high, bitShift);
    low = high;
  }
  return word;
}

__device__ __forceinline__ uint64_t threadIndex() {
  return uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ __forceinline__ uint64_t threadCount() { return uint64_t(gridDim.x) * blockDim.x; }

/** A span cut at the 16-byte boundaries of its address. */
struct Cut {
  uint64_t head;
  uint64_t words;
  uint64_t tail;
};

__device__ __forceinline__ Cut cutSpan(uint64_t addr, uint64_t bytes) {
  const uint64_t head = min(uint64_t(unsigned(-addr) & (WORD_BYTES - 1)), bytes);
  const uint64_t words = (bytes - head) / WORD_BYTES;
  return {head, words, bytes - head - words * WORD_BYTES};
}

// Index in the span of the loose byte `loose`: those before the words, then those after.
__device__ __forceinline__ uint64_t looseIndex(const Cut &cut, uint64_t loose) {
  return loose < cut.head ? loose : loose + cut.words * WORD_BYTES;
}

// The lowest index wins; kept as a complement because the tally rests at zero.
__device__ __forceinline__ void recordMismatch(Tally *tally, uint64_t index, unsigned count) {
  atomicAdd(&tally->sum, static_cast<unsigned long long>(count));
  atomicMax(&tally->firstComplement, ~static_cast<unsigned long long>(index));
}

__device__ __forceinline__ void compareWord(Tally *tally, const Word &seen, const Word &wanted,
                                            uint64_t index) {
  unsigned count = 0;
  int first = -1;
#pragma unroll
  for (int byte = 0; byte < int(WORD_BYTES); byte++) {
    const uint32_t difference = seen.part[byte / 4] ^ wanted.part[byte / 4];
    if ((difference >> ((byte % 4) * 8) & 0xff) != 0) {
      if (first < 0) first = byte;
      count++;
    }
  }
  if (count > 0) recordMismatch(tally, index + first, count);
}

// One part of the sum; src/memory/checksum.ts says why it has this shape.
__device__ __forceinline__ unsigned long long sumPart(uint32_t part, uint64_t index) {
  uint32_t value = (part ^ patternPart(0x5bd1e995u, index)) * 0xcc9e2d51u;
  value ^= value >> 15;
  value *= 0x1b873593u;
  value ^= value >> 13;
  const uint32_t second = (value ^ 0xa5a5a5a5u) * (2 * uint32_t(index) + 0x9e3779b1u);
  return uint64_t(second) << 32 | value;
}

// Two 32-bit sums in one 64-bit number: carries of the low half must not reach the high half.
__device__ __forceinline__ unsigned long long addHalves(unsigned long long a,
                                                        unsigned long long b) {
  const uint32_t low = uint32_t(a) + uint32_t(b);
  const uint32_t high = uint32_t(a >> 32) + uint32_t(b >> 32);
  return uint64_t(high) << 32 | low;
}

__device__ __forceinline__ uint32_t loadPart(uint64_t addr) {
  uint32_t value;
  asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(value) : "l"(addr) : "memory");
  return value;
}

// Four bytes from any address; bytes beyond `left` count as zero and are not read.
__device__ __forceinline__ uint32_t loadLoosePart(uint64_t addr, uint64_t left) {
  if (left >= 4 && (addr & 3) == 0) return loadPart(addr);
  uint32_t part = 0;
  for (unsigned byte = 0; byte < 4 && byte < left; byte++) {
    part |= loadByte(addr + byte) << (byte * 8);
  }
  return part;
}

__device__ __forceinline__ unsigned long long sumWords(uint64_t addr, uint64_t words) {
  unsigned long long sum = 0;
  for (uint64_t index = threadIndex(); index < words; index += threadCount()) {
    const Word word = loadWord(addr + index * WORD_BYTES);
#pragma unroll
    for (int part = 0; part < 4; part++) {
      sum = addHalves(sum, sumPart(word.part[part], index * 4 + part));
    }
  }
  return sum;
}

__device__ __forceinline__ unsigned long long sumLooseParts(uint64_t addr, uint64_t bytes,
                                                            uint64_t from) {
  unsigned long long sum = 0;
  const uint64_t parts = (bytes + 3) / 4;
  for (uint64_t index = from + threadIndex(); index < parts; index += threadCount()) {
    sum = addHalves(sum, sumPart(loadLoosePart(addr + index * 4, bytes - index * 4), index));
  }
  return sum;
}

// The halves are added apart for the same reason as in addHalves.
__device__ __forceinline__ void addToTally(Tally *tally, unsigned long long sum) {
  for (unsigned step = WARP_LANES / 2; step > 0; step /= 2) {
    sum = addHalves(sum, __shfl_xor_sync(FULL_MASK, sum, step));
  }
  if (threadIdx.x % WARP_LANES != 0) return;
  uint32_t *halves = reinterpret_cast<uint32_t *>(&tally->sum);
  atomicAdd(&halves[0], uint32_t(sum));
  atomicAdd(&halves[1], uint32_t(sum >> 32));
}

// The last block hands the tally's results to the host and leaves the tally at rest.
__device__ __forceinline__ void deliver(const SpanParams &params) {
  if (!isLastThread<Reach::Device>(params.tally)) return;
  fence<Reach::Device>();
  volatile Tally *tally = params.tally;
  volatile Outcome *outcome = params.outcome;
  outcome->sum = tally->sum;
  outcome->firstIndex = ~tally->firstComplement;
  tally->sum = 0;
  tally->firstComplement = 0;
  publish(params.outcome, params.sequence);
}

}  // namespace tcpx

extern "C" __global__ void __launch_bounds__(tcpx::BLOCK_THREADS)
    tcpx_fill(const __grid_constant__ tcpx::SpanParams params) {
  using namespace tcpx;
  const Cut cut = cutSpan(params.addr, params.bytes);
  for (uint64_t index = threadIndex(); index < cut.words; index += threadCount()) {
    const uint64_t offset = cut.head + index * WORD_BYTES;
    storeWord(params.addr + offset, patternWord(params.seed, params.position + offset));
  }
  for (uint64_t loose = threadIndex(); loose < cut.head + cut.tail; loose += threadCount()) {
    const uint64_t offset = looseIndex(cut, loose);
    storeByte(params.addr + offset, patternByte(params.seed, params.position + offset));
  }
  finish<Reach::System>(params.tally, params.outcome, params.sequence);
}

extern "C" __global__ void __launch_bounds__(tcpx::BLOCK_THREADS)
    tcpx_verify(const __grid_constant__ tcpx::SpanParams params) {
  using namespace tcpx;
  const Cut cut = cutSpan(params.addr, params.bytes);
  for (uint64_t index = threadIndex(); index < cut.words; index += threadCount()) {
    const uint64_t offset = cut.head + index * WORD_BYTES;
    compareWord(params.tally, loadWord(params.addr + offset),
                patternWord(params.seed, params.position + offset), offset);
  }
  for (uint64_t loose = threadIndex(); loose < cut.head + cut.tail; loose += threadCount()) {
    const uint64_t offset = looseIndex(cut, loose);
    if (loadByte(params.addr + offset) != patternByte(params.seed, params.position + offset)) {
      recordMismatch(params.tally, offset, 1);
    }
  }
  deliver(params);
}

extern "C" __global__ void __launch_bounds__(tcpx::BLOCK_THREADS)
    tcpx_checksum(const __grid_constant__ tcpx::SpanParams params) {
  using namespace tcpx;
  const bool isAligned = (params.addr & (WORD_BYTES - 1)) == 0;
  const uint64_t words = isAligned ? params.bytes / WORD_BYTES : 0;
  const unsigned long long sum = addHalves(sumWords(params.addr, words),
                                           sumLooseParts(params.addr, params.bytes, words * 4));
  addToTally(params.tally, sum);
  deliver(params);
}
