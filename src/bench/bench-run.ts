// What an initiator hands over when it has measured.

import { TcpxError } from '../base/errors.js';
import type { NicIntake } from '../engine/internal.js';
import type { BenchMemory } from './bench-memory.js';
import type { BenchMeter } from './bench-meter.js';
import type { HostFacts } from './bench-result.js';
import type { BenchInterval } from './interval-meter.js';

export interface BenchRun {
  readonly meter: BenchMeter;
  readonly intervals: readonly BenchInterval[];
  /** Of the measured iterations, in ms since 1970. */
  readonly window: { readonly fromMs: number; readonly toMs: number };
  /** To make the request ready, before the first post. */
  readonly prepareUs: number;
  readonly initiatorCpuUs: number;
  readonly targetCpuUs: number;
  /** Of the receiving end's NICs, where a plugin is open. */
  readonly intakeBefore: readonly NicIntake[] | undefined;
  readonly intakeAfter: readonly NicIntake[] | undefined;
  /** Of the plugin's helper threads, at each end. */
  readonly threads: { initiator: string | undefined; target: string | undefined } | undefined;
  readonly peer: HostFacts;
  /** What this end's host memory lies on. */
  readonly pages: BenchMemory['pages'];
  /** Of one transfer. */
  readonly blocks: number;
  /** Whether everything was measured that was asked for. */
  readonly isWhole: boolean;
}

/** A run that was ended in its warm-up has no figures. */
export function nothingMeasured(): TcpxError {
  return new TcpxError('ERR_XFER_CANCELLED', 'stopped before anything was measured');
}
