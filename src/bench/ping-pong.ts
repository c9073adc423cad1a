// Ping-pong as latency benchmarks do it: each side writes into the other's memory and waits for the
// other's write. In host memory it watches its own last byte change; GPU memory is not the CPU's to
// watch, so there the write carries a notification, which is delivered after the data has landed.
// No event loop: the thread polls.

import type { Engine, Region, RegionDescriptor, Request, Session } from '../engine/internal.js';
import type { BenchMemory } from './bench-memory.js';
import { fillPattern } from '../base/pattern.js';

export interface PingPongEnd {
  send(turn: number): void;
  hasCome(turn: number): boolean;
  readonly engine: Engine;
}

/** A notification that stands for a mark in memory. */
export const MARK = Uint8Array.of(0xff);

export function isMark(bytes: Uint8Array): boolean {
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

export function createPingPongEnd(
  engine: Engine,
  session: Session,
  own: { readonly region: Region; readonly memory: BenchMemory },
  remote: RegionDescriptor,
  marks: MarkCounter,
): PingPongEnd {
  const { view, bytes } = own.memory;
  if (view === undefined) {
    const block = { local: own.region, localOffset: 0, remote, remoteOffset: 0, bytes };
    return new NotifiedEnd(engine, session.prepare('write', [block]), marks);
  }
  // A second buffer is sent, so that what arrives does not change what goes out.
  const outbox = new Uint8Array(engine.allocate(bytes).buffer);
  fillPattern(outbox, 1);
  const source = engine.register(outbox, { read: false, write: false });
  const block = { local: source, localOffset: 0, remote, remoteOffset: 0, bytes };
  return new WatchedEnd(engine, session.prepare('write', [block]), view, outbox);
}

/** The mark of turn `turn`; never that of its neighbours. */
function markOf(turn: number): number {
  return (turn % 251) + 1;
}

class WatchedEnd implements PingPongEnd {
  readonly engine: Engine;
  readonly #request: Request;
  readonly #memory: Uint8Array;
  readonly #outbox: Uint8Array;
  readonly #last: number;

  constructor(engine: Engine, request: Request, memory: Uint8Array, outbox: Uint8Array) {
    this.engine = engine;
    this.#request = request;
    this.#memory = memory;
    this.#outbox = outbox;
    this.#last = memory.length - 1;
  }

  send(turn: number): void {
    this.#outbox[this.#last] = markOf(turn);
    this.#request.post();
    // While the message is on its way: take the completion of the one before.
    this.engine.poll();
  }

  // Data alone is moved until the mark is seen; events wait for the next poll.
  hasCome(turn: number): boolean {
    if (this.#memory[this.#last] === markOf(turn)) return true;
    this.engine.progress();
    return this.#memory[this.#last] === markOf(turn);
  }
}

class NotifiedEnd implements PingPongEnd {
  readonly engine: Engine;
  readonly #request: Request;
  readonly #marks: MarkCounter;
  readonly #before: number;

  constructor(engine: Engine, request: Request, marks: MarkCounter) {
    this.engine = engine;
    this.#request = request;
    this.#marks = marks;
    this.#before = marks.count;
  }

  send(): void {
    this.#request.post({ notify: MARK });
    this.engine.poll();
  }

  hasCome(turn: number): boolean {
    this.engine.poll();
    return this.#marks.count - this.#before > turn;
  }
}

/** Plays `count` turns; returns half round trips in µs where `isFirst`. Null when time runs out. */
export function playPingPong(
  end: PingPongEnd,
  count: number,
  isFirst: boolean,
  timeoutMs: number,
): number[] | null {
  const endMs = performance.now() + timeoutMs;
  const halfTrips: number[] = [];
  let startMs = performance.now();
  for (let turn = 0; turn < count; turn++) {
    if (isFirst) end.send(turn);
    if (!awaitTurn(end, turn, endMs)) return null;
    if (!isFirst) {
      end.send(turn);
      continue;
    }
    const nowMs = performance.now();
    halfTrips.push(((nowMs - startMs) * 1000) / 2);
    startMs = nowMs;
  }
  return halfTrips;
}

function awaitTurn(end: PingPongEnd, turn: number, endMs: number): boolean {
  for (let spins = 1; !end.hasCome(turn); spins++) {
    if ((spins & 0x3fff) !== 0) continue;
    end.engine.poll();
    if (performance.now() > endMs) return false;
  }
  return true;
}
