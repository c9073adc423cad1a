// Requests and transfers: prepared and posted through the carrier that can take their memory,
// settled when it reports them finished.

import { FAIL_CHANNEL } from '../base/failure.js';
import { type Clock, systemClock } from '../base/clock.js';
import { TcpxError } from '../base/errors.js';
import type { Region, RegionRegistry } from '../memory/region.js';
import {
  type Block,
  type BlockColumns,
  type CheckedBlocks,
  checkBlocks,
} from '../provider/block-columns.js';
import type {
  Carrier,
  DataOperation,
  Posted,
  PostExtra,
  Prepared,
  SourceEvent,
} from '../provider/contract.js';
import type { LaneCarrier } from '../provider/tcp/lane-carrier.js';
import type { LaneSet } from '../provider/tcp/lane-set.js';
import type { TransferTable } from '../provider/tcp/transfer-table.js';
import { NOTIFICATION_BYTES_MAX } from '../wire/data-frame.js';
import { FinishWait } from './finish-wait.js';
import type { PostOptions, Request, Session } from './session.js';
import { Transfer, type TransferHost } from './transfer.js';

export interface TransfersOptions {
  readonly lanes: LaneSet;
  readonly carrier: LaneCarrier;
  readonly table: TransferTable;
  readonly regions: RegionRegistry;
  readonly trustName: string;
  readonly isCallerDriven: boolean;
  /** How long a thread that blocks looks again, at most, before it sleeps. */
  readonly spinUs: number;
  /** What transfers are timed by; the system's unless a simulation has its own. */
  readonly clock?: Clock;
  /** Calls after this time; a timer of the event loop unless a simulation has its own. */
  readonly after?: (delayMs: number, act: () => void) => () => void;
  poll(): void;
  /** Blocks until a plugin process or a peer of matched transfers has said something. */
  waitMatched?(timeoutMs: number): void;
}

type AnyCarrier = Carrier<Session, Prepared>;

/** How a request goes, decided once. */
interface Route {
  readonly carrier: AnyCarrier;
  readonly provider: 'tcp' | 'tcpx';
  readonly reason: string;
}

/** A request that was prepared, and what is in flight of it. */
interface PreparedRequest extends Route {
  readonly session: Session;
  readonly operation: DataOperation;
  readonly blocks: CheckedBlocks;
  readonly prepared: Prepared;
  inFlight: number;
  isReleased: boolean;
}

/** A transfer that is posted, and what has to be undone when it finishes. */
interface InFlight extends Posted<Session> {
  readonly transfer: Transfer;
  readonly carrier: AnyCarrier;
  readonly locals: readonly Region[];
  /** Undefined for a message. */
  readonly request: PreparedRequest | undefined;
}

const NO_REGIONS: readonly Region[] = [];
/** Where callers drive, control sockets are looked at once in so many polls. */
const CONTROL_POLL_MASK = 63;

export class Transfers implements TransferHost {
  readonly #options: TransfersOptions;
  readonly #table: TransferTable;
  readonly #inFlight: (InFlight | undefined)[] = [];
  readonly #clock: Clock;
  readonly #finishWait: FinishWait;
  #awaiting = 0;
  #isClosed = false;
  #isPumping = false;
  #pollCount = 0;

  constructor(options: TransfersOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#table = options.table;
    const takeEvents = (): number => options.lanes.takeEvents();
    const { shared } = options.lanes;
    this.#finishWait = new FinishWait(shared, options.spinUs, this.#clock, takeEvents);
  }

  prepare(
    session: Session,
    operation: DataOperation,
    blocks: readonly Block[] | BlockColumns,
  ): Request {
    const checked = checkBlocks(blocks);
    const route = this.#routeOf(session, checked);
    const prepared = route.carrier.prepare(session, operation, checked);
    const state = { inFlight: 0, isReleased: false };
    const request = { ...route, ...state, session, operation, blocks: checked, prepared };
    return {
      session,
      operation,
      blocks: checked,
      chunkCount: prepared.chunkCount,
      path: prepared.path,
      post: (options = {}) => this.#post(request, options),
      release: () => release(request),
    };
  }

  // A session of the tcpx provider takes what its plugin can reach; the rest goes over tcp, named.
  #routeOf(session: Session, blocks: CheckedBlocks): Route {
    const { matched, facts } = session;
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
    assertReady(session);
    const { regions } = this.#options;
    for (const region of blocks.locals) regions.assertRegistered(region);
    this.#table.assertFree();
    const source = checkSource(operation, options.sourceReady);
    const extra: PostExtra = { notify: encodeNotification(options.notify), source };
    const slot = carrier.open(session, operation, prepared, extra);
    for (const region of blocks.locals) regions.retain(region);
    const transfer = new Transfer(this, {
      slot,
      generation: this.#table.generation(slot),
      operation,
      bytes: blocks.totalBytes,
      chunks: prepared.chunkCount,
      peer: session.peer,
      trust: this.#options.trustName,
      postedUs: this.nowUs(),
      path: prepared.path,
      provider: request.provider,
      providerReason: request.reason,
    });
    request.inFlight++;
    const posted = this.#enter(transfer, session, carrier, blocks.locals, request);
    carrier.submit(posted, prepared);
    applyOptions(transfer, options, carrier.defaultDeadlineMs);
    return transfer;
  }

  #enter(
    transfer: Transfer,
    session: Session,
    carrier: AnyCarrier,
    locals: readonly Region[],
    request: PreparedRequest | undefined,
  ): InFlight {
    const { slot, generation, bytes, chunks, path } = transfer.facts;
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
    };
    this.#inFlight[slot] = posted;
    return posted;
  }

  /** A message without data. */
  postNotification(session: Session, message: Uint8Array | string): Transfer {
    this.#table.assertFree();
    return this.#postMessage(session, encodeNotification(message), false);
  }

  /** A message to the peer's engine; it needs no free entry of the program's. */
  postSignal(session: Session, bytes: Uint8Array): void {
    this.#postMessage(session, bytes, true);
  }

  #postMessage(session: Session, bytes: Uint8Array, isSignal: boolean): Transfer {
    const { carrier } = this.#options;
    const slot = carrier.openMessage(session, bytes, isSignal);
    const transfer = new Transfer(this, {
      slot,
      generation: this.#table.generation(slot),
      operation: 'notify',
      bytes: bytes.length,
      chunks: 0,
      peer: session.peer,
      trust: this.#options.trustName,
      postedUs: this.nowUs(),
      path: session.facts.path,
      provider: 'tcp',
      providerReason: 'messages go over tcp',
    });
    carrier.submitMessage(this.#enter(transfer, session, carrier, NO_REGIONS, undefined));
    return transfer;
  }

  /** A chunk (−1: the notification) whose channel is gone: another one takes it. */
  onRetry(slot: number, generation: number, chunk: number): void {
    this.#options.carrier.onRetry(slot, generation, chunk);
  }

  onChannelsChanged(session: Session): void {
    this.#options.carrier.onChannelsChanged(session);
  }

  giveUpStranded(session: Session): void {
    this.#options.carrier.giveUpStranded(session);
  }

  /** Whether a post would find an entry. */
  get hasRoom(): boolean {
    return this.#table.hasFree();
  }

  /** A carrier says that the transfer in this entry has finished. */
  onFinished(slot: number, generation: number): void {
    const entry = this.#inFlight[slot];
    if (entry?.generation === generation) {
      this.#settle(slot, entry, this.#table.failure(slot));
    } else if (this.#table.generation(slot) !== generation) {
      return;
    }
    this.#table.free(slot);
  }

  #settle(slot: number, entry: InFlight, failure: number): void {
    this.#inFlight[slot] = undefined;
    for (const region of entry.locals) this.#options.regions.release(region);
    const outcome = entry.carrier.outcome(entry, failure);
    entry.carrier.close(entry);
    if (entry.request !== undefined) entry.request.inFlight--;
    entry.transfer.settle(outcome);
  }

  /** The lanes of this session are gone: nothing of it will finish by itself. */
  abandonSession(session: Session): void {
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

  block(slot: number, timeoutMs: number): void {
    if (this.#isClosed) return;
    const isMatched = this.#inFlight[slot]?.carrier.capability === 'matched';
    if (isMatched) this.#options.waitMatched?.(timeoutMs);
    else if (!this.#options.isCallerDriven) this.#finishWait.wait(timeoutMs);
  }

  nowUs(): number {
    return this.#clock.nowUs();
  }

  after(delayMs: number, act: () => void): () => void {
    if (this.#options.after !== undefined) return this.#options.after(delayMs, act);
    const timer = setTimeout(act, delayMs);
    return () => clearTimeout(timer);
  }

  /** Entries that a lane or a program still uses, signals included. */
  get entriesUsed(): number {
    return this.#table.usedCount();
  }

  requestCancel(slot: number, generation: number): void {
    const entry = this.#inFlight[slot];
    if (entry?.generation !== generation || this.#isClosed) return;
    entry.carrier.cancel(entry);
  }

  // Where callers drive, somebody who awaits is driven from the event loop.
  beginAwait(): void {
    this.#awaiting++;
    if (!this.#options.isCallerDriven || this.#isPumping) return;
    this.#isPumping = true;
    const pump = (): void => {
      this.#options.poll();
      if (this.#awaiting > 0) setImmediate(pump);
      else this.#isPumping = false;
    };
    setImmediate(pump);
  }

  endAwait(): void {
    this.#awaiting--;
  }

  isTimeForControl(): boolean {
    this.#pollCount = (this.#pollCount + 1) | 0;
    return this.#options.isCallerDriven && (this.#pollCount & CONTROL_POLL_MASK) === 0;
  }
}

function assertReady(session: Session): void {
  if (session.isReady) return;
  const { error } = session;
  throw new TcpxError(
    'ERR_USAGE_STATE',
    `post: session with ${session.peer} is ${session.state}`,
    error === undefined ? {} : { cause: error },
  );
}

function release(request: PreparedRequest): void {
  if (request.isReleased) return;
  if (request.inFlight > 0) {
    const message = `release: ${request.inFlight} transfers are in flight`;
    throw new TcpxError('ERR_USAGE_STATE', message);
  }
  request.isReleased = true;
  request.carrier.release(request.prepared);
}

function encodeNotification(message: Uint8Array | string): Uint8Array;
function encodeNotification(message: Uint8Array | string | undefined): Uint8Array | undefined;
function encodeNotification(message: Uint8Array | string | undefined): Uint8Array | undefined {
  if (message === undefined) return undefined;
  const bytes = typeof message === 'string' ? new TextEncoder().encode(message) : message;
  if (bytes.length <= NOTIFICATION_BYTES_MAX) return bytes;
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `notification of ${bytes.length} bytes: at most ${NOTIFICATION_BYTES_MAX}`,
  );
}

/** Only a write has a source of its own that may not be ready. */
function checkSource(operation: DataOperation, event: SourceEvent | undefined) {
  if (event === undefined) return undefined;
  if (operation === 'read') {
    throw new TcpxError('ERR_USAGE_ARGUMENT', 'post: sourceReady goes with a write');
  }
  if (Number.isSafeInteger(event.handle) && event.handle > 0) return event;
  throw new TcpxError('ERR_USAGE_ARGUMENT', `post: ${event.handle} is not the handle of an event`);
}

function applyOptions(transfer: Transfer, options: PostOptions, defaultDeadlineMs: number): void {
  const deadlineMs = options.deadlineMs ?? defaultDeadlineMs;
  if (options.deadlineMs !== undefined || deadlineMs > 0) transfer.setDeadline(deadlineMs);
  if (options.signal === undefined) return;
  if (options.signal.aborted) transfer.cancel();
  else transfer.cancelOn(options.signal);
}
