// Code on the GPU: a module from PTX text, its functions, and launches whose parameters lie ready
// in fixed memory. Our kernels take one structure each, so a launch needs one pointer to it.

import { assert } from '../../base/assert.js';
import type { GpuContext } from './context.js';
import { addressOf, FixedMemory } from './fixed-memory.js';

const POINTER_BYTES = 8;

export class GpuModule {
  readonly name: string;
  private readonly handle: number;
  private readonly context: GpuContext;

  /** The driver compiles the text for its device; a few milliseconds, cached by the driver. */
  constructor(context: GpuContext, name: string, ptx: string) {
    const image = Buffer.from(`${ptx}\0`, 'latin1');
    const { functions, scratch } = context.driver;
    const result = functions.cuModuleLoadData(scratch.addr, addressOf(image));
    context.check(result, 'cuModuleLoadData', `${name}, ${image.length} bytes of PTX,`);
    this.context = context;
    this.name = name;
    this.handle = scratch.uint64(0);
  }

  /** Address of a kernel, by its name in the source. */
  functionHandle(kernel: string): number {
    const { functions, scratch } = this.context.driver;
    const result = functions.cuModuleGetFunction(scratch.addr, this.handle, kernel);
    this.context.check(result, 'cuModuleGetFunction', `${kernel} of module ${this.name}`);
    return scratch.uint64(0);
  }

  unload(): void {
    const result = this.context.driver.functions.cuModuleUnload(this.handle);
    this.context.check(result, 'cuModuleUnload', this.name);
  }
}

/** struct CUlaunchConfig, then the one CUlaunchAttribute that we give it. */
export const LaunchConfigLayout = {
  gridX: 0,
  gridY: 4,
  gridZ: 8,
  blockX: 12,
  blockY: 16,
  blockZ: 20,
  stream: 32,
  attributes: 40,
  attributeCount: 48,
  attributeId: 56,
  attributeValue: 64,
  bytes: 128,
} as const;

/** The launch may begin while the one before it in the stream still runs; its kernel waits. */
const PROGRAMMATIC_STREAM_SERIALIZATION = 6;

export class PreparedLaunch {
  readonly functionHandle: number;
  /** Address of the pointer array that cuLaunchKernel takes. */
  readonly parametersAddr: number;
  /** The kernel's parameter structure; fill it before each launch. */
  readonly parameters: FixedMemory;
  /** The kernel waits for the work before it by itself (awaitEarlierWork in kernels/). */
  readonly mayOverlap: boolean;
  /** What cuLaunchKernelEx takes; grid, block and stream are filled in at each launch. */
  readonly config: FixedMemory;
  private readonly pointers: FixedMemory;

  constructor(functionHandle: number, parameterBytes: number, mayOverlap = false) {
    assert(functionHandle !== 0, 'a launch has a function');
    this.functionHandle = functionHandle;
    this.parameters = new FixedMemory(parameterBytes);
    this.pointers = new FixedMemory(POINTER_BYTES);
    this.pointers.setUint64(0, this.parameters.addr);
    this.parametersAddr = this.pointers.addr;
    this.mayOverlap = mayOverlap;
    this.config = makeConfig();
  }

  /** Returns the blocks; no launch may follow. */
  free(): void {
    this.parameters.free();
    this.pointers.free();
    this.config.free();
  }
}

function makeConfig(): FixedMemory {
  const config = new FixedMemory(LaunchConfigLayout.bytes);
  const { gridY, gridZ, blockY, blockZ, attributeCount, attributeValue } = LaunchConfigLayout;
  for (const one of [gridY, gridZ, blockY, blockZ, attributeCount, attributeValue]) {
    config.setUint32(one, 1);
  }
  config.setUint64(LaunchConfigLayout.attributes, config.addr + LaunchConfigLayout.attributeId);
  config.setUint32(LaunchConfigLayout.attributeId, PROGRAMMATIC_STREAM_SERIALIZATION);
  return config;
}
