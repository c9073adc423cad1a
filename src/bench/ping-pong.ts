// Ping-pong as latency benchmarks do it: each side writes into the other's memory and watches its
// own last byte change. No notification, no event loop: the thread polls.

import type { Engine, Region, RegionDescriptor, Request, Session } from '../engine/internal.js';

export interface PingPongEnd {
  readonly engine: Engine;
  readonly memory: Uint8Array;
  /** Own memory, which the peer writes. */
  readonly local: Region;
  /** A second buffer that is sent, so that what arrives does not change what goes out. */
  readonly outbox: Uint8Array;
  readonly request: Request;
}

export function createPingPongEnd(
  engine: Engine,
  session: Session,
  own: { readonly region: Region; readonly memory: Uint8Array },
  remote: RegionDescriptor,
): PingPongEnd {
  const bytes = own.memory.length;
  const outbox = new Uint8Array(engine.allocate(bytes).buffer);
  const source = engine.register(outbox, { read: false, write: false });
  const block = { local: source, localOffset: 0, remote, remoteOffset: 0, bytes };
  const request = session.prepare('write', [block]);
  return { engine, memory: own.memory, local: own.region, outbox, request };
}

/** The mark of turn `turn`; never that of its neighbours. */
function markOf(turn: number): number {
  return (turn % 251) + 1;
}

/** Plays `count` turns; returns half round trips in µs where `isFirst`. Null when time runs out. */
export function playPingPong(
  end: PingPongEnd,
  count: number,
  isFirst: boolean,
  timeoutMs: number,
): number[] | null {
  const last = end.memory.length - 1;
  const endMs = performance.now() + timeoutMs;
  const halfTrips: number[] = [];
  let startMs = performance.now();
  for (let turn = 0; turn < count; turn++) {
    const mark = markOf(turn);
    if (isFirst) sendMark(end, last, mark);
    if (!awaitMark(end, last, mark, endMs)) return null;
    if (!isFirst) {
      sendMark(end, last, mark);
      continue;
    }
    const nowMs = performance.now();
    halfTrips.push(((nowMs - startMs) * 1000) / 2);
    startMs = nowMs;
  }
  return halfTrips;
}

function sendMark(end: PingPongEnd, last: number, mark: number): void {
  end.outbox[last] = mark;
  end.request.post();
  // While the message is on its way: take the completion of the one before.
  end.engine.poll();
}

// Data alone is moved until the mark is seen; events wait for the next poll.
function awaitMark(end: PingPongEnd, last: number, mark: number, endMs: number): boolean {
  for (let spins = 1; end.memory[last] !== mark; spins++) {
    end.engine.progress();
    if ((spins & 0x3fff) !== 0) continue;
    end.engine.poll();
    if (performance.now() > endMs) return false;
  }
  return true;
}
