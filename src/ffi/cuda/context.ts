// The primary context of a GPU, the one that frameworks in the same process use too. A context is
// current per thread: every thread that calls the driver opens its own, and closes it at its end.

import { TcpxError } from '../../base/errors.js';
import type { GpuDevice } from './device.js';
import { type CudaDriver, CudaResult, checkCuda } from './driver.js';

export interface MemoryInfo {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

export class GpuContext {
  readonly driver: CudaDriver;
  readonly device: GpuDevice;
  private readonly handle: number;
  private isOpen = true;

  /** Retains the primary context and makes it current in the calling thread. */
  constructor(driver: CudaDriver, device: GpuDevice) {
    this.driver = driver;
    this.device = device;
    const { functions, scratch } = driver;
    const result = functions.cuDevicePrimaryCtxRetain(scratch.addr, device.handle);
    checkCuda(driver, result, 'cuDevicePrimaryCtxRetain', this.subject);
    this.handle = scratch.uint64(0);
    this.makeCurrent();
  }

  /** For messages: what a failed call was about. */
  get subject(): string {
    return `on GPU ${this.device.ordinal} (${this.device.pciAddress})`;
  }

  /** Needed again after another device was made current in this thread. */
  makeCurrent(): void {
    if (!this.isOpen) {
      throw new TcpxError('ERR_USAGE_STATE', `context ${this.subject} is closed`);
    }
    this.check(this.driver.functions.cuCtxSetCurrent(this.handle), 'cuCtxSetCurrent');
  }

  isCurrent(): boolean {
    const { functions, scratch } = this.driver;
    this.check(functions.cuCtxGetCurrent(scratch.addr), 'cuCtxGetCurrent');
    return scratch.uint64(0) === this.handle;
  }

  /** Waits for everything on this GPU that the process has started. */
  synchronize(): void {
    this.check(this.driver.functions.cuCtxSynchronize(), 'cuCtxSynchronize');
  }

  memoryInfo(): MemoryInfo {
    const { functions, scratch } = this.driver;
    const result = functions.cuMemGetInfo_v2(scratch.addr, scratch.addr + 8);
    this.check(result, 'cuMemGetInfo_v2');
    return { freeBytes: scratch.uint64(0), totalBytes: scratch.uint64(8) };
  }

  /** Gives the primary context back; what was allocated through it must be freed before. */
  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    const { functions } = this.driver;
    this.check(functions.cuCtxSetCurrent(0), 'cuCtxSetCurrent');
    const result = functions.cuDevicePrimaryCtxRelease_v2(this.device.handle);
    this.check(result, 'cuDevicePrimaryCtxRelease_v2');
  }

  check(result: number, call: Parameters<typeof checkCuda>[2], what = ''): void {
    if (result === CudaResult.Success) return;
    checkCuda(this.driver, result, call, what === '' ? this.subject : `${what} ${this.subject}`);
  }
}
