// GPU memory of the application as tests need it: allocated in every way that an application may
// have, filled and verified on the device.

import { GpuContext } from '../../src/ffi/cuda/context.js';
import { deviceByOrdinal } from '../../src/ffi/cuda/device.js';
import { DeviceMemory } from '../../src/ffi/cuda/device-memory.js';
import { openCudaDriver } from '../../src/ffi/cuda/driver.js';
import { MemoryPool } from '../../src/ffi/cuda/memory-pool.js';
import { createSharedMemory } from '../../src/ffi/cuda/shared-memory.js';
import { GpuEvent } from '../../src/ffi/cuda/stream.js';
import { GpuKernels } from '../../src/gpu/gpu-kernels.js';
import { KernelQueue } from '../../src/gpu/kernel-queue.js';

export type VramWay = 'ipc' | 'vmm' | 'pool' | 'staged';

export interface Vram {
  readonly addr: number;
  readonly bytes: number;
  free(): void;
}

export class VramWorld {
  readonly context: GpuContext;
  readonly isReal: boolean;
  readonly #kernels: GpuKernels;
  readonly #queue: KernelQueue;

  constructor() {
    const driver = openCudaDriver();
    this.context = new GpuContext(driver, deviceByOrdinal(driver, 0));
    this.isReal = !this.context.device.name.startsWith('stand-in');
    this.#kernels = new GpuKernels(this.context);
    this.#queue = new KernelQueue(this.#kernels);
  }

  /** Memory that reaches the plugin processes in that way; vmm in so many allocations. */
  allocate(bytes: number, way: VramWay = 'ipc', segmentCount = 1): Vram {
    this.context.makeCurrent();
    if (way === 'ipc') {
      const memory = new DeviceMemory(this.context, bytes);
      return { addr: memory.addr, bytes, free: () => this.#current(() => memory.free()) };
    }
    if (way === 'vmm') {
      const memory = createSharedMemory(this.context, bytes, segmentCount);
      return { addr: memory.addr, bytes, free: () => this.#current(() => memory.unmap()) };
    }
    const pool = new MemoryPool(this.context, { isExportable: way === 'pool' });
    const addr = pool.allocate(bytes);
    const free = (): void => {
      pool.free(addr);
      pool.destroy();
    };
    return { addr, bytes, free: () => this.#current(free) };
  }

  fill(memory: Vram, seed: number): void {
    this.#current(() => this.#queue.wait(this.#queue.fill(memory, seed, 0)));
  }

  /** Bytes that differ from the pattern. */
  mismatches(memory: Vram, seed: number, position = 0): number {
    return this.#current(() => this.#queue.verify(memory, seed, position).count);
  }

  /** Queues a fill and an event behind it; nothing is waited for. */
  fillLater(memory: Vram, seed: number) {
    return this.#current(() => {
      const event = new GpuEvent(this.context);
      this.#queue.fill(memory, seed, 0);
      event.record(this.#queue.stream);
      return { device: 0, handle: event.handle };
    });
  }

  close(): void {
    this.context.makeCurrent();
    this.#queue.destroy();
    this.#kernels.unload();
    this.context.close();
  }

  #current<T>(use: () => T): T {
    this.context.makeCurrent();
    return use();
  }
}
