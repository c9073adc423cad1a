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

// REACH is who must see what a block wrote before the flag: the device alone when targets are
// device memory, the host too when a target may be mapped host memory.
template <Reach REACH>
__device__ __forceinline__ bool isLastBlock(Tally *tally) {
  __shared__ bool isLast;
  __syncthreads();
  if (threadIdx.x == 0) {
    if (REACH == Reach::System) {
      __threadfence_system();
    } else {
      __threadfence();
    }
    isLast = atomicAdd(&tally->blocksDone, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  return isLast;
}

__device__ __forceinline__ void publish(Tally *tally, Outcome *outcome, uint32_t sequence) {
  tally->blocksDone = 0;
  __threadfence_system();
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(&outcome->sequence), "r"(sequence)
               : "memory");
}

/** Every thread of every block calls this at its end; a null outcome: nobody waits for a flag. */
template <Reach REACH>
__device__ __forceinline__ void finish(Tally *tally, Outcome *outcome, uint32_t sequence) {
  if (outcome == nullptr) return;
  if (isLastBlock<REACH>(tally) && threadIdx.x == 0) publish(tally, outcome, sequence);
}

}  // namespace tcpx
