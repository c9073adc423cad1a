// A transfer list resolved against registrations: for each backend that covers all of it, the
// backend's object per descriptor. One side of a request; made once, used by many requests.

import { floatAt } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import type { MetaDlist } from './backend.js';
import type { OpenBackend } from './backend-set.js';
import type { BasicDesc } from './descriptors.js';
import type { MemType } from './memory-type.js';
import type { RangeIndex } from './range-index.js';
import type { PeerRef } from './remote-peer.js';
import type { XferDlist } from './xfer-dlist.js';

export class ResolvedDlist {
  /** Whether it is memory of this agent or of a peer. */
  readonly side: 'initiator' | 'target';
  /** Whose memory it is; the agent itself on the initiator's side and for loopback. */
  readonly peer: PeerRef;
  /** Memory that all of it is in. */
  readonly memType: MemType;
  /** First byte of each range. */
  readonly addrs: Float64Array;
  /** Length of each range. */
  readonly lens: Float64Array;
  /** Device of each range. */
  readonly devIds: Float64Array;
  readonly #mds: ReadonlyMap<OpenBackend, readonly unknown[]>;
  readonly #denseEnds = new Map<OpenBackend, Uint32Array>();
  /** Whether it was given back. */
  isReleased = false;

  constructor(
    side: 'initiator' | 'target',
    peer: PeerRef,
    list: XferDlist,
    mds: ReadonlyMap<OpenBackend, readonly unknown[]>,
  ) {
    this.side = side;
    this.peer = peer;
    this.memType = list.memType;
    // Copies: the caller may go on adding to its list.
    this.addrs = list.addrs.slice();
    this.lens = list.lens.slice();
    this.devIds = list.devIds.slice();
    this.#mds = mds;
  }

  /** Number of ranges. */
  get count(): number {
    return this.addrs.length;
  }

  /** Whether a backend knows all of its ranges. */
  covers(handle: OpenBackend): boolean {
    return this.#mds.has(handle);
  }

  /** What a backend gave out for each range. */
  mdsOf(handle: OpenBackend): readonly unknown[] {
    const mds = this.#mds.get(handle);
    if (mds !== undefined) return mds;
    throw new TcpxError('ERR_USAGE_NOT_FOUND', `prepared list: not covered by ${handle.type}`);
  }

  /** For each range, one past the last that may be joined to it; found once, for all requests. */
  denseEndsOf(handle: OpenBackend): Uint32Array {
    const known = this.#denseEnds.get(handle);
    if (known !== undefined) return known;
    const ends = denseEnds(this.metaDlist(handle));
    this.#denseEnds.set(handle, ends);
    return ends;
  }

  /** The whole list as a backend sees it. */
  metaDlist(handle: OpenBackend): MetaDlist {
    const { memType, count, addrs, lens, devIds } = this;
    return { memType, count, addrs, lens, devIds, mds: this.mdsOf(handle) };
  }
}

/**
 * The object of the covering registration for each descriptor, or undefined if one has none.
 * Neighbours usually lie in one registration, so the last hit is tried first.
 */
export function resolveList<T extends BasicDesc>(
  index: RangeIndex<T>,
  list: XferDlist,
  pick: (entry: T) => unknown,
): unknown[] | undefined {
  const { addrs, lens, devIds } = list;
  const mds = new Array<unknown>(addrs.length);
  let last: T | undefined;
  for (let at = 0; at < addrs.length; at++) {
    const addr = floatAt(addrs, at);
    const len = floatAt(lens, at);
    const devId = floatAt(devIds, at);
    if (last === undefined || !holds(last, addr, len, devId)) {
      last = index.findCovering(addr, len, devId);
      if (last === undefined) return undefined;
    }
    mds[at] = pick(last);
  }
  return mds;
}

/**
 * Cuts a list into runs as NIXL 1.4 does: ranges of one length in one registration, each as far
 * from the one before as the second is from the first. A run is dense where that is the length.
 */
function denseEnds({ addrs, lens, devIds, mds, count }: MetaDlist): Uint32Array {
  const ends = new Uint32Array(count);
  for (let start = 0; start < count; ) {
    const len = floatAt(lens, start);
    let stride = len;
    let end = start + 1;
    for (; end < count; end++) {
      const isAlike =
        floatAt(lens, end) === len &&
        floatAt(devIds, end) === floatAt(devIds, start) &&
        mds[end] === mds[start];
      const step = floatAt(addrs, end) - floatAt(addrs, end - 1);
      const isSecond = end === start + 1;
      if (!isAlike || (isSecond ? step <= 0 : step !== stride)) break;
      if (isSecond) stride = step;
    }
    for (let index = start; index < end; index++) ends[index] = stride === len ? end : index + 1;
    start = end;
  }
  return ends;
}

function holds(entry: BasicDesc, addr: number, len: number, devId: number): boolean {
  return entry.devId === devId && entry.addr <= addr && addr + len <= entry.addr + entry.len;
}
