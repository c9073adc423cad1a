// Our kernels on one GPU: loaded once per context from the PTX that the package carries.

import { readFileSync } from 'node:fs';
import { assert } from '../base/assert.js';
import type { GpuContext } from '../ffi/cuda/context.js';
import { kernelObstacle } from '../ffi/cuda/device.js';
import { gpuError } from '../ffi/cuda/driver.js';
import { GpuModule, PreparedLaunch } from '../ffi/cuda/module.js';
import {
  BLOCKS_PER_PROCESSOR,
  BlocksLayout,
  FewLayout,
  SpanLayout,
  UnpackLayout,
} from './gpu-params.js';

/** Kernel → the module that holds it and the size of its parameter structure. */
export const KERNELS = {
  unpack: { module: 'unpack', parameterBytes: UnpackLayout.bytes },
  unpack_few: { module: 'unpack', parameterBytes: FewLayout.bytes },
  gather: { module: 'blocks', parameterBytes: BlocksLayout.bytes },
  scatter: { module: 'blocks', parameterBytes: BlocksLayout.bytes },
  fill: { module: 'pattern', parameterBytes: SpanLayout.bytes },
  verify: { module: 'pattern', parameterBytes: SpanLayout.bytes },
  checksum: { module: 'pattern', parameterBytes: SpanLayout.bytes },
} as const;
export type KernelName = keyof typeof KERNELS;

/** Modules that have a second form for compute capability 9.0 and up, whose launches overlap. */
export const HOPPER_MODULES: Readonly<Record<string, string>> = { unpack: 'unpack-90' };
const HOPPER = 90;

export class GpuKernels {
  readonly context: GpuContext;
  /** More blocks than this would wait for others to end. */
  readonly blocksMax: number;
  private readonly modules = new Map<string, GpuModule>();
  private readonly isHopper: boolean;

  constructor(context: GpuContext) {
    const obstacle = kernelObstacle(context.device);
    if (obstacle !== undefined) throw gpuError(obstacle);
    this.context = context;
    this.isHopper = context.device.computeCapability >= HOPPER;
    this.blocksMax = context.device.multiprocessors * BLOCKS_PER_PROCESSOR;
    for (const { module } of Object.values(KERNELS)) {
      if (this.modules.has(module)) continue;
      const form = (this.isHopper ? HOPPER_MODULES[module] : undefined) ?? module;
      this.modules.set(module, new GpuModule(context, form, readPtx(form)));
    }
  }

  /** A launch with a parameter block; the caller fills the block and frees the launch. */
  prepare(kernel: KernelName): PreparedLaunch {
    const { module, parameterBytes } = KERNELS[kernel];
    const loaded = this.modules.get(module);
    assert(loaded !== undefined, `the module ${module} of ${kernel} is loaded`);
    const handle = loaded.functionHandle(`tcpx_${kernel}`);
    const mayOverlap = this.isHopper && module in HOPPER_MODULES;
    return new PreparedLaunch(handle, parameterBytes, mayOverlap);
  }

  unload(): void {
    for (const module of this.modules.values()) module.unload();
    this.modules.clear();
  }
}

export function readPtx(module: string): string {
  return readFileSync(new URL(`../../../kernels/${module}.ptx`, import.meta.url), 'utf8');
}
