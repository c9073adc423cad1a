// Device memory after many set-ups and tear-downs is what it was before; skipped without a GPU.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GPU_ROUNDS, type TestGpu, withGpu } from '../../test/support/gpu.js';
import { DeviceMemory } from '../ffi/cuda/device-memory.js';
import { GpuModule } from '../ffi/cuda/module.js';
import { PinnedMemory } from '../ffi/cuda/pinned-memory.js';
import { GpuEvent } from '../ffi/cuda/stream.js';
import { readPtx } from './gpu-kernels.js';
import { KernelQueue } from './kernel-queue.js';

const CYCLES = GPU_ROUNDS < 10 ? 20 : 1000;
/** Enough for the driver to have grown its own pools. */
const WARM_UP_CYCLES = 20;

function cycle(gpu: TestGpu, ptx: string): void {
  const module = new GpuModule(gpu.context, 'pattern', ptx);
  const queue = new KernelQueue(gpu.kernels);
  const memory = new DeviceMemory(gpu.context, 3_000_000);
  const pinned = new PinnedMemory(gpu.context, 100_000);
  const event = new GpuEvent(gpu.context);
  queue.fill(memory, 1, 0);
  assert.equal(queue.verify(memory, 1, 0).count, 0);
  event.record(queue.stream);
  event.synchronize();
  event.destroy();
  pinned.free();
  memory.free();
  queue.destroy();
  module.unload();
}

test(`gpu leak: ${CYCLES} set-ups and tear-downs leave device memory as it was`, (t) =>
  withGpu(t, (gpu) => {
    const ptx = readPtx('pattern');
    for (let index = 0; index < WARM_UP_CYCLES; index++) cycle(gpu, ptx);
    const before = gpu.context.memoryInfo().freeBytes;
    for (let index = 0; index < CYCLES; index++) cycle(gpu, ptx);
    assert.equal(gpu.context.memoryInfo().freeBytes, before);
  }));
