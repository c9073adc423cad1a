// Maps the application's memory into a plugin host: files by their name, GPU memory by CUDA IPC, by
// descriptor, or through the pool that it came from.

import { closeSync, openSync } from 'node:fs';
import { gpuError } from '../../../ffi/cuda/driver.js';
import { IpcMapping } from '../../../ffi/cuda/ipc.js';
import { ImportedPoolMemory } from '../../../ffi/cuda/memory-pool.js';
import { RegisteredMemory } from '../../../ffi/cuda/pinned-memory.js';
import { importSharedMemory } from '../../../ffi/cuda/shared-memory.js';
import { receiveDescriptor } from '../../../ffi/libc/descriptor-passing.js';
import { type Mapping, mapMemory, unmapMemory } from '../../../ffi/libc/mapping.js';
import type { HostRegion, SharedRegion } from '../host-region.js';
import type { GpuSide } from './gpu-side.js';

type FileShared = Extract<SharedRegion, { way: 'shared' }>;
type DeviceShared = Exclude<SharedRegion, FileShared>;

interface OpenAllocation {
  readonly mapping: IpcMapping;
  users: number;
}

interface OpenFile {
  readonly mapping: Mapping;
  readonly pinned: RegisteredMemory | undefined;
  users: number;
}

export class RegionMapper {
  readonly #gpu: GpuSide | undefined;
  readonly #absence: string;
  /** Where descriptors come in. */
  readonly #socketFd: number;
  /** An allocation is opened once, however many regions lie in it. */
  readonly #allocations = new Map<string, OpenAllocation>();
  readonly #files = new Map<string, OpenFile>();

  /** `absence` says why there is no GPU. */
  constructor(gpu: GpuSide | undefined, absence: string, socketFd: number) {
    this.#gpu = gpu;
    this.#absence = absence;
    this.#socketFd = socketFd;
  }

  map(shared: SharedRegion): HostRegion {
    if (shared.way === 'shared') return this.#mapFile(shared);
    // Taken first: what is not taken would be taken for the next region's.
    const descriptors = this.#takeDescriptors(shared);
    try {
      return this.#mapDevice(shared, descriptors);
    } finally {
      for (const fd of descriptors) closeSync(fd);
    }
  }

  #takeDescriptors(shared: DeviceShared): number[] {
    const count = shared.way === 'vmm' ? shared.segments.length : shared.way === 'pool' ? 1 : 0;
    return Array.from({ length: count }, () => receiveDescriptor(this.#socketFd));
  }

  #mapFile({ path, fileBytes, offset, bytes }: FileShared): HostRegion {
    const open = this.#files.get(path) ?? this.#openFile(path, fileBytes);
    open.users++;
    this.#files.set(path, open);
    const unmap = (): void => {
      open.users--;
      if (open.users > 0) return;
      this.#files.delete(path);
      open.pinned?.release();
      unmapMemory(open.mapping);
    };
    const addr = open.mapping.addr + offset;
    const deviceAddr = open.pinned === undefined ? 0 : open.pinned.deviceAddr + offset;
    return { addr, bytes, isDevice: false, deviceAddr, isRailMemory: false, unmap };
  }

  // Pinned for the GPU where there is one: it unpacks into host memory too.
  #openFile(path: string, bytes: number): OpenFile {
    const fd = openSync(path, 'r+');
    let mapping;
    try {
      mapping = mapMemory(bytes, { fd });
    } finally {
      closeSync(fd);
    }
    const pinned = this.#gpu && new RegisteredMemory(this.#gpu.context, mapping.addr, bytes);
    return { mapping, pinned, users: 0 };
  }

  #mapDevice(shared: DeviceShared, descriptors: readonly number[]): HostRegion {
    if (this.#gpu === undefined) {
      throw gpuError(`GPU memory in a plugin process without a GPU: ${this.#absence}`);
    }
    const { device, offset, bytes } = shared;
    const { base, unmap } = this.#openDevice(shared, descriptors);
    const addr = base + offset;
    const isRailMemory = device === this.#gpu.context.device.ordinal;
    return { addr, bytes, isDevice: true, deviceAddr: addr, isRailMemory, unmap };
  }

  #openDevice(shared: DeviceShared, descriptors: readonly number[]) {
    const context = this.#context;
    switch (shared.way) {
      case 'ipc':
        return this.#openAllocation(shared.handle);
      case 'vmm': {
        const memory = importSharedMemory(
          context,
          shared.segments.map((bytes, index) => ({ fd: descriptors[index] ?? -1, bytes })),
        );
        return { base: memory.addr, unmap: () => memory.unmap() };
      }
      case 'pool': {
        const pointer = Buffer.from(shared.pointer, 'hex');
        const memory = new ImportedPoolMemory(context, descriptors[0] ?? -1, pointer);
        return { base: memory.baseAddr, unmap: () => memory.close() };
      }
    }
  }

  #openAllocation(handle: string) {
    const open = this.#allocations.get(handle) ?? {
      mapping: new IpcMapping(this.#context, Buffer.from(handle, 'hex')),
      users: 0,
    };
    open.users++;
    this.#allocations.set(handle, open);
    const unmap = (): void => {
      open.users--;
      if (open.users > 0) return;
      this.#allocations.delete(handle);
      open.mapping.close();
    };
    return { base: open.mapping.baseAddr, unmap };
  }

  get #context() {
    if (this.#gpu === undefined) throw gpuError(this.#absence);
    return this.#gpu.context;
  }
}
