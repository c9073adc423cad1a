// One post of a request, as its owner sees it: polled, awaited, waited for, cancelled.

import { TcpxError } from '../base/errors.js';
import { formatBytes } from '../base/units.js';
import { FAIL_CANCELLED, FAIL_DEADLINE, failureOf } from '../base/failure.js';
import type { ChannelReceipt, Receipt, StageTimes, TransferPath } from './receipt.js';

export type TransferStatus = 'active' | 'done' | 'failed';

/** What a transfer needs from the engine. */
export interface TransferHost {
  isFinished(slot: number): boolean;
  /** Moves data where callers drive, takes events. */
  poll(): void;
  /** Blocks the thread until something finished, for at most the time. */
  block(timeoutMs: number): void;
  /** Keeps progress going from the event loop while somebody awaits. */
  beginAwait(): void;
  endAwait(): void;
  requestCancel(slot: number, generation: number): void;
  nowUs(): number;
  /** Calls after this time; returns what takes it back. */
  after(delayMs: number, act: () => void): () => void;
}

/** The facts that are fixed at post. */
export interface TransferFacts {
  readonly slot: number;
  readonly generation: number;
  readonly operation: 'write' | 'read' | 'notify';
  readonly bytes: number;
  readonly chunks: number;
  readonly peer: string;
  readonly trust: string;
  readonly postedUs: number;
  readonly path: TransferPath;
}

/** What the engine reads from the entry when the transfer finishes. */
export interface TransferOutcome {
  readonly failure: number;
  readonly channels: readonly ChannelReceipt[];
  readonly stages?: StageTimes | undefined;
  /** Chunks and notifications that had to be sent again. */
  readonly retries: number;
  /** Of them: those that had arrived with a wrong checksum, and where the last had. */
  readonly damaged: number;
  readonly damagedWhere: string;
  /** Why the session was lost, where that is the failure. */
  readonly sessionError: TcpxError | undefined;
}

export class Transfer {
  readonly facts: TransferFacts;
  readonly #host: TransferHost;
  #outcome: TransferOutcome | undefined;
  #finishedUs = 0;
  #error: TcpxError | undefined;
  #promise: Promise<Receipt> | undefined;
  #resolve: ((receipt: Receipt) => void) | undefined;
  #reject: ((error: TcpxError) => void) | undefined;
  #cancelDeadline: (() => void) | undefined;
  #releaseSignal: (() => void) | undefined;
  #isPastDeadline = false;

  constructor(host: TransferHost, facts: TransferFacts) {
    this.#host = host;
    this.facts = facts;
  }

  /** Looks once; where callers drive, this moves data. */
  poll(): TransferStatus {
    if (this.#outcome === undefined) this.#host.poll();
    return this.status;
  }

  /** As far as known; costs a read. */
  get status(): TransferStatus {
    if (this.#outcome === undefined) return 'active';
    return this.#error === undefined ? 'done' : 'failed';
  }

  /** Why it failed, once it has. */
  get error(): TcpxError | undefined {
    return this.#error;
  }

  /** Resolves when every byte has landed at the target; rejects with a typed error. */
  get done(): Promise<Receipt> {
    this.#promise ??= new Promise((resolve, reject) => {
      if (this.#outcome !== undefined) {
        if (this.#error === undefined) resolve(this.receipt());
        else reject(this.#error);
        return;
      }
      this.#resolve = resolve;
      this.#reject = reject;
      this.#host.beginAwait();
    });
    return this.#promise;
  }

  /** Blocks the calling thread; for programs that do nothing else meanwhile. */
  wait(timeoutMs: number): TransferStatus {
    const endUs = this.#host.nowUs() + timeoutMs * 1000;
    while (this.poll() === 'active') {
      const leftMs = (endUs - this.#host.nowUs()) / 1000;
      if (leftMs <= 0) break;
      this.#host.block(leftMs);
    }
    return this.status;
  }

  /** Asks the lanes to give up what they have not sent; `done` then rejects. */
  cancel(): void {
    if (this.#outcome === undefined) {
      this.#host.requestCancel(this.facts.slot, this.facts.generation);
    }
  }

  /** Cancels when the signal is aborted; lets go of the signal when the transfer has ended. */
  cancelOn(signal: AbortSignal): void {
    const abort = (): void => this.cancel();
    signal.addEventListener('abort', abort, { once: true });
    this.#releaseSignal = () => signal.removeEventListener('abort', abort);
  }

  /** Cancels by itself after this time. */
  setDeadline(deadlineMs: number): void {
    this.#cancelDeadline = this.#host.after(deadlineMs, () => {
      this.#isPastDeadline = true;
      this.cancel();
    });
  }

  receipt(): Receipt {
    const { facts } = this;
    const channels = this.#outcome?.channels ?? [];
    const stages = this.#outcome?.stages;
    return {
      peer: facts.peer,
      path: facts.path,
      trust: facts.trust,
      operation: facts.operation,
      bytes: facts.bytes,
      bytesConfirmed: channels.reduce((sum, channel) => sum + channel.bytes, 0),
      chunks: facts.chunks,
      retries: this.#outcome?.retries ?? 0,
      damaged: this.#outcome?.damaged ?? 0,
      channels,
      durationUs: (this.#finishedUs || this.#host.nowUs()) - facts.postedUs,
      ...(stages === undefined ? {} : { stages }),
    };
  }

  /** Called by the engine, once. */
  settle(outcome: TransferOutcome): void {
    this.#outcome = outcome;
    this.#finishedUs = this.#host.nowUs();
    this.#cancelDeadline?.();
    this.#releaseSignal?.();
    if (outcome.failure !== 0) this.#error = this.#failureError(outcome);
    if (this.#resolve === undefined) return;
    this.#host.endAwait();
    if (this.#error === undefined) this.#resolve(this.receipt());
    else this.#reject?.(this.#error);
  }

  #failureError(outcome: TransferOutcome): TcpxError {
    const { operation, bytes, peer, slot, generation } = this.facts;
    const confirmed = this.receipt().bytesConfirmed;
    const direction = operation === 'read' ? 'from' : 'to';
    const what = `${operation} of ${formatBytes(bytes)} ${direction} ${peer}`;
    const isLate = outcome.failure === FAIL_CANCELLED && this.#isPastDeadline;
    const { code, text } = failureOf(isLate ? FAIL_DEADLINE : outcome.failure);
    const cause = outcome.sessionError;
    const reason = cause === undefined ? text : `${cause.code}: ${cause.message}`;
    const where =
      outcome.damagedWhere !== '' && code === 'ERR_XFER_CHECKSUM'
        ? ` on ${outcome.damagedWhere}`
        : '';
    const message = `${what}: ${reason}${where} (${formatBytes(confirmed)} confirmed)`;
    const facts = { transfer: `${slot}.${generation}`, peer, bytes, bytesConfirmed: confirmed };
    return new TcpxError(code, message, cause === undefined ? { facts } : { facts, cause });
  }
}
