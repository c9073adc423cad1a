// GPU memory shared by file descriptor: allocations of the virtual memory calls that were made
// exportable, and dma-buf descriptors of a range for NICs and other drivers.
// Whoever gets a descriptor closes it.

import { closeSync } from 'node:fs';
import { assert } from '../../base/assert.js';
import type { GpuContext } from './context.js';
import { DeviceAttribute, deviceAttribute } from './device.js';
import { gpuError } from './driver.js';

const HANDLE_POSIX_FD = 1;
const ALLOCATION_PINNED = 1;
const LOCATION_DEVICE = 1;
const ACCESS_READ_WRITE = 3;
const GRANULARITY_MINIMUM = 0;
const RANGE_DMA_BUF_FD = 1;
const DMA_BUF_PAGE_BYTES = 4096;
/** CUmemAllocationProp (32 bytes) and CUmemAccessDesc lie here, clear of the out-parameters. */
const STRUCT_OFFSET = 64;

/** One physical allocation, mapped as a whole. */
interface Segment {
  readonly allocation: number;
  readonly bytes: number;
}

/** A mapping of shareable memory: one allocation, or several one behind the other. */
export class SharedMemory {
  readonly addr: number;
  readonly bytes: number;
  private readonly context: GpuContext;

  constructor(context: GpuContext, segments: readonly Segment[]) {
    this.context = context;
    this.bytes = segments.reduce((sum, { bytes }) => sum + bytes, 0);
    this.addr = mapSegments(context, segments, this.bytes);
  }

  unmap(): void {
    const { functions } = this.context.driver;
    this.context.check(functions.cuMemUnmap(this.addr, this.bytes), 'cuMemUnmap');
    this.context.check(functions.cuMemAddressFree(this.addr, this.bytes), 'cuMemAddressFree');
  }
}

/** New memory of at least `bytes`, exportable by descriptor; in so many allocations if asked. */
export function createSharedMemory(
  context: GpuContext,
  bytes: number,
  segmentCount = 1,
): SharedMemory {
  requireVirtualMemory(context);
  const { functions, scratch } = context.driver;
  writeAllocationProp(context);
  const prop = scratch.addr + STRUCT_OFFSET;
  const asked = functions.cuMemGetAllocationGranularity(scratch.addr, prop, GRANULARITY_MINIMUM);
  context.check(asked, 'cuMemGetAllocationGranularity');
  const unit = scratch.uint64(0);
  const rounded = Math.ceil(bytes / segmentCount / unit) * unit;
  const segments: Segment[] = [];
  for (let index = 0; index < segmentCount; index++) {
    const result = functions.cuMemCreate(scratch.addr, rounded, prop, 0);
    context.check(result, 'cuMemCreate', `${rounded} bytes`);
    segments.push({ allocation: scratch.uint64(0), bytes: rounded });
  }
  return mapAndDrop(context, segments);
}

/** What another process exported: a descriptor per allocation, in the order of addresses. */
export interface ExportedSegment {
  readonly fd: number;
  readonly bytes: number;
}

/** Maps them one behind the other; the descriptors stay the caller's to close. */
export function importSharedMemory(
  context: GpuContext,
  exported: readonly ExportedSegment[],
): SharedMemory {
  requireVirtualMemory(context);
  const { functions, scratch } = context.driver;
  const segments: Segment[] = [];
  try {
    for (const { fd, bytes } of exported) {
      const result = functions.cuMemImportFromShareableHandle(scratch.addr, fd, HANDLE_POSIX_FD);
      context.check(result, 'cuMemImportFromShareableHandle', `descriptor ${fd}`);
      segments.push({ allocation: scratch.uint64(0), bytes });
    }
  } catch (error) {
    for (const { allocation } of segments) functions.cuMemRelease(allocation);
    throw error;
  }
  return mapAndDrop(context, segments);
}

/** A descriptor of the allocation behind an address; fails unless it was made exportable. */
export function exportAllocationFd(context: GpuContext, addr: number): number {
  const { functions, scratch } = context.driver;
  const kept = functions.cuMemRetainAllocationHandle(scratch.addr, addr);
  context.check(kept, 'cuMemRetainAllocationHandle', `of 0x${addr.toString(16)}`);
  const allocation = scratch.uint64(0);
  const exported = functions.cuMemExportToShareableHandle(
    scratch.addr,
    allocation,
    HANDLE_POSIX_FD,
    0,
  );
  const fd = scratch.int32(0);
  const released = functions.cuMemRelease(allocation);
  context.check(exported, 'cuMemExportToShareableHandle', `of 0x${addr.toString(16)}`);
  if (released !== 0) closeSync(fd);
  context.check(released, 'cuMemRelease');
  return fd;
}

/** A dma-buf descriptor of a range; both ends on page boundaries. */
export function exportDmaBufFd(context: GpuContext, addr: number, bytes: number): number {
  assert(addr % DMA_BUF_PAGE_BYTES === 0, 'a dma-buf starts on a page');
  assert(bytes % DMA_BUF_PAGE_BYTES === 0 && bytes > 0, 'a dma-buf is a number of pages');
  const { driver, device } = context;
  if (deviceAttribute(driver, device.handle, DeviceAttribute.DmaBufSupported) === 0) {
    throw gpuError(`dma-buf export ${context.subject}: the driver does not offer it`);
  }
  const { functions, scratch } = driver;
  const result = functions.cuMemGetHandleForAddressRange(
    scratch.addr,
    addr,
    bytes,
    RANGE_DMA_BUF_FD,
    0,
  );
  context.check(result, 'cuMemGetHandleForAddressRange', `${bytes} bytes`);
  return scratch.int32(0);
}

function requireVirtualMemory(context: GpuContext): void {
  const { driver, device } = context;
  const needed = [DeviceAttribute.VirtualMemorySupported, DeviceAttribute.PosixFdHandleSupported];
  for (const attribute of needed) {
    if (deviceAttribute(driver, device.handle, attribute) === 0) {
      throw gpuError(`shareable memory ${context.subject}: attribute ${attribute} is off`);
    }
  }
}

// The mapping keeps the memory alive; the handles are not needed once it exists.
function mapAndDrop(context: GpuContext, segments: readonly Segment[]): SharedMemory {
  const { functions } = context.driver;
  try {
    return new SharedMemory(context, segments);
  } finally {
    for (const { allocation } of segments) {
      context.check(functions.cuMemRelease(allocation), 'cuMemRelease');
    }
  }
}

function mapSegments(context: GpuContext, segments: readonly Segment[], bytes: number): number {
  const { functions, scratch } = context.driver;
  const reserved = functions.cuMemAddressReserve(scratch.addr, bytes, 0, 0, 0);
  context.check(reserved, 'cuMemAddressReserve', `${bytes} bytes`);
  const addr = scratch.uint64(0);
  let mapped = 0;
  try {
    for (const segment of segments) {
      const result = functions.cuMemMap(addr + mapped, segment.bytes, 0, segment.allocation, 0);
      context.check(result, 'cuMemMap', `${segment.bytes} bytes`);
      mapped += segment.bytes;
    }
    writeAccessDescriptor(context);
    const result = functions.cuMemSetAccess(addr, bytes, scratch.addr + STRUCT_OFFSET, 1);
    context.check(result, 'cuMemSetAccess', `${bytes} bytes`);
  } catch (error) {
    if (mapped > 0) functions.cuMemUnmap(addr, mapped);
    functions.cuMemAddressFree(addr, bytes);
    throw error;
  }
  return addr;
}

// CUmemAllocationProp: type, handle types, location {type, id}, a pointer and 8 bytes of flags.
function writeAllocationProp(context: GpuContext): void {
  const { scratch } = context.driver;
  scratch.clear();
  scratch.setUint32(STRUCT_OFFSET, ALLOCATION_PINNED);
  scratch.setUint32(STRUCT_OFFSET + 4, HANDLE_POSIX_FD);
  scratch.setUint32(STRUCT_OFFSET + 8, LOCATION_DEVICE);
  scratch.setUint32(STRUCT_OFFSET + 12, context.device.handle);
}

// CUmemAccessDesc: location {type, id}, flags.
function writeAccessDescriptor(context: GpuContext): void {
  const { scratch } = context.driver;
  scratch.setUint32(STRUCT_OFFSET, LOCATION_DEVICE);
  scratch.setUint32(STRUCT_OFFSET + 4, context.device.handle);
  scratch.setUint32(STRUCT_OFFSET + 8, ACCESS_READ_WRITE);
}
