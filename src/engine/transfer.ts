// One post of a request, as its owner sees it: polled, awaited, waited for, cancelled.

import { inspect } from 'node:util';
import { AbortError, onAbort } from '../base/abort.js';
import { checkGivenTime, wrongArgument } from '../base/argument.js';
import { type ErrorCode, TcpxError } from '../base/errors.js';
import { FAIL_CANCELLED, FAIL_CHANNEL, FAIL_DEADLINE, failureOf } from '../base/failure.js';
import type { Generation, TransferSlot } from '../base/quantity.js';
import { formatBytes } from '../base/units.js';
import type { Outcome } from '../provider/contract.js';
import type { Choice, ProviderName, Receipt, TransferPath } from '../provider/receipt.js';

/** `active` until the last byte has landed or the transfer has failed. */
export type TransferStatus = 'active' | 'done' | 'failed';

/** What a transfer needs from the engine. */
export interface TransferHost {
  /** Moves data where callers drive, takes events. */
  poll(): void;
  /** Blocks the thread until something happened to this entry or another, for at most the time. */
  block(slot: TransferSlot, timeoutMs: number): void;
  /** Keeps progress going from the event loop while somebody awaits. */
  beginAwait(): void;
  endAwait(): void;
  requestCancel(slot: TransferSlot, generation: Generation): void;
  /** Its owner waits no longer: what it came to so far. Its memory stays in use until settle. */
  giveUp(slot: TransferSlot, generation: Generation): Outcome;
  /** Bytes of the entry that the peer has confirmed by now. */
  confirmedBytes(slot: TransferSlot, generation: Generation): number;
  nowUs(): number;
  /** Calls after this time; returns what takes it back. */
  after(delayMs: number, act: () => void): () => void;
}

/** The facts that are fixed at post. */
export interface TransferFacts {
  readonly slot: TransferSlot;
  readonly generation: Generation;
  readonly operation: 'write' | 'read' | 'notify';
  readonly bytes: number;
  readonly chunks: number;
  readonly peer: string;
  readonly trust: string;
  readonly postedUs: number;
  readonly path: TransferPath;
  readonly pathReason: string;
  readonly provider: ProviderName;
  readonly providerReason: string;
  /** Of its session. */
  readonly choices: readonly Choice[];
}

/** How far a transfer has come. */
export interface TransferProgress {
  /**
   * Bytes that have landed, as the target has confirmed. Through a plugin a write is confirmed as a
   * whole, at its end; a read grows by chunks.
   */
  readonly bytesConfirmed: number;
  /** Bytes that were posted. */
  readonly bytes: number;
}

/** What was posted, and when: for the engine. */
export let factsOf: (transfer: Transfer) => TransferFacts;
/** Ends a transfer: for the engine, once. */
export let settle: (transfer: Transfer, outcome: Outcome) => void;

/**
 * One post of a request, from its start to its receipt or its error. Await it to have it done:
 * `const receipt = await session.write(…)`. It is also the handle, before that: to poll, to cancel,
 * to see its progress. One that is only polled never raises an unhandled rejection.
 *
 * An async function that returns it waits for it, as for any promise; return it in an object where
 * the caller wants the handle.
 * @example
 * const transfer = session.write({ local, remote }, { deadlineMs: 2000 });
 * const { bytesConfirmed, bytes } = transfer.progress();
 * const receipt = await transfer;
 */
export class Transfer implements PromiseLike<Receipt> {
  static {
    factsOf = (transfer) => transfer.#facts;
    settle = (transfer, outcome) => transfer.#settle(outcome);
  }

  readonly #facts: TransferFacts;
  readonly #host: TransferHost;
  #outcome: Outcome | undefined;
  #finishedUs = 0;
  #error: TcpxError | undefined;
  #promise: Promise<Receipt> | undefined;
  #resolve: ((receipt: Receipt) => void) | undefined;
  #reject: ((error: TcpxError) => void) | undefined;
  #released: Promise<void> | undefined;
  #resolveReleased: (() => void) | undefined;
  #isReleased = false;
  #deadlineUs = Number.POSITIVE_INFINITY;
  #cancelDeadline: (() => void) | undefined;
  #releaseSignal: (() => void) | undefined;
  #signal: AbortSignal | undefined;

  /** @internal */
  constructor(host: TransferHost, facts: TransferFacts) {
    this.#host = host;
    this.#facts = facts;
  }

  /** Looks once; where callers drive, this moves data. */
  poll(): TransferStatus {
    if (this.#outcome === undefined) {
      this.#host.poll();
      if (this.#isPastDeadline) this.#expire();
    }
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

  /** What `await` calls: as `done.then`. */
  then<A = Receipt, B = never>(
    onDone?: ((receipt: Receipt) => A | PromiseLike<A>) | null,
    onFailed?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.done.then(onDone, onFailed);
  }

  /** As of promises. */
  catch<B>(onFailed: (error: unknown) => B | PromiseLike<B>): Promise<Receipt | B> {
    return this.done.catch(onFailed);
  }

  /** As of promises. */
  finally(onEnd: () => void): Promise<Receipt> {
    return this.done.finally(onEnd);
  }

  /** How many of its bytes the peer has confirmed by now; grows while it is active. */
  progress(): TransferProgress {
    const { slot, generation, bytes } = this.#facts;
    const isActive = this.#outcome === undefined;
    const bytesConfirmed = isActive
      ? this.#host.confirmedBytes(slot, generation)
      : this.receipt().bytesConfirmed;
    return { bytesConfirmed, bytes };
  }

  /** No byte of it moves any more, and its memory is free. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  /**
   * Resolves when no byte of it moves any more: with `done`, or after it where a deadline has
   * passed. Never rejects; settles within the bound of docs/reliability.md.
   */
  get released(): Promise<void> {
    this.#released ??= new Promise((resolve) => {
      if (this.#isReleased) {
        resolve();
        return;
      }
      this.#resolveReleased = resolve;
      this.#host.beginAwait();
    });
    return this.#released;
  }

  get #isPastDeadline(): boolean {
    return this.#deadlineUs !== Number.POSITIVE_INFINITY && this.#host.nowUs() >= this.#deadlineUs;
  }

  /**
   * Blocks the calling thread; for programs that do nothing else meanwhile. Throws where the
   * channels of a plugin have ended or are not there yet: only the event loop can settle it then.
   */
  wait(timeoutMs: number): TransferStatus {
    checkGivenTime('wait: timeoutMs', timeoutMs);
    const endUs = Math.min(this.#host.nowUs() + timeoutMs * 1000, this.#deadlineUs);
    while (this.poll() === 'active') {
      const leftMs = (endUs - this.#host.nowUs()) / 1000;
      if (leftMs <= 0) break;
      this.#host.block(this.#facts.slot, leftMs);
    }
    return this.poll();
  }

  /** Asks the lanes to give up what they have not sent; `done` rejects once no byte moves. */
  cancel(): void {
    if (this.#outcome !== undefined) return;
    this.#host.requestCancel(this.#facts.slot, this.#facts.generation);
  }

  /** Cancels when the signal is aborted; lets go of the signal when the transfer has ended. */
  cancelOn(signal: AbortSignal): void {
    if (!(signal instanceof AbortSignal)) throw wrongArgument('cancelOn', 'an AbortSignal', signal);
    if (this.#outcome !== undefined) return;
    const abort = (): void => {
      this.#signal ??= signal;
      this.cancel();
    };
    if (signal.aborted) {
      abort();
      return;
    }
    const before = this.#releaseSignal;
    const release = onAbort(signal, abort);
    this.#releaseSignal = () => {
      before?.();
      release();
    };
  }

  /** Fails by itself after this time, in ms from now; replaces an earlier deadline. */
  setDeadline(deadlineMs: number): void {
    checkGivenTime('setDeadline: deadlineMs', deadlineMs);
    if (this.#outcome !== undefined) return;
    // The last one counts.
    this.#cancelDeadline?.();
    this.#deadlineUs = this.#host.nowUs() + deadlineMs * 1000;
    this.#cancelDeadline = this.#host.after(deadlineMs, () => {
      // It may have ended in time, and nobody has looked.
      this.#host.poll();
      this.#expire();
    });
  }

  // The owner waits no longer. Peers do: the memory is free when they have confirmed, or are gone.
  #expire(): void {
    if (this.#outcome !== undefined) return;
    const { slot, generation } = this.#facts;
    const seen = this.#host.giveUp(slot, generation);
    // Where callers drive, somebody has to.
    void this.released;
    // Whether it was cancelled or not: a cancel is a fence, and this one does not stand yet.
    this.#end({ ...seen, failure: FAIL_DEADLINE, isCancelled: false, sessionError: undefined });
    // Behind the end: a carrier that has sent nothing yet settles at once, as cancelled.
    this.#host.requestCancel(slot, generation);
  }

  /** What is known so far; after the end, what became of it. */
  receipt(): Receipt {
    const facts = this.#facts;
    const channels = this.#outcome?.channels ?? [];
    const stages = this.#outcome?.stages;
    const plugin = this.#outcome?.plugin;
    const receipt: { -readonly [Key in keyof Receipt]: Receipt[Key] } = {
      peer: facts.peer,
      provider: facts.provider,
      providerReason: facts.providerReason,
      path: facts.path,
      pathReason: facts.pathReason,
      trust: facts.trust,
      operation: facts.operation,
      bytes: facts.bytes,
      bytesConfirmed: channels.reduce((sum, channel) => sum + channel.bytes, 0),
      chunks: facts.chunks,
      retries: this.#outcome?.retries ?? 0,
      damaged: this.#outcome?.damaged ?? 0,
      channels,
      choices: this.#choices,
      durationUs: (this.#finishedUs || this.#host.nowUs()) - facts.postedUs,
    };
    if (stages !== undefined) receipt.stages = stages;
    if (plugin !== undefined) receipt.plugin = plugin;
    return receipt;
  }

  get #choices(): readonly Choice[] {
    const own = this.#outcome?.choices;
    return own === undefined ? this.#facts.choices : [...this.#facts.choices, ...own];
  }

  #settle(outcome: Outcome): void {
    if (this.#outcome === undefined) this.#end(outcome);
    // What was confirmed after the deadline counts in the receipt, and changes nothing else.
    else this.#outcome = outcome;
    this.#isReleased = true;
    if (this.#resolveReleased === undefined) return;
    this.#host.endAwait();
    this.#resolveReleased();
  }

  #end(outcome: Outcome): void {
    this.#outcome = outcome;
    this.#finishedUs = this.#host.nowUs();
    this.#cancelDeadline?.();
    this.#releaseSignal?.();
    const { failure, error, isCancelled } = outcome;
    const isFailed = failure !== 0 || error !== undefined || isCancelled === true;
    if (isFailed) this.#error = this.#failureError(outcome);
    if (this.#resolve === undefined) return;
    this.#host.endAwait();
    if (this.#error === undefined) this.#resolve(this.receipt());
    else this.#reject?.(this.#error);
  }

  /** A line: what it is and how it stands. */
  [inspect.custom](): string {
    const { operation, bytes, peer } = this.#facts;
    return `Transfer { ${operation} of ${formatBytes(bytes)}, ${this.status}, peer: ${peer} }`;
  }

  #failureError(outcome: Outcome): TcpxError {
    const { operation, bytes, peer, slot, generation } = this.#facts;
    const confirmed = this.receipt().bytesConfirmed;
    const direction = operation === 'read' ? 'from' : 'to';
    const what = `${operation} of ${formatBytes(bytes)} ${direction} ${peer}`;
    const { error, sessionError } = outcome;
    const { code, text } = this.#failureOf(outcome);
    const cause = sessionError ?? error;
    const known = sessionError === undefined ? [text, error?.message] : [describe(sessionError)];
    const reason = known.filter((word) => word !== undefined && word !== '');
    const where =
      outcome.damagedWhere !== '' && code === 'ERR_XFER_CHECKSUM'
        ? ` on ${outcome.damagedWhere}`
        : '';
    const message = `${what}: ${reason.join(': ')}${where} (${formatBytes(confirmed)} confirmed)`;
    const own = { transfer: `${slot}.${generation}`, peer, bytes, bytesConfirmed: confirmed };
    const facts = { ...error?.facts, ...own };
    if (this.#signal?.aborted === true && ABORTED.includes(code)) {
      return new AbortError(message, this.#signal, code, facts);
    }
    return new TcpxError(code, message, cause === undefined ? { facts } : { facts, cause });
  }

  // What a carrier says of a post that was given up is what it waited for.
  #failureOf(outcome: Outcome): { code: ErrorCode; text: string } {
    const { failure, error, isCancelled, sessionError } = outcome;
    if (failure === FAIL_DEADLINE) return failureOf(FAIL_DEADLINE);
    // A cancel is a fence, and one who is lost confirms none.
    if (sessionError !== undefined) return failureOf(FAIL_CHANNEL);
    const wasCancelled = isCancelled === true || failure === FAIL_CANCELLED;
    if (wasCancelled) return failureOf(FAIL_CANCELLED);
    return error === undefined ? failureOf(failure) : { code: error.code, text: '' };
  }
}

/** How a transfer ends whose program has aborted it: fenced, or not yet, or never. */
const ABORTED: readonly ErrorCode[] = [
  'ERR_XFER_CANCELLED',
  'ERR_XFER_DEADLINE',
  'ERR_XFER_FAILED',
];

function describe(error: TcpxError): string {
  return `${error.code}: ${error.message}`;
}
