// GPU memory of a client, opened here and handed on to the plugin's processes in the way that the
// client exported it: what was opened from another process cannot be exported again.

import { TcpxError } from '../base/errors.js';
import type { RegionShare } from '../engine/internal.js';
import { GpuContext } from '../ffi/cuda/context.js';
import { deviceByPciAddress } from '../ffi/cuda/device.js';
import { openCudaDriver } from '../ffi/cuda/driver.js';
import { IpcMapping } from '../ffi/cuda/ipc.js';
import { ImportedPoolMemory } from '../ffi/cuda/memory-pool.js';
import { pointerExtent } from '../ffi/cuda/pointer-owner.js';
import { importSharedMemory } from '../ffi/cuda/shared-memory.js';
import { closeFd, duplicateFd } from '../ffi/libc/file-descriptor.js';
import type { RegisterWish } from './message-codec.js';

export interface OpenedMemory {
  /** Of an allocation that is opened once, however many regions lie in it; empty for others. */
  readonly name: string;
  readonly device: number;
  readonly baseAddr: number;
  /** Of the allocation, as the driver has opened it: what a client says of it proves nothing. */
  readonly bytes: number;
  users: number;
  close(): void;
}

export class ClientGpus {
  readonly #contexts = new Map<number, GpuContext>();
  readonly #allocations = new Map<string, OpenedMemory>();

  /** Descriptors stay the caller's. */
  open(wish: RegisterWish, fds: readonly number[]): OpenedMemory {
    const name = wish.way === 'ipc' ? hexOf(wish.handle) : '';
    const known = this.#allocations.get(name);
    if (known !== undefined) {
      known.users++;
      return known;
    }
    const context = this.#contextOf(wish.pciAddress);
    const device = context.device.ordinal;
    const opened = { name, device, users: 1, ...openIn(context, wish, fds) };
    if (name !== '') this.#allocations.set(name, opened);
    return opened;
  }

  /** For the plugin's processes, which open it a second time. */
  share({ device }: OpenedMemory, wish: RegisterWish, fds: readonly number[]): RegionShare {
    const { way, handle, offset, bytes, segments } = wish;
    const place = { device, offset, bytes };
    const shared =
      way === 'vmm'
        ? ({ way, segments, ...place } as const)
        : way === 'pool'
          ? ({ way, pointer: hexOf(handle), ...place } as const)
          : ({ way: 'ipc', handle: hexOf(handle), ...place } as const);
    const descriptors: number[] = [];
    const close = (): void => {
      for (const fd of descriptors.splice(0)) closeFd(fd);
    };
    try {
      for (const fd of fds) descriptors.push(duplicateFd(fd));
    } catch (error) {
      close();
      throw error;
    }
    return { way: shared.way, shared, descriptors, close };
  }

  release(opened: OpenedMemory): void {
    opened.users--;
    if (opened.users > 0) return;
    this.#allocations.delete(opened.name);
    this.#contexts.get(opened.device)?.makeCurrent();
    opened.close();
  }

  close(): void {
    for (const context of this.#contexts.values()) context.close();
    this.#contexts.clear();
  }

  #contextOf(pciAddress: string): GpuContext {
    const driver = openCudaDriver();
    const device = deviceByPciAddress(driver, pciAddress);
    const context = this.#contexts.get(device.ordinal) ?? new GpuContext(driver, device);
    this.#contexts.set(device.ordinal, context);
    context.makeCurrent();
    return context;
  }
}

function openIn(context: GpuContext, wish: RegisterWish, fds: readonly number[]) {
  const { way, handle, segments } = wish;
  const wanted = way === 'vmm' ? segments.length : way === 'pool' ? 1 : 0;
  if (fds.length !== wanted || (way === 'vmm' && wanted === 0)) {
    throw new TcpxError('ERR_WIRE_FRAME', `REGISTER of ${way} with ${fds.length} descriptors`);
  }
  if (way === 'vmm') {
    const memory = importSharedMemory(
      context,
      fds.map((fd, index) => ({ fd, bytes: segments[index] ?? 0 })),
    );
    return { baseAddr: memory.addr, bytes: memory.bytes, close: () => memory.unmap() };
  }
  if (way === 'pool') {
    const memory = new ImportedPoolMemory(context, fds[0] ?? -1, handle);
    return { ...extentAt(context, memory.baseAddr), close: () => memory.close() };
  }
  const mapping = new IpcMapping(context, handle);
  return { ...extentAt(context, mapping.baseAddr), close: () => mapping.close() };
}

function extentAt(context: GpuContext, baseAddr: number) {
  return { baseAddr, bytes: pointerExtent(context, baseAddr) };
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
