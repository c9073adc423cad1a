// Allocations in GPU memory, and the blocking copies that set-up and tests use. The data path
// copies through GpuQueue.

import { assert } from '../../base/assert.js';
import type { GpuContext } from './context.js';
import { addressOf } from './fixed-memory.js';

export class DeviceMemory {
  readonly addr: number;
  readonly bytes: number;
  private readonly context: GpuContext;
  private isFreed = false;

  constructor(context: GpuContext, bytes: number) {
    assert(Number.isSafeInteger(bytes) && bytes > 0, 'an allocation has a positive size');
    const { functions, scratch } = context.driver;
    context.check(functions.cuMemAlloc_v2(scratch.addr, bytes), 'cuMemAlloc_v2', `${bytes} bytes`);
    this.context = context;
    this.addr = scratch.uint64(0);
    this.bytes = bytes;
  }

  /** Blocks until the bytes are there. */
  write(offset: number, source: Uint8Array): void {
    this.checkSpan(offset, source.byteLength);
    if (source.byteLength === 0) return;
    const { functions } = this.context.driver;
    const sourceAddr = addressOf(source);
    const result = functions.cuMemcpyHtoD_v2(this.addr + offset, sourceAddr, source.byteLength);
    this.context.check(result, 'cuMemcpyHtoD_v2', `${source.byteLength} bytes`);
    // From pageable memory the call may return while the last bytes are still on their way, and
    // our streams do not wait for the default one.
    this.context.check(functions.cuStreamSynchronize(0), 'cuStreamSynchronize', 'after a copy');
  }

  /** Blocks until the bytes are here. */
  read(offset: number, bytes: number): Uint8Array {
    this.checkSpan(offset, bytes);
    const target = new Uint8Array(new ArrayBuffer(bytes));
    if (bytes === 0) return target;
    const { functions } = this.context.driver;
    const result = functions.cuMemcpyDtoH_v2(addressOf(target), this.addr + offset, bytes);
    this.context.check(result, 'cuMemcpyDtoH_v2', `${bytes} bytes`);
    return target;
  }

  clear(value = 0): void {
    const { functions } = this.context.driver;
    const result = functions.cuMemsetD8Async(this.addr, value, this.bytes, 0);
    this.context.check(result, 'cuMemsetD8Async', `${this.bytes} bytes`);
    this.context.check(functions.cuStreamSynchronize(0), 'cuStreamSynchronize', 'after a fill');
  }

  free(): void {
    assert(!this.isFreed, 'device memory is freed once');
    this.isFreed = true;
    this.context.check(this.context.driver.functions.cuMemFree_v2(this.addr), 'cuMemFree_v2');
  }

  private checkSpan(offset: number, bytes: number): void {
    assert(!this.isFreed, 'device memory is used before it is freed');
    assert(offset >= 0 && offset + bytes <= this.bytes, 'a copy stays inside the allocation');
  }
}

export interface AddressRange {
  readonly baseAddr: number;
  readonly bytes: number;
}

/** The whole allocation that an address lies in. */
export function allocationOf(context: GpuContext, addr: number): AddressRange {
  const { functions, scratch } = context.driver;
  const result = functions.cuMemGetAddressRange_v2(scratch.addr, scratch.addr + 8, addr);
  context.check(result, 'cuMemGetAddressRange_v2', `of 0x${addr.toString(16)}`);
  return { baseAddr: scratch.uint64(0), bytes: scratch.uint64(8) };
}
