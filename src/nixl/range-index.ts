// Registered ranges of one memory type and backend, in NIXL's order, with fast answers to "which
// registration covers this range". Ranges may overlap; nothing forbids registering twice. Pure.

import { type BasicDesc, compareDescs } from './descriptors.js';

export class RangeIndex<T extends BasicDesc> {
  #entries: T[] = [];
  /** For entry i the furthest end among entries 0…i of its device; rebuilt when needed. */
  #furthestEnds: Float64Array | undefined;

  get size(): number {
    return this.#entries.length;
  }

  entries(): readonly T[] {
    return this.#entries;
  }

  add(entry: T): void {
    this.#entries.splice(this.#upperBound(entry), 0, entry);
    this.#furthestEnds = undefined;
  }

  /** For many at once: one sort instead of many insertions. */
  addAll(entries: readonly T[]): void {
    this.#entries = this.#entries.concat(entries).sort(compareDescs);
    this.#furthestEnds = undefined;
  }

  remove(entry: T): boolean {
    const index = this.#entries.indexOf(entry);
    if (index === -1) return false;
    this.#entries.splice(index, 1);
    this.#furthestEnds = undefined;
    return true;
  }

  /** All entries with exactly this range. */
  findExact(desc: BasicDesc): T[] {
    const found: T[] = [];
    for (let index = this.#upperBound(desc) - 1; index >= 0; index--) {
      const entry = this.#entries[index];
      if (entry === undefined || compareDescs(entry, desc) !== 0) break;
      found.push(entry);
    }
    return found;
  }

  /** The nearest entry that holds all of the range. */
  findCovering(addr: number, len: number, devId: number): T | undefined {
    const furthestEnds = this.#ends();
    const end = addr + len;
    const from = this.#upperBound({ addr, len: Number.POSITIVE_INFINITY, devId }) - 1;
    for (let index = from; index >= 0; index--) {
      const entry = this.#entries[index];
      if (entry === undefined || entry.devId !== devId) return undefined;
      if (entry.addr + entry.len >= end) return entry;
      if ((furthestEnds[index] ?? 0) < end) return undefined;
    }
    return undefined;
  }

  #upperBound(desc: BasicDesc): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const entry = this.#entries[middle];
      if (entry !== undefined && compareDescs(entry, desc) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #ends(): Float64Array {
    if (this.#furthestEnds !== undefined) return this.#furthestEnds;
    const ends = new Float64Array(this.#entries.length);
    let devId = -1;
    let furthest = 0;
    for (const [index, entry] of this.#entries.entries()) {
      if (entry.devId !== devId) furthest = 0;
      devId = entry.devId;
      furthest = Math.max(furthest, entry.addr + entry.len);
      ends[index] = furthest;
    }
    this.#furthestEnds = ends;
    return ends;
  }
}
