// A GPU for tests: the first one, or a skip that says why there is none.

import type { TestContext } from 'node:test';
import { GpuContext } from '../../src/ffi/cuda/context.js';
import { deviceByOrdinal } from '../../src/ffi/cuda/device.js';
import { gpuAbsence, openCudaDriver } from '../../src/ffi/cuda/driver.js';
import { GpuKernels } from '../../src/gpu/gpu-kernels.js';
import { KernelQueue } from '../../src/gpu/kernel-queue.js';

/** Random cases per property; a memory checker makes each case slow, so it asks for few. */
export const GPU_ROUNDS = Number(process.env['TCPX_TEST_GPU_ROUNDS'] ?? '60');

export interface TestGpu {
  readonly context: GpuContext;
  readonly kernels: GpuKernels;
  readonly queue: KernelQueue;
}

export function openGpu(): GpuContext {
  const driver = openCudaDriver();
  return new GpuContext(driver, deviceByOrdinal(driver, 0));
}

/** Runs the body on a GPU and cleans up after it; skips the test where there is none. */
export function withGpu(t: TestContext, body: (gpu: TestGpu) => void | Promise<void>) {
  const absence = gpuAbsence();
  if (absence !== undefined) {
    t.skip(`needs a GPU: ${absence}`);
    return Promise.resolve();
  }
  return runOnGpu(body);
}

async function runOnGpu(body: (gpu: TestGpu) => void | Promise<void>): Promise<void> {
  const context = openGpu();
  const kernels = new GpuKernels(context);
  const queue = new KernelQueue(kernels);
  // No clean-up after a failure: after a fault every call fails and would hide the first error.
  await body({ context, kernels, queue });
  queue.destroy();
  kernels.unload();
  context.close();
}
