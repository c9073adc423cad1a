// A worker thread with its own driver and context: fills and verifies memory of its own, and
// reports what it saw.

import { parentPort } from 'node:worker_threads';
import { DeviceMemory } from '../../src/ffi/cuda/device-memory.js';
import { GpuKernels } from '../../src/gpu/gpu-kernels.js';
import { KernelQueue } from '../../src/gpu/kernel-queue.js';
import { openGpu } from './gpu.js';

const SPAN_BYTES = 1_000_003;

const context = openGpu();
const kernels = new GpuKernels(context);
const queue = new KernelQueue(kernels);
const memory = new DeviceMemory(context, SPAN_BYTES);
queue.fill(memory, 9, 0);
const seen = queue.verify(memory, 9, 0);
memory.free();
queue.destroy();
kernels.unload();
context.close();
parentPort?.postMessage(seen.count);
