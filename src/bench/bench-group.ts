// Several initiators at once, each a process of its own: they warm up, wait for each other, and
// measure together. One that fails ends all.

import type { ChildProcess } from 'node:child_process';
import { assert, at } from '../base/assert.js';
import type { Config } from '../base/config.js';
import { type ErrorCode, TcpxError } from '../base/errors.js';
import type { BenchResult } from './bench-result.js';
import { endChild, forkWith } from './loopback.js';

export interface GroupTarget {
  readonly host: string;
  readonly port: number;
}

/** Results in the order of the targets. */
export async function runGroup(
  config: Config,
  targets: readonly GroupTarget[],
): Promise<BenchResult[]> {
  const workers = targets.map(() => forkWith(config, 'bench-worker-main.js'));
  try {
    return await new Conductor(workers, targets).run();
  } finally {
    await Promise.all(workers.map(endChild));
  }
}

interface WorkerMessage {
  readonly kind: 'warm' | 'result' | 'failed';
  readonly result?: BenchResult;
  readonly code?: ErrorCode;
  readonly message?: string;
}

class Conductor {
  readonly #workers: readonly ChildProcess[];
  readonly #targets: readonly GroupTarget[];
  readonly #results = new Map<number, BenchResult>();
  #warm = 0;

  constructor(workers: readonly ChildProcess[], targets: readonly GroupTarget[]) {
    this.#workers = workers;
    this.#targets = targets;
  }

  run(): Promise<BenchResult[]> {
    return new Promise((resolve, reject) => {
      for (const [index, worker] of this.#workers.entries()) {
        worker.on('message', (message: WorkerMessage) => {
          if (message.kind === 'failed') reject(this.#failure(index, message));
          else this.#take(index, message);
          if (this.#results.size === this.#workers.length) resolve(this.#ordered());
        });
        worker.once('exit', (code, signal) => {
          if (!this.#results.has(index)) reject(this.#lost(index, String(code ?? signal)));
        });
        worker.send(at(this.#targets, index));
      }
    });
  }

  #take(index: number, message: WorkerMessage): void {
    if (message.kind === 'warm') {
      this.#warm++;
      if (this.#warm < this.#workers.length) return;
      for (const worker of this.#workers) worker.send({ kind: 'go' });
      return;
    }
    assert(message.result !== undefined, 'a worker that is done has a result');
    this.#results.set(index, message.result);
  }

  #ordered(): BenchResult[] {
    return this.#workers.map((_, index) => {
      const result = this.#results.get(index);
      assert(result !== undefined, 'every worker has a result');
      return result;
    });
  }

  #failure(index: number, { code, message }: WorkerMessage): TcpxError {
    return new TcpxError(code ?? 'ERR_PEER_LOST', `initiator ${index}: ${message ?? ''}`);
  }

  #lost(index: number, how: string): TcpxError {
    return new TcpxError('ERR_PEER_LOST', `initiator ${index} ended: ${how}`);
  }
}
