// Lets launches of one stream overlap at their edges, where the GPU and the launch allow it
// (compute capability 9.0, programmatic stream serialization): the next launch's blocks may be
// placed and read their lists while this one still copies, and then wait for its end.
// Elsewhere launches of a stream follow each other and both calls are nothing.
#pragma once

namespace tcpx {

__device__ __forceinline__ void letNextLaunchBegin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/**
 * After this, all that was queued on the stream before is done and visible. Before it, a kernel
 * touches only what the host wrote before the launch. Every thread calls it.
 */
__device__ __forceinline__ void awaitEarlierWork() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace tcpx
