// Memory on a GPU that belongs to us, with the pattern kernels to fill and verify it where it lies:
// what benchmarks and tests move. Each call makes the GPU current, because others in this thread
// may have made another one so.

import { GpuContext } from '../ffi/cuda/context.js';
import { deviceByOrdinal } from '../ffi/cuda/device.js';
import { DeviceMemory } from '../ffi/cuda/device-memory.js';
import { openCudaDriver } from '../ffi/cuda/driver.js';
import { GpuEvent } from '../ffi/cuda/stream.js';
import { GpuKernels } from './gpu-kernels.js';
import { KernelQueue } from './kernel-queue.js';

export class GpuBuffer {
  readonly device: number;
  readonly addr: number;
  readonly bytes: number;
  readonly #context: GpuContext;
  readonly #kernels: GpuKernels;
  readonly #queue: KernelQueue;
  readonly #memory: DeviceMemory;
  readonly #events: GpuEvent[] = [];

  /** Throws ERR_CAP_GPU where there is no such GPU. */
  constructor(device: number, bytes: number) {
    const driver = openCudaDriver();
    this.#context = new GpuContext(driver, deviceByOrdinal(driver, device));
    this.#kernels = new GpuKernels(this.#context);
    this.#queue = new KernelQueue(this.#kernels);
    this.#memory = new DeviceMemory(this.#context, bytes);
    this.#memory.clear();
    this.device = device;
    this.addr = this.#memory.addr;
    this.bytes = bytes;
  }

  /** Queues the pattern as if the first byte were at `position`; settle() waits for it. */
  fill(offset: number, bytes: number, seed: number, position: number): void {
    this.#context.makeCurrent();
    this.#queue.fill({ addr: this.addr + offset, bytes }, seed, position);
  }

  /** An event that happens when all that was queued so far is done; freed with the buffer. */
  recordEvent(): { readonly device: number; readonly handle: number } {
    this.#context.makeCurrent();
    const event = new GpuEvent(this.#context);
    event.record(this.#queue.stream);
    this.#events.push(event);
    return { device: this.device, handle: event.handle };
  }

  settle(): void {
    this.#context.makeCurrent();
    this.#queue.wait(this.#queue.completion.lastIssued);
  }

  /** Index from `offset` of the first byte that differs from the pattern, or −1. */
  findMismatch(offset: number, bytes: number, seed: number, position: number): number {
    this.#context.makeCurrent();
    const seen = this.#queue.verify({ addr: this.addr + offset, bytes }, seed, position);
    return seen.firstIndex ?? -1;
  }

  /** Free bytes of the whole GPU. */
  freeDeviceBytes(): number {
    this.#context.makeCurrent();
    return this.#context.memoryInfo().freeBytes;
  }

  clear(): void {
    this.#context.makeCurrent();
    this.#memory.clear();
  }

  /** No transfer may use it any more. */
  free(): void {
    this.#context.makeCurrent();
    for (const event of this.#events.splice(0)) event.destroy();
    this.#queue.destroy();
    this.#memory.free();
    this.#kernels.unload();
    this.#context.close();
  }
}
