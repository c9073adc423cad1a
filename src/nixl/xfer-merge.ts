// Picks pairs out of two prepared lists and joins neighbours: where a pair continues the one before
// on both sides, in the same registrations, the two become one descriptor. Pure.

import { TcpxError } from '../base/errors.js';
import type { MetaDlist } from './backend.js';
import type { BackendHandle } from './backend-set.js';
import type { PreparedDlist } from './prepared-dlist.js';

export interface PairedLists {
  readonly local: MetaDlist;
  readonly remote: MetaDlist;
}

export function pairLists(
  handle: BackendHandle,
  local: PreparedDlist,
  localIndices: ArrayLike<number>,
  remote: PreparedDlist,
  remoteIndices: ArrayLike<number>,
  isMerging: boolean,
): PairedLists {
  const here = new Column(local, handle, localIndices.length);
  const there = new Column(remote, handle, remoteIndices.length);
  for (let at = 0; at < localIndices.length; at++) {
    const localIndex = checkedIndex(localIndices, at, local);
    const remoteIndex = checkedIndex(remoteIndices, at, remote);
    const len = local.lens[localIndex] ?? 0;
    if (len !== remote.lens[remoteIndex]) {
      throw new TcpxError(
        'ERR_USAGE_ARGUMENT',
        `makeXferReq: pair ${at} has ${len} bytes here and ` +
          `${String(remote.lens[remoteIndex])} at the peer`,
      );
    }
    if (isMerging && here.continuesAt(localIndex) && there.continuesAt(remoteIndex)) {
      here.extend(len);
      there.extend(len);
    } else {
      here.push(localIndex, len);
      there.push(remoteIndex, len);
    }
  }
  return { local: here.finish(), remote: there.finish() };
}

function checkedIndex(indices: ArrayLike<number>, at: number, list: PreparedDlist): number {
  const index = indices[at];
  if (index !== undefined && Number.isInteger(index) && index >= 0 && index < list.count) {
    return index;
  }
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `makeXferReq: index ${String(index)} is not in a list of ${list.count}`,
  );
}

/** One side under construction. */
class Column {
  readonly #list: PreparedDlist;
  readonly #source: readonly unknown[];
  readonly #addrs: Float64Array;
  readonly #lens: Float64Array;
  readonly #devIds: Float64Array;
  readonly #mds: unknown[] = [];
  #count = 0;

  constructor(list: PreparedDlist, handle: BackendHandle, capacity: number) {
    this.#list = list;
    this.#source = list.mdsOf(handle);
    this.#addrs = new Float64Array(capacity);
    this.#lens = new Float64Array(capacity);
    this.#devIds = new Float64Array(capacity);
  }

  continuesAt(index: number): boolean {
    const last = this.#count - 1;
    if (last < 0) return false;
    return (
      (this.#addrs[last] ?? 0) + (this.#lens[last] ?? 0) === this.#list.addrs[index] &&
      this.#devIds[last] === this.#list.devIds[index] &&
      this.#mds[last] === this.#source[index]
    );
  }

  extend(len: number): void {
    const last = this.#count - 1;
    this.#lens[last] = (this.#lens[last] ?? 0) + len;
  }

  push(index: number, len: number): void {
    this.#addrs[this.#count] = this.#list.addrs[index] ?? 0;
    this.#lens[this.#count] = len;
    this.#devIds[this.#count] = this.#list.devIds[index] ?? 0;
    this.#mds.push(this.#source[index]);
    this.#count++;
  }

  finish(): MetaDlist {
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
