// Ping-pong as latency benchmarks do it: each side writes into the other's memory and waits for the
// other's write. In host memory it watches its own last byte change; GPU memory is not the CPU's to
// watch, and a plugin does not write the last byte last: there the write carries a notification,
// which is delivered after the data has landed. No event loop: the thread polls, or sleeps where
// processes of the plugin need its core.

import { fillPattern } from '../base/pattern.js';
import {
  type Engine,
  type Receipt,
  type RegionDescriptor,
  type Session,
  type Transfer,
  type TransferRequest,
  tcpxOf,
} from '../engine/internal.js';
import type { BenchMemory } from './bench-memory.js';

export interface PingPongEnd {
  send(turn: number): void;
  hasCome(turn: number): boolean;
  /** Nothing has come: lets others work. */
  rest(): void;
  /** Whether what landed last is all of what was sent. */
  readonly isCheckable: boolean;
  /** Waits for what was sent last: how it went. */
  settle(timeoutMs: number): Receipt | undefined;
  readonly engine: Engine;
  /** Ends the game when it does. */
  readonly session: Session;
}

const REST_MS = 1;

/** A notification that stands for a mark in memory. */
const MARK = Uint8Array.of(0xff);

function isMark(bytes: Uint8Array): boolean {
  return bytes.length === 1 && bytes[0] === MARK[0];
}

/** Counts the one-byte notifications that stand for a mark in memory. */
export class MarkCounter {
  count = 0;

  /** False: it is none of them. */
  take(bytes: Uint8Array): boolean {
    if (!isMark(bytes)) return false;
    this.count++;
    return true;
  }
}

/** What an end of a ping-pong receives into, and more memory of that kind. */
export interface PingPongMemory {
  readonly memory: BenchMemory;
  /** Kept until the engine is closed. */
  allocate(): BenchMemory;
}

/** What both ends send where notifications tell of it: the last one that landed can be checked. */
export const PING_SEED = 1;

export function createPingPongEnd(
  engine: Engine,
  session: Session,
  own: PingPongMemory,
  remote: RegionDescriptor,
  marks: MarkCounter,
): PingPongEnd {
  const { view, bytes } = own.memory;
  if (view === undefined || session.provider === 'tcpx') {
    const outbox = own.allocate();
    outbox.fill(0, bytes, 0, PING_SEED);
    outbox.settle();
    const local = engine.register(outbox.source, { read: false, write: false });
    const block = { local, localOffset: 0, remote, remoteOffset: 0, bytes };
    return new NotifiedEnd(engine, session, session.prepare('write', [block]), marks);
  }
  // A second buffer is sent, so that what arrives does not change what goes out.
  const outbox = new Uint8Array(engine.allocate(bytes).buffer);
  fillPattern(outbox, 1);
  const source = engine.register(outbox, { read: false, write: false });
  const block = { local: source, localOffset: 0, remote, remoteOffset: 0, bytes };
  const request = session.prepare('write', [block]);
  return new WatchedEnd(engine, session, request, view, outbox);
}

/** The mark of turn `turn`; never that of its neighbours. */
function markOf(turn: number): number {
  return (turn % 251) + 1;
}

class WatchedEnd implements PingPongEnd {
  // Marks change the last byte all the time.
  readonly isCheckable = false;
  readonly engine: Engine;
  readonly session: Session;
  readonly #request: TransferRequest;
  readonly #memory: Uint8Array;
  readonly #outbox: Uint8Array;
  readonly #last: number;
  #transfer: Transfer | undefined;

  constructor(
    engine: Engine,
    session: Session,
    request: TransferRequest,
    memory: Uint8Array,
    outbox: Uint8Array,
  ) {
    this.engine = engine;
    this.session = session;
    this.#request = request;
    this.#memory = memory;
    this.#outbox = outbox;
    this.#last = memory.length - 1;
  }

  send(turn: number): void {
    this.#outbox[this.#last] = markOf(turn);
    this.#transfer = this.#request.post();
    // While the message is on its way: take the completion of the one before.
    this.engine.poll();
  }

  // Data alone is moved until the mark is seen; events wait for the next poll.
  hasCome(turn: number): boolean {
    if (this.#memory[this.#last] === markOf(turn)) return true;
    this.engine.progress();
    return this.#memory[this.#last] === markOf(turn);
  }

  rest(): void {
    return;
  }

  settle(timeoutMs: number): Receipt | undefined {
    return receiptOf(this.#transfer, timeoutMs);
  }
}

class NotifiedEnd implements PingPongEnd {
  readonly isCheckable = true;
  readonly engine: Engine;
  readonly session: Session;
  readonly #request: TransferRequest;
  readonly #marks: MarkCounter;
  readonly #before: number;
  #transfer: Transfer | undefined;

  constructor(engine: Engine, session: Session, request: TransferRequest, marks: MarkCounter) {
    this.engine = engine;
    this.session = session;
    this.#request = request;
    this.#marks = marks;
    this.#before = marks.count;
  }

  send(): void {
    this.#transfer = this.#request.post({ notify: MARK });
    this.engine.poll();
  }

  hasCome(turn: number): boolean {
    this.engine.poll();
    return this.#marks.count - this.#before > turn;
  }

  rest(): void {
    if (this.#request.path.startsWith('tcpx')) tcpxOf(this.engine)?.wait(REST_MS);
  }

  settle(timeoutMs: number): Receipt | undefined {
    return receiptOf(this.#transfer, timeoutMs);
  }
}

function receiptOf(transfer: Transfer | undefined, timeoutMs: number): Receipt | undefined {
  return transfer?.wait(timeoutMs) === 'done' ? transfer.receipt() : undefined;
}
