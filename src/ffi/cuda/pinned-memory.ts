// Host memory that the GPU reads and writes in place: staging buffers, scatter lists, completion
// flags. Either allocated by the driver or somebody else's memory registered with it.
// Views of it must not be used after free(): the pages are gone then.

import { assert } from '../../base/assert.js';
import type { GpuContext } from './context.js';
import { viewMemory } from './fixed-memory.js';

const HOST_PORTABLE = 1;
const HOST_MAPPED = 2;
const HOST_WRITE_COMBINED = 4;

export interface PinnedOptions {
  /** Faster for the CPU to fill and the GPU to read, very slow for the CPU to read. */
  readonly isWriteCombined?: boolean;
}

export class PinnedMemory {
  readonly addr: number;
  /** Where kernels see it; usually the same number as `addr`. */
  readonly deviceAddr: number;
  readonly bytes: number;
  readonly buffer: ArrayBuffer;
  private readonly context: GpuContext;
  private isFreed = false;

  constructor(context: GpuContext, bytes: number, options: PinnedOptions = {}) {
    assert(Number.isSafeInteger(bytes) && bytes > 0, 'an allocation has a positive size');
    const { functions, scratch } = context.driver;
    const kind = options.isWriteCombined === true ? HOST_WRITE_COMBINED : 0;
    const flags = HOST_PORTABLE | HOST_MAPPED | kind;
    const result = functions.cuMemHostAlloc(scratch.addr, bytes, flags);
    context.check(result, 'cuMemHostAlloc', `${bytes} bytes`);
    this.context = context;
    this.addr = scratch.uint64(0);
    this.bytes = bytes;
    this.deviceAddr = mappedAddr(context, this.addr);
    this.buffer = viewMemory(this.addr, bytes);
  }

  free(): void {
    assert(!this.isFreed, 'pinned memory is freed once');
    this.isFreed = true;
    this.context.check(this.context.driver.functions.cuMemFreeHost(this.addr), 'cuMemFreeHost');
  }
}

/** Memory of another owner, pinned and mapped for the GPU until release(). */
export class RegisteredMemory {
  readonly addr: number;
  readonly deviceAddr: number;
  readonly bytes: number;
  private readonly context: GpuContext;
  private isReleased = false;

  /** The owner keeps the pages mapped until release(). */
  constructor(context: GpuContext, addr: number, bytes: number) {
    const subject = `${bytes} bytes at 0x${addr.toString(16)}`;
    const { functions } = context.driver;
    const result = functions.cuMemHostRegister_v2(addr, bytes, HOST_PORTABLE | HOST_MAPPED);
    context.check(result, 'cuMemHostRegister_v2', subject);
    this.context = context;
    this.addr = addr;
    this.bytes = bytes;
    this.deviceAddr = mappedAddr(context, addr);
  }

  release(): void {
    assert(!this.isReleased, 'registered memory is released once');
    this.isReleased = true;
    const result = this.context.driver.functions.cuMemHostUnregister(this.addr);
    this.context.check(result, 'cuMemHostUnregister');
  }
}

function mappedAddr(context: GpuContext, addr: number): number {
  const { functions, scratch } = context.driver;
  const result = functions.cuMemHostGetDevicePointer_v2(scratch.addr, addr, 0);
  context.check(result, 'cuMemHostGetDevicePointer_v2', `of 0x${addr.toString(16)}`);
  return scratch.uint64(0);
}
