// The rail GPU of a plugin host: its primary context, current in the one thread that makes every
// plugin call, streams for copies out and in, and memory for rings.

import type { GpuContext } from '../../../ffi/cuda/context.js';
import { DeviceMemory } from '../../../ffi/cuda/device-memory.js';
import { addressOf } from '../../../ffi/cuda/fixed-memory.js';
import { PinnedMemory } from '../../../ffi/cuda/pinned-memory.js';
import { hostAddressOf, pointerExtent } from '../../../ffi/cuda/pointer-owner.js';
import { POINTER_CUDA, POINTER_HOST } from '../../../ffi/nccl-net/net-plugin.js';
import { GpuKernels } from '../../../gpu/gpu-kernels.js';
import type { UnpackKind } from './chunk-mover.js';
import { GpuMover } from './gpu-mover.js';
import { type RingMemory, roundToPage } from './ring-memory.js';
import type { HandleReader } from './unpack-queue.js';

export class GpuSide implements HandleReader {
  readonly context: GpuContext;
  readonly out: GpuMover;
  readonly into: GpuMover;

  /** The context is current and stays so. */
  constructor(context: GpuContext, unpack: UnpackKind, chunkBytes: number) {
    const kernels = new GpuKernels(context);
    this.context = context;
    this.out = new GpuMover(kernels, unpack, chunkBytes);
    this.into = new GpuMover(kernels, unpack, chunkBytes);
  }

  /** Device memory on a page border, as registration demands. */
  deviceRing(bytes: number): RingMemory {
    const rounded = roundToPage(bytes);
    const memory = new DeviceMemory(this.context, rounded + roundToPage(1));
    const addr = roundToPage(memory.addr);
    return { addr, bytes: rounded, pointerType: POINTER_CUDA, free: () => memory.free() };
  }

  /** Host memory that the GPU copies from and to without a detour. */
  pinnedRing(bytes: number): RingMemory {
    const memory = new PinnedMemory(this.context, roundToPage(bytes));
    const { addr } = memory;
    return { addr, bytes: memory.bytes, pointerType: POINTER_HOST, free: () => memory.free() };
  }

  read(addr: number, bytes: number): Uint8Array {
    const target = new Uint8Array(new ArrayBuffer(bytes));
    const { functions } = this.context.driver;
    const result = functions.cuMemcpyDtoH_v2(addressOf(target), addr, bytes);
    this.context.check(result, 'cuMemcpyDtoH_v2', `${bytes} bytes`);
    return target;
  }

  extent(addr: number): number {
    return pointerExtent(this.context, addr);
  }

  /** With unified addresses both are the same. */
  hostAddressOf(deviceAddr: number): number {
    return hostAddressOf(this.context, deviceAddr) || deviceAddr;
  }
}
