// Timing on a GPU: device time by events around many operations, host time by the clock, medians.

import type { GpuContext } from '../src/ffi/cuda/context.js';
import { DeviceMemory } from '../src/ffi/cuda/device-memory.js';
import { GpuEvent, type GpuStream } from '../src/ffi/cuda/stream.js';

/** Keeps the GPU busy for longer than the host needs to queue a sample. */
const BLOCKER_BYTES = 3 * 2 ** 30;
const OPERATIONS_PER_SAMPLE = 40;
const SAMPLES = 15;

export interface Percentiles {
  readonly p50: number;
  readonly p10: number;
  readonly p90: number;
}

export function percentiles(values: readonly number[]): Percentiles {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;
  return { p50: at(0.5), p10: at(0.1), p90: at(0.9) };
}

export class DeviceTimer {
  private readonly context: GpuContext;
  private readonly stream: GpuStream;
  private readonly blocker: DeviceMemory;
  private readonly start: GpuEvent;
  private readonly end: GpuEvent;

  constructor(context: GpuContext, stream: GpuStream) {
    this.context = context;
    this.stream = stream;
    this.blocker = new DeviceMemory(context, BLOCKER_BYTES);
    this.start = new GpuEvent(context, { isTimed: true });
    this.end = new GpuEvent(context, { isTimed: true });
  }

  /**
   * Microseconds of device time per operation. Everything of a sample is queued while a long fill
   * runs, so that the host's pace is not in the number; the gap between two launches is.
   */
  perOperationUs(
    operation: (turn: number) => void,
    operations = OPERATIONS_PER_SAMPLE,
  ): Percentiles {
    const samples: number[] = [];
    for (let sample = -2; sample < SAMPLES; sample++) {
      const filled = this.stream.queue.fillDevice(this.blocker.addr, sample & 0xff, BLOCKER_BYTES);
      this.context.check(filled, 'cuMemsetD8Async');
      this.start.record(this.stream);
      for (let turn = 0; turn < operations; turn++) operation(turn);
      this.end.record(this.stream);
      this.end.synchronize();
      if (sample >= 0) samples.push((this.end.elapsedMs(this.start) * 1000) / operations);
    }
    return percentiles(samples);
  }

  destroy(): void {
    this.blocker.free();
    this.start.destroy();
    this.end.destroy();
  }
}

/** Microseconds of host time per call, warmed up; `settle` runs after each, off the clock. */
export function perCallUs(
  call: () => void,
  calls: number,
  settle: () => void = () => undefined,
): Percentiles {
  const warmUp = Math.ceil(calls / 5);
  const samples: number[] = [];
  for (let index = 0; index < warmUp + calls; index++) {
    const start = performance.now();
    call();
    const elapsedMs = performance.now() - start;
    if (index >= warmUp) samples.push(elapsedMs * 1000);
    settle();
  }
  return percentiles(samples);
}
