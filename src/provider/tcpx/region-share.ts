// How the application hands a region to its plugin hosts, again to each that is started. GPU memory
// goes the way that its allocation allows: CUDA IPC, a descriptor, its pool; what cannot be
// exported has a shadow of its size in memory that can, and is copied on the way.

import { closeSync } from 'node:fs';
import type { GpuContext } from '../../ffi/cuda/context.js';
import { DeviceMemory } from '../../ffi/cuda/device-memory.js';
import { CudaResult } from '../../ffi/cuda/driver.js';
import { exportIpc } from '../../ffi/cuda/ipc.js';
import { exportPoolFd, exportPoolPointer } from '../../ffi/cuda/memory-pool.js';
import { type PointerExport, pointerExport } from '../../ffi/cuda/pointer-owner.js';
import { exportAllocationFd } from '../../ffi/cuda/shared-memory.js';
import { GpuStream } from '../../ffi/cuda/stream.js';
import { CudaProvider } from '../../gpu/gpu-staging.js';
import type { DeviceRange } from '../../memory/region.js';
import type { RegionWay, SharedRegion } from './host-region.js';
import type { SharedPart } from './shared-allocations.js';
import type { SharedMemory } from './shared-region.js';

/** Descriptors of one region; each is a message that waits in a socket until the host takes it. */
const SEGMENTS_MAX = 128;

export interface RegionShare {
  readonly way: RegionWay;
  readonly shared: SharedRegion;
  /** Sent ahead of `shared`, to every host. */
  readonly descriptors: readonly number[];
  /** Only of what is staged. */
  readonly shadow?: Shadow;
  /** Host memory; held here so that it stays mapped for as long as it is registered. */
  readonly memory?: SharedMemory;
  /** When no host has it mapped any more. */
  close(): void;
}

/** Copies between a region and its shadow; returns when they are done. */
export interface Shadow {
  /** Region to shadow, before it is sent. */
  fill(offset: number, bytes: number): void;
  /** Shadow to region, after it was received. */
  drain(offset: number, bytes: number): void;
}

export function shareHostMemory({ memory, offset }: SharedPart, bytes: number): RegionShare {
  const { path, bytes: fileBytes } = memory;
  const shared = { way: 'shared', path, fileBytes, offset, bytes } as const;
  return { way: 'shared', shared, descriptors: [], memory, close: () => undefined };
}

/** GPUs of the application, opened at first need. */
export class DeviceSharer {
  #gpus: CudaProvider | undefined;

  /** Refuses what is not memory of that GPU. */
  share(range: DeviceRange): RegionShare {
    this.#gpus ??= new CudaProvider();
    this.#gpus.checkRange(range.device, range.addr, range.bytes);
    const context = this.#gpus.context(range.device);
    const facts = pointerExport(context, range.addr);
    if (facts.isIpcCapable) return shareIpc(context, range);
    if (!facts.isFdCapable) return shareStaged(context, range);
    if (facts.pool !== 0) return sharePool(context, range, facts);
    const segments = findSegments(context, range);
    const isSharable = segments.length > 0 && segments.length <= SEGMENTS_MAX;
    return isSharable ? shareSegments(context, range, segments) : shareStaged(context, range);
  }

  /** Whether a CUDA event of this process has happened; throws when it never will. */
  hasHappened(event: { readonly device: number; readonly handle: number }): boolean {
    this.#gpus ??= new CudaProvider();
    const context = this.#gpus.context(event.device);
    const result = context.driver.functions.cuEventQuery(event.handle);
    if (result === CudaResult.NotReady) return false;
    context.check(result, 'cuEventQuery');
    return true;
  }

  close(): void {
    this.#gpus?.close();
    this.#gpus = undefined;
  }
}

function shareIpc(context: GpuContext, { device, addr, bytes }: DeviceRange): RegionShare {
  const { handle, offset } = exportIpc(context, addr);
  const hex = Buffer.from(handle).toString('hex');
  const shared = { way: 'ipc', device, handle: hex, offset, bytes } as const;
  return { way: 'ipc', shared, descriptors: [], close: () => undefined };
}

function sharePool(context: GpuContext, range: DeviceRange, facts: PointerExport): RegionShare {
  const { device, addr, bytes } = range;
  // The pool first: its allocations cannot be named before it is shared.
  const fd = exportPoolFd(context, facts.pool);
  try {
    const pointer = Buffer.from(exportPoolPointer(context, facts.baseAddr)).toString('hex');
    const offset = addr - facts.baseAddr;
    const shared = { way: 'pool', device, pointer, offset, bytes } as const;
    return { way: 'pool', shared, descriptors: [fd], close: () => closeSync(fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** The allocations behind the range, in order; none when one of them cannot be exported. */
function findSegments(context: GpuContext, { addr, bytes }: DeviceRange): PointerExport[] {
  const segments: PointerExport[] = [];
  for (let at = addr; at < addr + bytes; ) {
    const segment = pointerExport(context, at);
    if (!segment.isFdCapable || segment.bytes === 0) return [];
    segments.push(segment);
    at = segment.baseAddr + segment.bytes;
  }
  return segments;
}

function shareSegments(
  context: GpuContext,
  { device, addr, bytes }: DeviceRange,
  segments: readonly PointerExport[],
): RegionShare {
  const descriptors: number[] = [];
  const close = (): void => {
    for (const fd of descriptors.splice(0)) closeSync(fd);
  };
  try {
    for (const { baseAddr } of segments) descriptors.push(exportAllocationFd(context, baseAddr));
  } catch (error) {
    close();
    throw error;
  }
  const offset = addr - (segments[0]?.baseAddr ?? addr);
  const sizes = segments.map((segment) => segment.bytes);
  const shared = { way: 'vmm', device, segments: sizes, offset, bytes } as const;
  return { way: 'vmm', shared, descriptors, close };
}

function shareStaged(context: GpuContext, range: DeviceRange): RegionShare {
  const memory = new DeviceMemory(context, range.bytes);
  const stream = new GpuStream(context);
  const copy = (target: number, source: number, bytes: number): void => {
    context.makeCurrent();
    const result = stream.queue.copyDeviceToDevice(target, source, bytes);
    context.check(result, 'cuMemcpyDtoDAsync_v2', `${bytes} bytes`);
    stream.synchronize();
  };
  const shadow: Shadow = {
    fill: (offset, bytes) => copy(memory.addr + offset, range.addr + offset, bytes),
    drain: (offset, bytes) => copy(range.addr + offset, memory.addr + offset, bytes),
  };
  const { shared } = shareIpc(context, { ...range, addr: memory.addr });
  const close = (): void => {
    context.makeCurrent();
    stream.destroy();
    memory.free();
  };
  return { way: 'staged', shared, descriptors: [], shadow, close };
}
