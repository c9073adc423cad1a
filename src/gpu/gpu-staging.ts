// GPUs through the CUDA driver, as one thread uses them: contexts and kernels opened at first need,
// staging for lanes, and the check that a range is memory of the GPU it is said to be of.

import { TcpxError } from '../base/errors.js';
import { GpuContext } from '../ffi/cuda/context.js';
import { deviceByOrdinal } from '../ffi/cuda/device.js';
import { CudaResult, gpuAbsence, openCudaDriver } from '../ffi/cuda/driver.js';
import { pointerOwner } from '../ffi/cuda/pointer-owner.js';
import { GpuCopyQueue } from './gpu-copy-queue.js';
import { GpuKernels } from './gpu-kernels.js';
import {
  COPY_DONE,
  COPY_FAILED,
  COPY_PENDING,
  type GpuProvider,
  type StagingDevice,
  type StagingShape,
} from './staging-device.js';

class CudaStaging implements StagingDevice {
  readonly out: GpuCopyQueue;
  readonly into: GpuCopyQueue;
  readonly #context: GpuContext;

  constructor(kernels: GpuKernels, shape: StagingShape) {
    this.#context = kernels.context;
    this.out = new GpuCopyQueue(kernels, 'gather', shape);
    this.into = new GpuCopyQueue(kernels, 'scatter', shape);
  }

  pollEvent(handle: number): number {
    this.#context.makeCurrent();
    const result = this.#context.driver.functions.cuEventQuery(handle);
    if (result === CudaResult.Success) return COPY_DONE;
    return result === CudaResult.NotReady ? COPY_PENDING : COPY_FAILED;
  }

  close(): void {
    this.#context.makeCurrent();
    this.out.close();
    this.into.close();
  }
}

/** Why no GPU can be used here; empty where one can. */
export function gpuObstacle(): string {
  return gpuAbsence() ?? '';
}

export class CudaProvider implements GpuProvider {
  readonly #contexts = new Map<number, GpuContext>();
  readonly #kernels = new Map<number, GpuKernels>();

  checkRange(device: number, addr: number, bytes: number): void {
    const context = this.context(device);
    for (const one of [addr, addr + bytes - 1]) {
      const owner = pointerOwner(context, one);
      if (owner?.isDevice === true && owner.ordinal === device) continue;
      const seen =
        owner === undefined
          ? 'unknown to the driver'
          : `${owner.isDevice ? 'device' : 'host'} memory of GPU ${owner.ordinal}`;
      throw new TcpxError(
        'ERR_USAGE_ARGUMENT',
        `register ${bytes} bytes of GPU ${device} at 0x${addr.toString(16)}: ` +
          `0x${one.toString(16)} is ${seen}`,
      );
    }
  }

  openStaging(device: number, shape: StagingShape): StagingDevice {
    const context = this.context(device);
    const kernels = this.#kernels.get(device) ?? new GpuKernels(context);
    this.#kernels.set(device, kernels);
    return new CudaStaging(kernels, shape);
  }

  close(): void {
    for (const [device, context] of this.#contexts) {
      context.makeCurrent();
      this.#kernels.get(device)?.unload();
      context.close();
    }
    this.#kernels.clear();
    this.#contexts.clear();
  }

  /** The GPU's context, current in this thread. */
  context(device: number): GpuContext {
    const known = this.#contexts.get(device);
    if (known !== undefined) {
      known.makeCurrent();
      return known;
    }
    const driver = openCudaDriver();
    const context = new GpuContext(driver, deviceByOrdinal(driver, device));
    this.#contexts.set(device, context);
    return context;
  }
}

export function openGpuProvider(): GpuProvider {
  return new CudaProvider();
}
