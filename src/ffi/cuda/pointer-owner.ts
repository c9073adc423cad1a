// Whose memory an address is, as the driver knows it: works for every kind of allocation, virtual
// memory and pools too, where asking for the allocation's range does not.

import type { GpuContext } from './context.js';
import { CudaResult } from './driver.js';

/** Numbers of CUpointer_attribute and CUmemorytype. */
const ATTRIBUTE_MEMORY_TYPE = 2;
const ATTRIBUTE_HOST_POINTER = 4;
const ATTRIBUTE_DEVICE_ORDINAL = 9;
const ATTRIBUTE_IPC_CAPABLE = 10;
const ATTRIBUTE_HANDLE_TYPES = 14;
const ATTRIBUTE_POOL = 17;
const ATTRIBUTE_MAPPING_SIZE = 18;
const ATTRIBUTE_MAPPING_BASE = 19;
const MEMORY_TYPE_DEVICE = 2;
const HANDLE_POSIX_FD = 1;

export interface PointerOwner {
  readonly isDevice: boolean;
  readonly ordinal: number;
}

/** How the allocation behind an address can be given to another process. */
export interface PointerExport {
  /** What is mapped there as one: an allocation, or one of several of an address range. */
  readonly baseAddr: number;
  readonly bytes: number;
  /** From cuMemAlloc: CUDA IPC maps it. */
  readonly isIpcCapable: boolean;
  /** Made to be exported by file descriptor. */
  readonly isFdCapable: boolean;
  /** The pool that it came from; 0 for none. */
  readonly pool: number;
}

/** Undefined for an address that the driver did not hand out. */
export function pointerOwner(context: GpuContext, addr: number): PointerOwner | undefined {
  const type = attribute(context, ATTRIBUTE_MEMORY_TYPE, addr);
  const ordinal = attribute(context, ATTRIBUTE_DEVICE_ORDINAL, addr);
  if (type === undefined || ordinal === undefined) return undefined;
  return { isDevice: type === MEMORY_TYPE_DEVICE, ordinal };
}

export function pointerExport(context: GpuContext, addr: number): PointerExport {
  const known = (which: number): number => attribute(context, which, addr) ?? 0;
  return {
    ...mappedRange(context, addr),
    isIpcCapable: known(ATTRIBUTE_IPC_CAPABLE) !== 0,
    isFdCapable: known(ATTRIBUTE_HANDLE_TYPES) % 2 === HANDLE_POSIX_FD,
    pool: known(ATTRIBUTE_POOL),
  };
}

function mappedRange(context: GpuContext, addr: number) {
  const { functions, scratch } = context.driver;
  const result = functions.cuMemGetAddressRange_v2(scratch.addr, scratch.addr + 8, addr);
  if (result === CudaResult.Success)
    return { baseAddr: scratch.uint64(0), bytes: scratch.uint64(8) };
  const baseAddr = attribute(context, ATTRIBUTE_MAPPING_BASE, addr) ?? 0;
  return { baseAddr, bytes: attribute(context, ATTRIBUTE_MAPPING_SIZE, addr) ?? 0 };
}

/** Bytes of the allocation from the address on; 0 where the driver knows of none. */
export function pointerExtent(context: GpuContext, addr: number): number {
  const { baseAddr, bytes } = mappedRange(context, addr);
  return Math.max(0, baseAddr + bytes - addr);
}

/** Where the CPU reaches memory that the device sees at `deviceAddr`; pinned memory only. */
export function hostAddressOf(context: GpuContext, deviceAddr: number): number {
  return attribute(context, ATTRIBUTE_HOST_POINTER, deviceAddr) ?? 0;
}

// Attributes differ in width: what the driver does not write stays zero.
function attribute(context: GpuContext, which: number, addr: number): number | undefined {
  const { functions, scratch } = context.driver;
  scratch.setUint64(0, 0);
  const result = functions.cuPointerGetAttribute(scratch.addr, which, addr);
  if (result === CudaResult.InvalidValue) return undefined;
  context.check(result, 'cuPointerGetAttribute', `${which} of 0x${addr.toString(16)}`);
  return scratch.uint64(0);
}
