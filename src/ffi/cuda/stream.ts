// Streams and events: made and ended here, used per chunk through GpuQueue.

import type { GpuContext } from './context.js';
import { CudaResult } from './driver.js';
import { GpuQueue } from './gpu-queue.hot.js';

const STREAM_NON_BLOCKING = 1;
const EVENT_DISABLE_TIMING = 2;

export class GpuStream {
  readonly queue: GpuQueue;
  private readonly context: GpuContext;

  constructor(context: GpuContext) {
    const { functions, scratch } = context.driver;
    const result = functions.cuStreamCreate(scratch.addr, STREAM_NON_BLOCKING);
    context.check(result, 'cuStreamCreate');
    this.context = context;
    this.queue = new GpuQueue(functions, scratch.uint64(0));
  }

  /** Waits for all work in the stream; a fault of any of it shows here. */
  synchronize(): void {
    const result = this.context.driver.functions.cuStreamSynchronize(this.queue.streamHandle);
    this.context.check(result, 'cuStreamSynchronize');
  }

  /** False while work is pending; a fault of any of it throws. */
  isIdle(): boolean {
    const result = this.context.driver.functions.cuStreamQuery(this.queue.streamHandle);
    if (result === CudaResult.NotReady) return false;
    this.context.check(result, 'cuStreamQuery');
    return true;
  }

  destroy(): void {
    const result = this.context.driver.functions.cuStreamDestroy_v2(this.queue.streamHandle);
    this.context.check(result, 'cuStreamDestroy_v2');
  }
}

export interface EventOptions {
  /** Keeps a time stamp for elapsedMs, which costs a little per record. */
  readonly isTimed?: boolean;
}

export class GpuEvent {
  readonly handle: number;
  private readonly context: GpuContext;

  constructor(context: GpuContext, options: EventOptions = {}) {
    const { functions, scratch } = context.driver;
    const flags = options.isTimed === true ? 0 : EVENT_DISABLE_TIMING;
    context.check(functions.cuEventCreate(scratch.addr, flags), 'cuEventCreate');
    this.context = context;
    this.handle = scratch.uint64(0);
  }

  record(stream: GpuStream): void {
    this.context.check(stream.queue.recordEvent(this.handle), 'cuEventRecord');
  }

  /** Work queued on the stream from now on waits for this event. */
  holdBack(stream: GpuStream): void {
    this.context.check(stream.queue.waitEvent(this.handle), 'cuStreamWaitEvent');
  }

  hasHappened(): boolean {
    const result = this.context.driver.functions.cuEventQuery(this.handle);
    if (result === CudaResult.NotReady) return false;
    this.context.check(result, 'cuEventQuery');
    return true;
  }

  synchronize(): void {
    const result = this.context.driver.functions.cuEventSynchronize(this.handle);
    this.context.check(result, 'cuEventSynchronize');
  }

  /** Milliseconds of device time since another timed event. */
  elapsedMs(since: GpuEvent): number {
    const { functions, scratch } = this.context.driver;
    const result = functions.cuEventElapsedTime(scratch.addr, since.handle, this.handle);
    this.context.check(result, 'cuEventElapsedTime');
    return scratch.float32(0);
  }

  destroy(): void {
    const result = this.context.driver.functions.cuEventDestroy_v2(this.handle);
    this.context.check(result, 'cuEventDestroy_v2');
  }
}
