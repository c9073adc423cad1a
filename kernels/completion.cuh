// How the host learns that a launch is done without an event: the last block to finish writes a
// sequence number into mapped host memory, after everything the launch wrote is visible.
#pragma once

#include <cstdint>

namespace tcpx {

/** Device memory, zero at the start; one per stream, whose launches do not overlap. */
struct Tally {
  uint32_t blocksDone;
  uint32_t reserved;
  /** verify: bytes that differ. checksum: two 32-bit sums. */
  unsigned long long sum;
  /** verify: complement of the lowest index that differs, so that zero means none. */
  unsigned long long firstComplement;
};

/** Mapped host memory. */
struct Outcome {
  /** Written last. The host waits for the sequence number that it passed to the launch. */
  uint32_t sequence;
  uint32_t reserved;
  unsigned long long sum;
  /** verify: lowest index that differs, 2^64 − 1 for none. */
  unsigned long long firstIndex;
};

static_assert(sizeof(Tally) == 24 && sizeof(Outcome) == 24, "as in src/memory/gpu-params.ts");

enum class Reach { Device, System };

template <Reach REACH>
__device__ __forceinline__ void fence() {
  if (REACH == Reach::System) {
    asm volatile("fence.acq_rel.sys;" ::: "memory");
  } else {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
  }
}

// True in one thread of the last block. REACH is who must see what a block wrote before the flag:
// the device alone when targets are device memory, the host too when a target may be mapped host
// memory. The counter wraps to zero by itself, so nothing is left to write before the flag.
template <Reach REACH>
__device__ __forceinline__ bool isLastThread(Tally *tally) {
  __syncthreads();
  if (threadIdx.x != 0) return false;
  fence<REACH>();
  uint32_t before;
  asm volatile("atom.inc.relaxed.gpu.global.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(&tally->blocksDone), "r"(gridDim.x - 1)
               : "memory");
  return before == gridDim.x - 1;
}

// One fence: it takes up what the other blocks released above and covers it for the host.
__device__ __forceinline__ void publish(Outcome *outcome, uint32_t sequence) {
  fence<Reach::System>();
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(&outcome->sequence), "r"(sequence)
               : "memory");
}

/** Every thread of every block calls this at its end; a null outcome: nobody waits for a flag. */
template <Reach REACH>
__device__ __forceinline__ void finish(Tally *tally, Outcome *outcome, uint32_t sequence) {
  if (outcome == nullptr) return;
  if (isLastThread<REACH>(tally)) publish(outcome, sequence);
}

}  // namespace tcpx
