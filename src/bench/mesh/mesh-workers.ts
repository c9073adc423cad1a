// The worker processes of one process of a mesh: one for each GPU, or one for all of them. Each
// worker is a target for others, and an initiator against one other at a time.

import type { ChildProcess } from 'node:child_process';
import { assert, at } from '../../base/assert.js';
import type { Config } from '../../base/config.js';
import { formatEndpoint } from '../../base/endpoint.js';
import { type ErrorCode, TcpxError } from '../../base/errors.js';
import type { BenchReport } from '../bench-message.js';
import type { BenchResult } from '../bench-result.js';
import { endChild, forkWith } from '../loopback.js';
import type { MeasuredPair, MeshWorkers } from './mesh-member.js';
import type { MeshOrder, MeshWorkerFacts } from './mesh-message.js';

export interface WorkerWish {
  readonly gpu: number;
  /** Empty where none is bound. */
  readonly nic: string;
  /** To listen on; 0 lets the kernel choose. */
  readonly port: number;
}

/** Parent → worker process; workers by their place in it. */
export type WorkerOrder =
  | { readonly kind: 'open'; readonly workers: readonly WorkerWish[] }
  | { readonly kind: 'measure'; readonly round: number; readonly order: MeshOrder }
  | { readonly kind: 'go'; readonly round: number }
  | { readonly kind: 'stop' };

/** Worker process → parent. */
export type WorkerWord =
  | { readonly kind: 'listening'; readonly ports: readonly number[] }
  | { readonly kind: 'warm'; readonly worker: number }
  | { readonly kind: 'measured'; readonly worker: number; readonly measured: MeasuredPair }
  | {
      readonly kind: 'failed';
      /** Absent where none could be opened. */
      readonly worker?: number;
      readonly code: ErrorCode;
      readonly message: string;
    }
  | {
      readonly kind: 'served';
      readonly worker: number;
      readonly peer: string;
      readonly report: BenchReport;
    };

export interface MeshWorkersOptions {
  readonly config: Config;
  readonly wishes: readonly WorkerWish[];
  /** One process for all of them. */
  readonly isOneProcess: boolean;
  /** Of the workers alone, over what is set here. */
  readonly variables: Readonly<Record<string, string>>;
  /** One of them was the target of a run. */
  onServed(gpu: number, peer: string, report: BenchReport): void;
  /** One of them has measured against another. */
  onMeasured(gpu: number, to: string, result: BenchResult): void;
}

export interface OpenMeshWorkers extends MeshWorkers {
  readonly facts: readonly MeshWorkerFacts[];
  close(): Promise<void>;
}

export async function openMeshWorkers(options: MeshWorkersOptions): Promise<OpenMeshWorkers> {
  const { wishes, isOneProcess } = options;
  const groups = isOneProcess ? [wishes] : wishes.map((wish) => [wish]);
  const processes = groups.map((group) => new WorkerProcess(options, group));
  const close = async () => {
    await Promise.all(processes.map((one) => one.close()));
  };
  try {
    const facts = (await Promise.all(processes.map((one) => one.listening))).flat();
    const placeOf = (worker: number) => {
      const one = processes[isOneProcess ? 0 : worker];
      assert(one !== undefined && worker < wishes.length, `there is a worker ${worker}`);
      return { one, place: isOneProcess ? worker : 0 };
    };
    return {
      facts,
      close,
      death: Promise.race(processes.map((one) => one.death)),
      measure: (round, order, onWarm) => {
        const { one, place } = placeOf(order.worker);
        return one.measure(round, { ...order, worker: place }, onWarm);
      },
      start: (round) => {
        for (const one of processes) one.send({ kind: 'go', round });
      },
      stop: () => {
        for (const one of processes) one.send({ kind: 'stop' });
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Waiting {
  onWarm(): void;
  resolve(measured: MeasuredPair): void;
  reject(error: TcpxError): void;
}

class WorkerProcess {
  readonly listening: Promise<MeshWorkerFacts[]>;
  readonly death: Promise<TcpxError>;
  readonly #child: ChildProcess;
  readonly #group: readonly WorkerWish[];
  readonly #options: MeshWorkersOptions;
  readonly #waiting = new Map<number, Waiting>();
  #isClosing = false;

  constructor(options: MeshWorkersOptions, group: readonly WorkerWish[]) {
    this.#options = options;
    this.#group = group;
    this.#child = forkWith(options.config, 'mesh/mesh-worker-main.js', options.variables);
    this.death = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => {
        if (!this.#isClosing) resolve(this.#gone(signal ?? `status ${String(code)}`));
      });
    });
    this.listening = new Promise((resolve, reject) => {
      this.#child.on('message', (word: WorkerWord) => {
        if (word.kind === 'listening') {
          resolve(group.map(({ gpu, nic }, place) => ({ gpu, nic, port: at(word.ports, place) })));
        } else if (word.kind === 'failed' && word.worker === undefined) {
          reject(new TcpxError(word.code, `${this.#name}: ${word.message}`));
        } else this.#take(word);
      });
      void this.death.then(reject);
    });
    this.listening.catch(() => undefined);
    this.send({ kind: 'open', workers: group });
  }

  send(order: WorkerOrder): void {
    if (this.#child.connected) this.#child.send(order, () => undefined);
  }

  measure(round: number, order: MeshOrder, onWarm: () => void): Promise<MeasuredPair> {
    return new Promise((resolve, reject) => {
      const { gpu } = at(this.#group, order.worker);
      const to = formatEndpoint(order.host, order.port);
      this.#waiting.set(order.worker, {
        onWarm,
        resolve: (measured) => {
          this.#options.onMeasured(gpu, to, measured.result);
          resolve(measured);
        },
        reject: ({ code, message }) =>
          reject(new TcpxError(code, `GPU ${gpu} to ${to}: ${message}`)),
      });
      this.send({ kind: 'measure', round, order });
    });
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await endChild(this.#child);
  }

  #take(word: WorkerWord): void {
    if (word.kind === 'served') {
      this.#options.onServed(at(this.#group, word.worker).gpu, word.peer, word.report);
      return;
    }
    if (word.kind === 'listening' || word.worker === undefined) return;
    const waiting = this.#waiting.get(word.worker);
    if (word.kind === 'warm') {
      waiting?.onWarm();
      return;
    }
    this.#waiting.delete(word.worker);
    if (word.kind === 'measured') waiting?.resolve(word.measured);
    else waiting?.reject(new TcpxError(word.code, word.message));
  }

  get #name(): string {
    const gpus = this.#group.map(({ gpu }) => gpu).join(', ');
    return `worker of GPU ${gpus}`;
  }

  #gone(how: string): TcpxError {
    return new TcpxError(
      'ERR_PEER_LOST',
      `${this.#name} (process ${this.#child.pid ?? 0}) ended: ${how}`,
    );
  }
}
