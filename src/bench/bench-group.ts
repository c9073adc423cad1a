// Several initiators at once, each a process of its own: they warm up, wait for each other, and
// measure together. One that fails ends all; one that is stopped has measured so far.

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { assert, at } from '../base/assert.js';
import { sleepMs } from '../base/clock.js';
import type { Config } from '../base/config.js';
import { type ErrorCode, TcpxError } from '../base/errors.js';
import type { BenchResult } from './bench-result.js';
import { nothingMeasured } from './bench-run.js';
import type { BenchInterval } from './interval-meter.js';
import { endChild, forkWith } from './loopback.js';

export interface GroupControl {
  readonly stop: AbortSignal;
  /** Of one initiator, where lines of intervals are asked for. */
  onInterval(member: number, interval: BenchInterval): void;
  /** How far one is, some times a second; absent where nobody looks. */
  onProgress?(member: number, doneFraction: number, bytesPerSecond: number): void;
}

export interface GroupTarget {
  readonly host: string;
  readonly port: number;
}

/**
 * Results in the order of the targets; after `stop` of those that had measured something, each
 * marked as partial.
 */
export async function runGroup(
  config: Config,
  targets: readonly GroupTarget[],
  control: GroupControl,
): Promise<BenchResult[]> {
  const workers = targets.map(() => forkWith(config, 'bench-worker-main.js'));
  try {
    return await new Conductor(workers, targets, control).run();
  } finally {
    await Promise.all(workers.map(endChild));
  }
}

interface WorkerMessage {
  readonly kind: 'warm' | 'interval' | 'progress' | 'result' | 'failed';
  readonly fraction?: number;
  readonly rate?: number;
  readonly interval?: BenchInterval;
  readonly result?: BenchResult;
  readonly code?: ErrorCode;
  readonly message?: string;
}

/** For initiators to end their iterations; one that waits at the target's barrier does not hear. */
const STOP_MS = 3000;

class Conductor {
  readonly #workers: readonly ChildProcess[];
  readonly #targets: readonly GroupTarget[];
  readonly #control: GroupControl;
  readonly #results = new Map<number, BenchResult>();
  readonly #ended = new Set<number>();
  #warm = 0;

  constructor(
    workers: readonly ChildProcess[],
    targets: readonly GroupTarget[],
    control: GroupControl,
  ) {
    this.#workers = workers;
    this.#targets = targets;
    this.#control = control;
  }

  async run(): Promise<BenchResult[]> {
    const stopping = new AbortController();
    const isLate = once(this.#control.stop, 'abort', { signal: stopping.signal }).then(async () => {
      for (const worker of this.#workers) tell(worker, { kind: 'stop' });
      await sleepMs(STOP_MS, stopping.signal);
    });
    isLate.catch(() => undefined);
    try {
      await Promise.race([this.#measure(), isLate]);
    } finally {
      stopping.abort();
    }
    if (this.#results.size === 0) throw nothingMeasured();
    return [...this.#results].sort(([a], [b]) => a - b).map(([, result]) => result);
  }

  #measure(): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (index: number, failure: TcpxError | undefined): void => {
        // Who had nothing yet when all were stopped has not failed.
        if (failure !== undefined && !this.#control.stop.aborted) reject(failure);
        this.#ended.add(index);
        if (this.#ended.size === this.#workers.length) resolve();
      };
      for (const [index, worker] of this.#workers.entries()) {
        worker.on('message', (message: WorkerMessage) => {
          if (message.kind === 'warm') this.#countWarm();
          else if (message.interval !== undefined)
            this.#control.onInterval(index, message.interval);
          else if (message.kind === 'progress')
            this.#control.onProgress?.(index, message.fraction ?? 0, message.rate ?? 0);
          else end(index, this.#take(index, message));
        });
        worker.once('exit', (code, signal) => {
          if (!this.#ended.has(index)) end(index, this.#lost(index, String(code ?? signal)));
        });
        const hasProgress = this.#control.onProgress !== undefined;
        tell(worker, { ...at(this.#targets, index), hasProgress });
      }
    });
  }

  #countWarm(): void {
    this.#warm++;
    if (this.#warm < this.#workers.length) return;
    for (const worker of this.#workers) tell(worker, { kind: 'go' });
  }

  #take(index: number, message: WorkerMessage): TcpxError | undefined {
    if (message.kind === 'failed') return this.#failure(index, message);
    assert(message.result !== undefined, 'a worker that is done has a result');
    this.#results.set(index, message.result);
    return undefined;
  }

  #failure(index: number, { code, message }: WorkerMessage): TcpxError {
    return new TcpxError(code ?? 'ERR_PEER_LOST', `initiator ${index}: ${message ?? ''}`);
  }

  #lost(index: number, how: string): TcpxError {
    return new TcpxError('ERR_PEER_LOST', `initiator ${index} ended: ${how}`);
  }
}

/** One that has just ended takes no message: its end tells. */
function tell(worker: ChildProcess, message: object): void {
  if (worker.connected) worker.send(message, () => undefined);
}
