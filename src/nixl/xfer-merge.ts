// Picks pairs out of two prepared lists and joins neighbours, as NIXL 1.4 does: pairs whose indices
// count up by one on both sides, inside a dense run of both lists, become one descriptor. Pure.

import { wrongArgument } from '../base/argument.js';
import { floatAt, wordAt } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import type { MetaDlist } from './backend.js';
import type { OpenBackend } from './backend-set.js';
import type { ResolvedDlist } from './resolved-dlist.js';

export interface PairedLists {
  readonly local: MetaDlist;
  readonly remote: MetaDlist;
}

export function pairLists(
  handle: OpenBackend,
  local: ResolvedDlist,
  localIndices: ArrayLike<number>,
  remote: ResolvedDlist,
  remoteIndices: ArrayLike<number>,
  isMerging: boolean,
): PairedLists {
  const here = new Column(local, handle, localIndices.length);
  const there = new Column(remote, handle, remoteIndices.length);
  const localEnds = local.denseEndsOf(handle);
  const remoteEnds = remote.denseEndsOf(handle);
  let joined = 1;
  for (let pair = 0; pair < localIndices.length; pair += joined) {
    const localIndex = checkedIndex(localIndices, pair, local);
    const remoteIndex = checkedIndex(remoteIndices, pair, remote);
    const len = floatAt(local.lens, localIndex);
    if (len !== floatAt(remote.lens, remoteIndex)) {
      throw new TcpxError(
        'ERR_USAGE_ARGUMENT',
        `makeXferReq: pair ${pair} has ${len} bytes here and ` +
          `${floatAt(remote.lens, remoteIndex)} at the peer`,
      );
    }
    joined = 1;
    const localRun = wordAt(localEnds, localIndex) - localIndex;
    const remoteRun = wordAt(remoteEnds, remoteIndex) - remoteIndex;
    const runMax = isMerging ? Math.min(localRun, remoteRun, localIndices.length - pair) : 1;
    while (
      joined < runMax &&
      localIndices[pair + joined] === localIndex + joined &&
      remoteIndices[pair + joined] === remoteIndex + joined
    ) {
      joined++;
    }
    here.push(localIndex, len * joined);
    there.push(remoteIndex, len * joined);
  }
  return { local: here.finish(), remote: there.finish() };
}

function checkedIndex(indices: ArrayLike<number>, pair: number, list: ResolvedDlist): number {
  const index = indices[pair];
  if (index !== undefined && Number.isInteger(index) && index >= 0 && index < list.count) {
    return index;
  }
  throw wrongArgument('makeXferReq: an index', `a place in a list of ${list.count}`, index);
}

/** One side under construction. */
class Column {
  readonly #list: ResolvedDlist;
  readonly #source: readonly unknown[];
  readonly #addrs: Float64Array;
  readonly #lens: Float64Array;
  readonly #devIds: Float64Array;
  readonly #mds: unknown[];
  #count = 0;

  constructor(list: ResolvedDlist, handle: OpenBackend, capacity: number) {
    this.#list = list;
    this.#source = list.mdsOf(handle);
    this.#addrs = new Float64Array(capacity);
    this.#lens = new Float64Array(capacity);
    this.#devIds = new Float64Array(capacity);
    this.#mds = new Array<unknown>(capacity);
  }

  push(index: number, len: number): void {
    const count = this.#count++;
    this.#addrs[count] = floatAt(this.#list.addrs, index);
    this.#lens[count] = len;
    this.#devIds[count] = floatAt(this.#list.devIds, index);
    this.#mds[count] = this.#source[index];
  }

  finish(): MetaDlist {
    this.#mds.length = this.#count;
    return {
      memType: this.#list.memType,
      count: this.#count,
      addrs: this.#addrs.subarray(0, this.#count),
      lens: this.#lens.subarray(0, this.#count),
      devIds: this.#devIds.subarray(0, this.#count),
      mds: this.#mds,
    };
  }
}
