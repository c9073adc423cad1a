// Whose memory an address is, as the driver knows it: works for every kind of allocation, virtual
// memory and pools too, where asking for the allocation's range does not.

import type { GpuContext } from './context.js';
import { CudaResult } from './driver.js';

/** Numbers of CUpointer_attribute and CUmemorytype. */
const ATTRIBUTE_MEMORY_TYPE = 2;
const ATTRIBUTE_DEVICE_ORDINAL = 9;
const MEMORY_TYPE_DEVICE = 2;

export interface PointerOwner {
  readonly isDevice: boolean;
  readonly ordinal: number;
}

/** Undefined for an address that the driver did not hand out. */
export function pointerOwner(context: GpuContext, addr: number): PointerOwner | undefined {
  const type = attribute(context, ATTRIBUTE_MEMORY_TYPE, addr);
  const ordinal = attribute(context, ATTRIBUTE_DEVICE_ORDINAL, addr);
  if (type === undefined || ordinal === undefined) return undefined;
  return { isDevice: type === MEMORY_TYPE_DEVICE, ordinal };
}

function attribute(context: GpuContext, which: number, addr: number): number | undefined {
  const { functions, scratch } = context.driver;
  const result = functions.cuPointerGetAttribute(scratch.addr, which, addr);
  if (result === CudaResult.InvalidValue) return undefined;
  context.check(result, 'cuPointerGetAttribute', `${which} of 0x${addr.toString(16)}`);
  return scratch.int32(0);
}
