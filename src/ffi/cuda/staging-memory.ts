// Host memory that the GPU copies to and sockets send from by reference. Ordinary pages, registered
// with the driver slot by slot, because a slot that somebody may still refer to gets other pages at
// the same address, and what was sent from it stays what it was. The driver's own memory
// (cuMemHostAlloc) cannot be given other pages.

import { TcpxError, toTcpxError } from '../../base/errors.js';
import {
  adviseHugePages,
  keepFromChildren,
  type Mapping,
  mapMemory,
  renewPages,
  unmapMemory,
} from '../libc/mapping.js';
import type { GpuContext } from './context.js';
import { PinnedMemory, RegisteredMemory } from './pinned-memory.js';

export class StagingMemory {
  readonly addr: number;
  /** The same number: only then does a slot keep its place when it is registered anew. */
  readonly deviceAddr: number;
  readonly bytes: number;
  private readonly context: GpuContext;
  private readonly mapping: Mapping;
  private readonly slotBytes: number;
  /** By slot; undefined where a renewal failed. */
  private readonly slots: (RegisteredMemory | undefined)[] = [];
  /** A renewal failed: there may be a hole, and by now somebody else's memory in it. */
  private isTorn = false;

  constructor(context: GpuContext, slotBytes: number, slotCount: number) {
    this.context = context;
    this.slotBytes = slotBytes;
    this.mapping = mapMemory(slotBytes * slotCount);
    this.addr = this.mapping.addr;
    this.deviceAddr = this.addr;
    this.bytes = this.mapping.bytes;
    try {
      keepFromChildren(this.mapping);
      // Fewer, larger pages are cheaper to refer to; the driver touches them when it pins them.
      adviseHugePages(this.mapping);
      for (let slot = 0; slot < slotCount; slot++) this.slots.push(this.register(slot));
    } catch (error) {
      this.free();
      throw error;
    }
  }

  /** Fresh pages for the slot at this offset; throws when it is lost. */
  renew(offset: number): void {
    const slot = offset / this.slotBytes;
    const old = this.slots[slot];
    this.slots[slot] = undefined;
    const wasTorn = this.isTorn;
    this.isTorn = true;
    old?.release();
    renewPages({ addr: this.addr + offset, bytes: this.slotBytes });
    this.slots[slot] = this.register(slot);
    this.isTorn = wasTorn;
  }

  free(): void {
    for (const slot of this.slots.splice(0)) slot?.release();
    if (!this.isTorn) unmapMemory(this.mapping);
  }

  private register(slot: number): RegisteredMemory {
    const addr = this.addr + slot * this.slotBytes;
    const registered = new RegisteredMemory(this.context, addr, this.slotBytes);
    if (registered.deviceAddr === addr) return registered;
    registered.release();
    throw new TcpxError('ERR_CAP_GPU', 'the GPU sees registered memory at another address');
  }
}

export interface OpenedStaging {
  readonly memory: StagingMemory | PinnedMemory;
  /** Why the memory is not renewable. */
  readonly refusal: TcpxError | undefined;
}

/** Renewable memory where the GPU and the host allow it, the driver's own otherwise. */
export function openStagingMemory(
  context: GpuContext,
  slotBytes: number,
  slotCount: number,
): OpenedStaging {
  try {
    return { memory: new StagingMemory(context, slotBytes, slotCount), refusal: undefined };
  } catch (error) {
    const refusal = toTcpxError(error, 'ERR_CUDA_CALL', 'register staging memory');
    return { memory: new PinnedMemory(context, slotBytes * slotCount), refusal };
  }
}
