// Requests and transfers: prepared and posted through the carrier that can take their memory,
// settled when it reports them finished.

import { assert } from '../base/assert.js';
import { afterMs, type Clock, systemClock } from '../base/clock.js';
import { TcpxError } from '../base/errors.js';
import { FAIL_CANCELLED, FAIL_CHANNEL } from '../base/failure.js';
import type { Generation, TransferSlot } from '../base/quantity.js';
import type { Timers } from '../base/timers.js';
import type { Region, RegionRegistry } from '../memory/region.js';
import {
  type Block,
  type BlockColumns,
  type CheckedBlocks,
  checkBlocks,
} from '../provider/block-columns.js';
import type { DataOperation, Outcome, PostExtra } from '../provider/contract.js';
import type { LaneCarrier } from '../provider/tcp/lane-carrier.js';
import type { LaneSet } from '../provider/tcp/lane-set.js';
import type { TransferMoves } from '../provider/tcp/transfer-moves.js';
import type { TransferTable } from '../provider/tcp/transfer-table.js';
import { AwaitPump } from './await-pump.js';
import { FinishWait } from './finish-wait.js';
import { LentMemory } from './lent-memory.js';
import type { LiveSession } from './live-session.js';
import { applyOptions, checkPostOptions, checkSource, encodeMessage } from './post-options.js';
import {
  type AnyCarrier,
  type InFlight,
  type PreparedRequest,
  printRequest,
  type Route,
  releaseRequest,
} from './prepared-request.js';
import type { ProgressLimits } from './progress-watch.js';
import type { PostOptions, TransferRequest } from './session.js';
import { factsOf, settle, Transfer, type TransferFacts, type TransferHost } from './transfer.js';
import { type WatchedWork, WorkWatch } from './work-watch.js';

export interface TransfersOptions {
  readonly lanes: LaneSet;
  readonly carrier: LaneCarrier;
  readonly table: TransferTable;
  readonly regions: RegionRegistry;
  readonly trustName: string;
  readonly isCallerDriven: boolean;
  /** How long a thread that blocks looks again, at most, before it sleeps. */
  readonly spinUs: number;
  readonly timers: Timers;
  readonly limits: ProgressLimits;
  /** A peer does not confirm what it owes. */
  lose(session: LiveSession, error: TcpxError): void;
  /** What transfers are timed by; the system's unless a simulation has its own. */
  readonly clock?: Clock;
  /** Calls after this time; a timer of the event loop unless a simulation has its own. */
  readonly after?: (delayMs: number, act: () => void) => () => void;
  poll(): void;
  /** Somebody awaits something, or nobody any more. */
  onAwaited?(isAwaited: boolean): void;
  /** Blocks until a plugin process or a peer of matched transfers has said something. */
  waitMatched?(timeoutMs: number): void;
}

/** What a post itself knows of its transfer. */
type PostFacts = Omit<
  TransferFacts,
  'slot' | 'generation' | 'pathReason' | 'peer' | 'trust' | 'postedUs' | 'choices'
>;

const NO_OPTIONS: PostOptions = {};
const NO_REGIONS: readonly Region[] = [];
/** In place of an entry: nothing was ever in flight. */
const NO_SLOT = -1;
const NOTHING = { channels: [], retries: 0, damaged: 0, damagedWhere: '' };
/** Where callers drive, control sockets are looked at once in so many polls. */
const CONTROL_POLL_MASK = 63;

export class Transfers implements TransferHost {
  readonly moves: TransferMoves;
  readonly #options: TransfersOptions;
  readonly #table: TransferTable;
  readonly #inFlight: (InFlight | undefined)[] = [];
  readonly #clock: Clock;
  readonly #finishWait: FinishWait;
  readonly #watch: WorkWatch<LiveSession>;
  readonly #pump: AwaitPump;
  #serial = 0;
  #isClosed = false;
  #pollCount = 0;

  constructor(options: TransfersOptions) {
    this.#options = options;
    this.moves = options.carrier.moves;
    this.#clock = options.clock ?? systemClock;
    this.#table = options.table;
    const look = (): number => (options.lanes.own?.poll() ?? 0) + options.lanes.takeEvents();
    this.#finishWait = new FinishWait(options.lanes.shared, options.spinUs, this.#clock, look);
    this.#pump = new AwaitPump(options);
    this.#watch = new WorkWatch({
      timers: options.timers,
      clock: this.#clock,
      limits: options.limits,
      inFlight: () => this.#watched(),
      lose: (session, error) => options.lose(session, error),
    });
  }

  // What goes through a plugin has a deadline in any case, and says nothing before it has landed.
  *#watched(): Iterable<WatchedWork<LiveSession>> {
    for (const entry of this.#inFlight) {
      if (entry === undefined || entry.carrier.capability === 'matched') continue;
      const { session, serial, givenUpUs } = entry;
      yield { session, serial, givenUpUs, ...this.#table.progress(entry.slot) };
    }
  }

  prepare(
    session: LiveSession,
    operation: DataOperation,
    blocks: readonly Block[] | BlockColumns,
    lent: LentMemory,
  ): TransferRequest {
    const checked = checkBlocks(blocks);
    const { carrier, provider, reason } = this.#routeOf(session, checked);
    const prepared = carrier.prepare(session, operation, checked);
    const free = (): void => {
      carrier.release(prepared);
      // The table of regions is gone with the engine.
      if (!this.#isClosed) lent.giveBack();
    };
    // Written out: spreading objects into this one cost as much as all the rest of a small request.
    const request: PreparedRequest = {
      carrier,
      provider,
      reason,
      session,
      operation,
      blocks: checked,
      prepared,
      inFlight: 0,
      awaited: 0,
      isReleased: false,
      free,
    };
    return printRequest({
      session: session.face,
      operation,
      blocks: checked,
      chunkCount: prepared.chunkCount,
      path: prepared.path,
      post: (options = NO_OPTIONS) => this.#post(request, options),
      release: () => releaseRequest(request),
    });
  }

  lend(): LentMemory {
    return new LentMemory(this.#options.regions);
  }

  // A session of the tcpx provider takes what its plugin can reach; the rest goes over tcp, named.
  #routeOf(session: LiveSession, blocks: CheckedBlocks): Route {
    const { facts } = session;
    const matched = session.isReady ? session.matched : undefined;
    const lanes: AnyCarrier = this.#options.carrier;
    const reason = facts.providerReason;
    if (matched === undefined) return { carrier: lanes, provider: 'tcp', reason };
    const obstacle = matched.obstacleTo(blocks);
    if (obstacle !== '') return { carrier: lanes, provider: 'tcp', reason: obstacle };
    return { carrier: matched, provider: 'tcpx', reason };
  }

  #post(request: PreparedRequest, options: PostOptions): Transfer {
    if (request.isReleased)
      throw new TcpxError('ERR_USAGE_STATE', 'post: the request was released');
    const { session, operation, carrier, prepared, blocks } = request;
    const isLost = session.isLost('post');
    const { regions } = this.#options;
    for (const region of blocks.locals) regions.assertRegistered(region);
    this.#table.assertFree();
    if (options !== NO_OPTIONS) checkPostOptions(options);
    const source = checkSource(operation, options.sourceReady);
    const { notify } = options;
    const message = notify === undefined ? undefined : encodeMessage(notify);
    const extra: PostExtra = { notify: message, source };
    const slot = isLost ? NO_SLOT : carrier.open(session, operation, prepared, extra);
    const transfer = this.#transfer(session, slot, {
      operation,
      bytes: blocks.totalBytes,
      chunks: prepared.chunkCount,
      path: prepared.path,
      provider: request.provider,
      providerReason: request.reason,
    });
    if (isLost) return transfer;
    for (const region of blocks.locals) regions.retain(region);
    request.inFlight++;
    request.awaited++;
    const posted = this.#enter(transfer, session, carrier, blocks.locals, request);
    carrier.submit(posted, prepared);
    applyOptions(transfer, options, carrier.defaultDeadlineMs);
    return transfer;
  }

  // On a session that was lost it has failed already, as those that were in flight then.
  #transfer(session: LiveSession, slot: TransferSlot, facts: PostFacts): Transfer {
    const isLost = slot === NO_SLOT;
    const transfer = new Transfer(this, {
      slot,
      generation: isLost ? 0 : this.#table.generation(slot),
      operation: facts.operation,
      bytes: facts.bytes,
      chunks: facts.chunks,
      path: facts.path,
      provider: facts.provider,
      providerReason: facts.providerReason,
      pathReason: session.facts.pathReason,
      peer: session.peer,
      choices: session.facts.choices,
      trust: this.#options.trustName,
      postedUs: this.nowUs(),
    });
    if (isLost)
      settle(transfer, { failure: FAIL_CHANNEL, ...NOTHING, sessionError: session.error });
    return transfer;
  }

  #enter(
    transfer: Transfer,
    session: LiveSession,
    carrier: AnyCarrier,
    locals: readonly Region[],
    request: PreparedRequest | undefined,
  ): InFlight {
    const { slot, generation, bytes, chunks, path } = factsOf(transfer);
    // Field by field: copying an object of common ones costs microseconds at every post.
    const posted: InFlight = {
      session,
      slot,
      generation,
      bytes,
      chunks,
      path,
      laneBits: 0,
      transfer,
      carrier,
      locals,
      request,
      serial: this.#serial++,
      givenUpUs: Number.POSITIVE_INFINITY,
      isAwaited: true,
    };
    this.#inFlight[slot] = posted;
    this.#watch.arm();
    return posted;
  }

  /** A message without data. */
  postNotification(session: LiveSession, message: Uint8Array | string): Transfer {
    this.#table.assertFree();
    return this.#postMessage(session, encodeMessage(message), false);
  }

  /** A message to the peer's engine; it needs no free entry of the program's. */
  postSignal(session: LiveSession, bytes: Uint8Array): void {
    this.#postMessage(session, bytes, true);
  }

  #postMessage(session: LiveSession, bytes: Uint8Array, isSignal: boolean): Transfer {
    const { carrier } = this.#options;
    const isLost = !isSignal && session.isLost('notify');
    const slot = isLost ? NO_SLOT : carrier.openMessage(session, bytes, isSignal);
    const transfer = this.#transfer(session, slot, {
      operation: 'notify',
      bytes: bytes.length,
      chunks: 0,
      path: session.facts.path,
      provider: 'tcp',
      providerReason: 'messages go over tcp',
    });
    if (isLost) return transfer;
    carrier.submitMessage(this.#enter(transfer, session, carrier, NO_REGIONS, undefined), isSignal);
    return transfer;
  }

  hasInFlight(session: LiveSession): boolean {
    return this.#inFlight.some((entry) => entry?.session === session);
  }

  /** Whether a post would find an entry. */
  get hasRoom(): boolean {
    return this.#table.hasFree();
  }

  /** A carrier says that the transfer in this entry has finished. */
  onFinished(slot: TransferSlot, generation: Generation): void {
    const entry = this.#inFlight[slot];
    if (entry?.generation === generation) {
      this.#settle(slot, entry, this.#table.failure(slot));
    } else if (this.#table.generation(slot) !== generation) {
      return;
    }
    this.#table.free(slot);
  }

  #settle(slot: TransferSlot, entry: InFlight, failure: number): void {
    this.#inFlight[slot] = undefined;
    for (const region of entry.locals) this.#options.regions.release(region);
    const outcome = entry.carrier.outcome(entry, failure);
    entry.session.progress.endedBytes += this.#table.confirmedBytes(slot);
    entry.carrier.close(entry);
    const { request } = entry;
    if (request !== undefined) {
      request.inFlight--;
      if (entry.isAwaited) request.awaited--;
      if (request.isReleased && request.inFlight === 0) request.free();
    }
    settle(entry.transfer, outcome);
  }

  /** The lanes of this session are gone: nothing of it will finish by itself. */
  abandonSession(session: LiveSession): void {
    for (const [slot, entry] of this.#inFlight.entries()) {
      if (entry?.session === session) this.#settle(slot, entry, FAIL_CHANNEL);
    }
  }

  /** The engine ends: whatever is left fails while its entry can still be read. */
  abandonAll(): void {
    this.#isClosed = true;
    for (const [slot, entry] of this.#inFlight.entries()) {
      if (entry !== undefined) this.#settle(slot, entry, FAIL_CHANNEL);
    }
  }

  poll(): void {
    this.#options.poll();
  }

  block(slot: TransferSlot, timeoutMs: number): void {
    if (this.#isClosed) return;
    const entry = this.#inFlight[slot];
    if (entry?.carrier.capability === 'matched') {
      entry.session.matched?.epochs.assertSettling();
      this.#options.waitMatched?.(timeoutMs);
      return;
    }
    const { lanes, carrier } = this.#options;
    if (lanes.inline.length > 0) return; // the next poll moves what there is to move
    this.#finishWait.wait(timeoutMs, carrier.sleeperFor(slot));
  }

  nowUs(): number {
    return this.#clock.nowUs();
  }

  after(delayMs: number, act: () => void): () => void {
    if (this.#options.after !== undefined) return this.#options.after(delayMs, act);
    return afterMs(delayMs, act);
  }

  /** Entries that a lane or a program still uses, signals included. */
  get entriesUsed(): number {
    return this.#table.usedCount();
  }

  requestCancel(slot: TransferSlot, generation: Generation): void {
    const entry = this.#inFlight[slot];
    if (entry?.generation !== generation || this.#isClosed) return;
    entry.givenUpUs = Math.min(entry.givenUpUs, this.#watch.steadyUs);
    entry.carrier.cancel(entry);
  }

  confirmedBytes(slot: TransferSlot, generation: Generation): number {
    if (this.#table.generation(slot) !== generation) return 0;
    const entry = this.#inFlight[slot];
    return entry?.carrier.confirmedBytes?.(entry) ?? this.#table.confirmedBytes(slot);
  }

  giveUp(slot: TransferSlot, generation: Generation): Outcome {
    const entry = this.#inFlight[slot];
    assert(entry?.generation === generation, 'a transfer that has not ended is in flight');
    const outcome = entry.carrier.outcome(entry, FAIL_CANCELLED);
    entry.isAwaited = false;
    if (entry.request !== undefined) entry.request.awaited--;
    return outcome;
  }

  beginAwait(): void {
    this.#pump.begin();
  }

  endAwait(): void {
    this.#pump.end();
  }

  isTimeForControl(): boolean {
    this.#pollCount = (this.#pollCount + 1) | 0;
    return this.#options.isCallerDriven && (this.#pollCount & CONTROL_POLL_MASK) === 0;
  }
}
