// Requests and transfers: prepared into the arena, posted to the lanes, settled from their events.

import { FAIL_CHANNEL } from '../base/failure.js';
import { type Clock, systemClock } from '../base/clock.js';
import { TcpxError } from '../base/errors.js';
import { OPERATION_READ, OPERATION_SIGNAL, OPERATION_WRITE } from '../provider/tcp/lane/layout.js';
import { COMMAND_CANCEL } from '../provider/tcp/lane/messages.js';
import type { Arena } from '../memory/arena.js';
import type { RegionRegistry } from '../memory/region.js';
import { NOTIFICATION_BYTES_MAX } from '../wire/data-frame.js';
import { FinishWait } from './finish-wait.js';
import type { LaneSet } from './lane-set.js';
import type { TransferPath } from './receipt.js';
import { isStagedPath, pathOf } from './transfer-path.js';
import {
  type Block,
  type BlockColumns,
  arenaFull,
  planBytes,
  planRequest,
  type RequestPlaces,
  writeRequest,
} from './request.js';
import type { PostOptions, Request, Session } from './session.js';
import { Transfer, type TransferHost } from './transfer.js';
import { type InFlight, TransferMoves } from './transfer-moves.js';
import { outcomeOf } from './transfer-outcome.js';
import { SIGNAL_ENTRIES, type SourceEvent, TransferTable } from './transfer-table.js';

export interface TransfersOptions {
  readonly lanes: LaneSet;
  readonly arena: Arena;
  readonly regions: RegionRegistry;
  readonly transfersMax: number;
  readonly trustName: string;
  readonly isCallerDriven: boolean;
  /** How long a thread that blocks looks again, at most, before it sleeps. */
  readonly spinUs: number;
  /** What transfers are timed by; the system's unless a simulation has its own. */
  readonly clock?: Clock;
  /** Calls after this time; a timer of the event loop unless a simulation has its own. */
  readonly after?: (delayMs: number, act: () => void) => () => void;
  /** Makes the lanes know a GPU. */
  openDevice(device: number): void;
  poll(): void;
}

/** What is known of a request once and for all its posts. */
interface Prepared {
  readonly plan: Request['plan'];
  readonly places: RequestPlaces;
  readonly path: TransferPath;
}

const NO_NOTIFICATION = { notifyBytes: -1, notifyAt: -1 };
const NO_PLACES: RequestPlaces = { remotesAt: 0, pairsAt: 0, chunksAt: 0 };
/** Where callers drive, control sockets are looked at once in so many polls. */
const CONTROL_POLL_MASK = 63;

export class Transfers implements TransferHost {
  readonly #options: TransfersOptions;
  readonly #table: TransferTable;
  readonly #inFlight: (InFlight | undefined)[] = [];
  readonly #moves: TransferMoves;
  readonly #clock: Clock;
  readonly #finishWait: FinishWait;
  #awaiting = 0;
  #isClosed = false;
  #isPumping = false;
  #pollCount = 0;
  #nextLane = 0;

  constructor(options: TransfersOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const { shared, offsets } = options.lanes;
    const entries = options.transfersMax + SIGNAL_ENTRIES;
    this.#table = new TransferTable(shared, offsets.transfersAt, entries);
    const takeEvents = (): number => options.lanes.takeEvents();
    this.#finishWait = new FinishWait(shared, options.spinUs, this.#clock, takeEvents);
    this.#moves = new TransferMoves(options.lanes, this.#table, this.#inFlight);
  }

  prepare(
    session: Session,
    operation: 'write' | 'read',
    blocks: readonly Block[] | BlockColumns,
  ): Request {
    const { arena, lanes } = this.#options;
    const plan = planRequest(blocks, session.facts.agreement);
    const bytes = planBytes(plan);
    const at = arena.allocate(bytes);
    if (at < 0) throw arenaFull(bytes);
    const prepared: Prepared = {
      plan,
      places: writeRequest(lanes.shared, lanes.offsets.arenaAt, at, plan),
      path: pathOf(session, plan),
    };
    let inFlight = 0;
    let isReleased = false;
    return {
      session,
      operation,
      plan,
      post: (options = {}) => {
        if (isReleased) throw new TcpxError('ERR_USAGE_STATE', 'post: the request was released');
        inFlight++;
        try {
          return this.#post(session, operation, prepared, options, () => inFlight--);
        } catch (error) {
          inFlight--;
          throw error;
        }
      },
      release: () => {
        if (isReleased) return;
        if (inFlight > 0) {
          throw new TcpxError('ERR_USAGE_STATE', `release: ${inFlight} transfers are in flight`);
        }
        isReleased = true;
        arena.free(at, bytes);
      },
    };
  }

  #post(
    session: Session,
    operation: 'write' | 'read',
    { plan, places, path }: Prepared,
    options: PostOptions,
    onSettled: () => void,
  ): Transfer {
    if (session.state !== 'ready') {
      throw new TcpxError(
        'ERR_USAGE_STATE',
        `post: session with ${session.peer} is ${session.state}`,
        {
          ...(session.error === undefined ? {} : { cause: session.error }),
        },
      );
    }
    for (const region of plan.locals) this.#options.regions.assertRegistered(region);
    this.#table.assertFree();
    const source = checkSource(operation, options.sourceReady);
    if (source !== undefined) this.#options.openDevice(source.device);
    const notify = this.#placeNotification(options.notify);
    for (const region of plan.locals) this.#options.regions.retain(region);
    const lanes = session.recovery.book.livingLanes;
    const holders = Math.min(lanes.length, plan.chunks.length);
    const slot = this.#table.allocate({
      operation: operation === 'write' ? OPERATION_WRITE : OPERATION_READ,
      sessionIndex: session.facts.index,
      chunkCount: plan.chunks.length,
      remotesAt: places.remotesAt,
      pairsAt: places.pairsAt,
      chunksAt: places.chunksAt,
      notifyBytes: notify.notifyBytes,
      notifyAt: notify.notifyAt,
      holders,
      isStaged: isStagedPath(path),
      source,
    });
    const transfer = new Transfer(this, {
      slot,
      generation: this.#table.generation(slot),
      operation,
      bytes: plan.totalBytes,
      chunks: plan.chunks.length,
      peer: session.peer,
      trust: this.#options.trustName,
      postedUs: this.nowUs(),
      path,
    });
    const { notifyAt, notifyBytes } = notify;
    const { locals } = plan;
    const entry = { transfer, session, locals, notifyAt, notifyBytes, onSettled, laneBits: 0 };
    this.#inFlight[slot] = entry;
    this.#submit(entry, lanes, holders);
    applyOptions(transfer, options);
    return transfer;
  }

  /** A message without data. */
  postNotification(session: Session, message: Uint8Array | string): Transfer {
    this.#table.assertFree();
    return this.#postMessage(session, OPERATION_WRITE, message);
  }

  /** A message to the peer's engine; it needs no free entry of the program's. */
  postSignal(session: Session, bytes: Uint8Array): void {
    this.#postMessage(session, OPERATION_SIGNAL, bytes);
  }

  #postMessage(session: Session, operation: number, message: Uint8Array | string): Transfer {
    const notify = this.#placeNotification(message);
    const lanes = session.recovery.book.livingLanes;
    const slot = this.#table.allocate({
      operation,
      sessionIndex: session.facts.index,
      chunkCount: 0,
      ...NO_PLACES,
      ...notify,
      holders: Math.min(1, lanes.length),
    });
    const generation = this.#table.generation(slot);
    const transfer = new Transfer(this, {
      slot,
      generation,
      operation: 'notify',
      bytes: notify.notifyBytes,
      chunks: 0,
      peer: session.peer,
      path: session.facts.path,
      trust: this.#options.trustName,
      postedUs: this.nowUs(),
    });
    const entry = { transfer, session, locals: [], ...notify, onSettled: undefined, laneBits: 0 };
    this.#inFlight[slot] = entry;
    if (lanes.length > 0) this.#submit(entry, lanes, 1);
    else session.stranded.push({ slot, generation, chunk: -1 });
    return transfer;
  }

  // A transfer with fewer chunks than lanes goes to some of them, in turn.
  #submit(entry: InFlight, lanes: readonly number[], holders: number): void {
    for (let index = 0; index < holders; index++) {
      const lane = lanes[(this.#nextLane + index) % lanes.length] ?? 0;
      entry.laneBits |= 1 << lane;
      this.#options.lanes.submit(lane, entry.transfer.facts.slot);
    }
    if (holders < lanes.length) this.#nextLane = (this.#nextLane + holders) % lanes.length;
    if (this.#options.isCallerDriven) this.#options.lanes.sendInline();
  }

  /** A chunk (−1: the notification) whose channel is gone: another one takes it. */
  onRetry(slot: number, generation: number, chunk: number): void {
    this.#moves.onRetry(slot, generation, chunk);
  }

  onChannelsChanged(session: Session): void {
    this.#moves.onChannelsChanged(session);
  }

  giveUpStranded(session: Session): void {
    this.#moves.giveUpStranded(session);
  }

  #placeNotification(message: Uint8Array | string | undefined) {
    if (message === undefined) return NO_NOTIFICATION;
    const bytes = typeof message === 'string' ? new TextEncoder().encode(message) : message;
    if (bytes.length > NOTIFICATION_BYTES_MAX) {
      throw new TcpxError(
        'ERR_USAGE_ARGUMENT',
        `notification of ${bytes.length} bytes: at most ${NOTIFICATION_BYTES_MAX}`,
      );
    }
    const { arena, lanes } = this.#options;
    const notifyAt = arena.allocate(bytes.length);
    if (notifyAt < 0) throw arenaFull(bytes.length);
    lanes.shared.uint8.set(bytes, lanes.offsets.arenaAt + notifyAt);
    return { notifyBytes: bytes.length, notifyAt };
  }

  /** Whether a post would find an entry. */
  get hasRoom(): boolean {
    return this.#table.hasFree();
  }

  /** A lane says that the transfer in this entry has finished. */
  onFinished(slot: number, generation: number): void {
    const entry = this.#inFlight[slot];
    if (entry?.transfer.facts.generation === generation) {
      this.#settle(slot, entry, this.#table.failure(slot));
    } else if (this.#table.generation(slot) !== generation) {
      return;
    }
    this.#table.free(slot);
  }

  #settle(slot: number, entry: InFlight, failure: number): void {
    this.#inFlight[slot] = undefined;
    for (const region of entry.locals) this.#options.regions.release(region);
    if (entry.notifyAt >= 0) this.#options.arena.free(entry.notifyAt, entry.notifyBytes);
    entry.onSettled?.();
    entry.transfer.settle(outcomeOf(this.#table, entry, failure));
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

  isFinished(slot: number): boolean {
    return this.#table.isFinished(slot);
  }

  poll(): void {
    this.#options.poll();
  }

  block(timeoutMs: number): void {
    if (this.#options.isCallerDriven || this.#isClosed) return;
    this.#finishWait.wait(timeoutMs);
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
    const session = this.#inFlight[slot]?.session;
    const lane = session?.facts.lanes.find((one) => this.#options.lanes.isAlive(one));
    if (session === undefined || lane === undefined || this.#isClosed) return;
    this.#table.addHolder(slot);
    this.#options.lanes.command(lane, COMMAND_CANCEL, [slot, generation]);
    this.#moves.onCancelled(session, slot);
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

/** Only a write has a source of its own that may not be ready. */
export function checkSource(operation: 'write' | 'read', event: SourceEvent | undefined) {
  if (event === undefined) return undefined;
  if (operation === 'read') {
    throw new TcpxError('ERR_USAGE_ARGUMENT', 'post: sourceReady goes with a write');
  }
  if (Number.isSafeInteger(event.handle) && event.handle > 0) return event;
  throw new TcpxError('ERR_USAGE_ARGUMENT', `post: ${event.handle} is not the handle of an event`);
}

function applyOptions(transfer: Transfer, options: PostOptions): void {
  if (options.deadlineMs !== undefined) transfer.setDeadline(options.deadlineMs);
  if (options.signal === undefined) return;
  if (options.signal.aborted) transfer.cancel();
  else transfer.cancelOn(options.signal);
}
