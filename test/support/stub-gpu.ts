// A CUDA driver for tests of what surrounds it: every call succeeds and does nothing, or fails if
// it is asked to. Allocations are host memory; nothing is copied and no kernel runs.

import { GpuContext } from '../../src/ffi/cuda/context.js';
import { FixedMemory } from '../../src/ffi/cuda/fixed-memory.js';
import type { CudaFunctions } from '../../src/ffi/cuda/functions.js';
import { GpuKernels } from '../../src/gpu/gpu-kernels.js';

const SCRATCH_BYTES = 512;
/** Stands for every handle. */
const HANDLE = 4096;
const REFUSED = 2;

const DEVICE = {
  ordinal: 0,
  handle: 0,
  name: 'stub',
  pciAddress: '0000:00:00.0',
  memoryBytes: 2 ** 30,
  multiprocessors: 4,
  computeCapability: 80,
  l2CacheBytes: 2 ** 20,
};

export interface StubGpu {
  readonly context: GpuContext;
  readonly kernels: GpuKernels;
  /** Names of calls that fail from now on. */
  readonly refused: Set<string>;
}

export function openStubGpu(): StubGpu {
  const refused = new Set(['cuGetErrorName', 'cuGetErrorString']);
  const scratch = new FixedMemory(SCRATCH_BYTES);
  const allocated: FixedMemory[] = [];
  // The first out-parameter, for the calls that have one.
  const answer = (name: string, args: readonly number[]): number => {
    if (name === 'cuMemHostGetDevicePointer_v2') return args[1] ?? 0;
    if (name !== 'cuMemHostAlloc') return HANDLE;
    const memory = new FixedMemory(Math.ceil((args[1] ?? 0) / 8) * 8);
    allocated.push(memory);
    return memory.addr;
  };
  const call =
    (name: string) =>
    (...args: number[]): number => {
      if (refused.has(name)) return REFUSED;
      scratch.setUint64(0, answer(name, args));
      return 0;
    };
  // checked: every function of the driver takes numbers and returns one
  const functions = new Proxy({}, { get: (_, name) => call(String(name)) }) as CudaFunctions;
  const driver = { functions, scratch, version: 12000, libraryName: 'stub' };
  const context = new GpuContext(driver, DEVICE);
  return { context, kernels: new GpuKernels(context), refused };
}
