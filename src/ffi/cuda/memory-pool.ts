// Stream-ordered memory: pools whose allocations another process maps, where the pool was made
// exportable by descriptor. Whoever gets a descriptor closes it.

import type { GpuContext } from './context.js';
import { IPC_HANDLE_BYTES } from './functions.js';

const HANDLE_POSIX_FD = 1;
const ALLOCATION_PINNED = 1;
const LOCATION_DEVICE = 1;
const ACCESS_READ_WRITE = 3;
/** CUmemPoolProps and CUmemAccessDesc lie here, clear of the out-parameters. */
const STRUCT_OFFSET = 64;
/** CUmemPoolPtrExportData. */
export const POOL_POINTER_BYTES = IPC_HANDLE_BYTES;

/** A pool of our own, exportable or not. */
export class MemoryPool {
  readonly handle: number;
  private readonly context: GpuContext;

  constructor(context: GpuContext, options: { readonly isExportable: boolean }) {
    const { functions, scratch } = context.driver;
    scratch.clear();
    scratch.setUint32(STRUCT_OFFSET, ALLOCATION_PINNED);
    scratch.setUint32(STRUCT_OFFSET + 4, options.isExportable ? HANDLE_POSIX_FD : 0);
    scratch.setUint32(STRUCT_OFFSET + 8, LOCATION_DEVICE);
    scratch.setUint32(STRUCT_OFFSET + 12, context.device.handle);
    const result = functions.cuMemPoolCreate(scratch.addr, scratch.addr + STRUCT_OFFSET);
    context.check(result, 'cuMemPoolCreate');
    this.context = context;
    this.handle = scratch.uint64(0);
  }

  /** Returns when the memory may be used by any stream. */
  allocate(bytes: number): number {
    const { functions, scratch } = this.context.driver;
    const result = functions.cuMemAllocFromPoolAsync(scratch.addr, bytes, this.handle, 0);
    this.context.check(result, 'cuMemAllocFromPoolAsync', `${bytes} bytes`);
    const addr = scratch.uint64(0);
    this.context.check(functions.cuStreamSynchronize(0), 'cuStreamSynchronize', 'after an alloc');
    return addr;
  }

  free(addr: number): void {
    const { functions } = this.context.driver;
    this.context.check(functions.cuMemFreeAsync(addr, 0), 'cuMemFreeAsync');
    this.context.check(functions.cuStreamSynchronize(0), 'cuStreamSynchronize', 'after a free');
  }

  destroy(): void {
    this.context.check(
      this.context.driver.functions.cuMemPoolDestroy(this.handle),
      'cuMemPoolDestroy',
    );
  }
}

/** A descriptor of the pool; fails unless it was made exportable. */
export function exportPoolFd(context: GpuContext, pool: number): number {
  const { functions, scratch } = context.driver;
  const result = functions.cuMemPoolExportToShareableHandle(scratch.addr, pool, HANDLE_POSIX_FD, 0);
  context.check(result, 'cuMemPoolExportToShareableHandle');
  return scratch.int32(0);
}

/** What names an allocation of an exported pool to another process; `addr` is its first byte. */
export function exportPoolPointer(context: GpuContext, addr: number): Uint8Array {
  const { functions, scratch } = context.driver;
  const result = functions.cuMemPoolExportPointer(scratch.addr, addr);
  context.check(result, 'cuMemPoolExportPointer', `of 0x${addr.toString(16)}`);
  return scratch.copyOut(0, POOL_POINTER_BYTES);
}

/** An allocation of another process' pool. */
export class ImportedPoolMemory {
  readonly baseAddr: number;
  private readonly context: GpuContext;
  private readonly pool: number;

  /** The descriptor stays the caller's to close. */
  constructor(context: GpuContext, fd: number, pointer: Uint8Array) {
    const { functions, scratch } = context.driver;
    const imported = functions.cuMemPoolImportFromShareableHandle(
      scratch.addr,
      fd,
      HANDLE_POSIX_FD,
      0,
    );
    context.check(imported, 'cuMemPoolImportFromShareableHandle', `descriptor ${fd}`);
    this.context = context;
    this.pool = scratch.uint64(0);
    try {
      this.allow();
      scratch.setBytes(STRUCT_OFFSET, pointer);
      const result = functions.cuMemPoolImportPointer(
        scratch.addr,
        this.pool,
        scratch.addr + STRUCT_OFFSET,
      );
      context.check(result, 'cuMemPoolImportPointer');
      this.baseAddr = scratch.uint64(0);
    } catch (error) {
      functions.cuMemPoolDestroy(this.pool);
      throw error;
    }
  }

  /** Before the owner frees the allocation. */
  close(): void {
    const { functions } = this.context.driver;
    this.context.check(functions.cuMemFree_v2(this.baseAddr), 'cuMemFree_v2', 'of a pool');
    this.context.check(functions.cuMemPoolDestroy(this.pool), 'cuMemPoolDestroy');
  }

  // The GPU of this context may be another than the pool's.
  private allow(): void {
    const { functions, scratch } = this.context.driver;
    scratch.setUint32(STRUCT_OFFSET, LOCATION_DEVICE);
    scratch.setUint32(STRUCT_OFFSET + 4, this.context.device.handle);
    scratch.setUint32(STRUCT_OFFSET + 8, ACCESS_READ_WRITE);
    const result = functions.cuMemPoolSetAccess(this.pool, scratch.addr + STRUCT_OFFSET, 1);
    this.context.check(result, 'cuMemPoolSetAccess');
  }
}
