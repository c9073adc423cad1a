// The list of ranges that a port made of memory sends from or receives into, as readv and writev
// take one.

import { assert } from '../../src/base/assert.js';
import { VECTOR_ENTRIES_MAX } from '../../src/provider/tcp/port/stream-port.js';

export class PortVector {
  readonly #addr = new Float64Array(VECTOR_ENTRIES_MAX);
  readonly #bytes = new Float64Array(VECTOR_ENTRIES_MAX);

  set(index: number, addr: number, bytes: number): void {
    assert(index < VECTOR_ENTRIES_MAX, 'a vector has at most so many entries as the kernel takes');
    this.#addr[index] = addr;
    this.#bytes[index] = bytes;
  }

  /** Bytes of entries `first` … `count` − 1. */
  total(first: number, count: number): number {
    let total = 0;
    for (let index = first; index < count; index++) total += this.#bytes[index] ?? 0;
    return total;
  }

  /** Hands the first `bytes` from entry `first` on to `move`, range by range. */
  each(
    first: number,
    bytes: number,
    move: (addr: number, bytes: number, entryBytes: number) => void,
  ): void {
    let left = bytes;
    for (let index = first; left > 0; index++) {
      const entryBytes = this.#bytes[index] ?? 0;
      const part = Math.min(left, entryBytes);
      move(this.#addr[index] ?? 0, part, entryBytes);
      left -= part;
    }
  }

  /** Forgets `bytes` from entry `first` on; returns the first entry with bytes left. */
  advance(first: number, bytes: number): number {
    let index = first;
    let left = bytes;
    while (left > 0) {
      const part = this.#bytes[index] ?? 0;
      if (left < part) {
        this.set(index, (this.#addr[index] ?? 0) + left, part - left);
        break;
      }
      left -= part;
      index++;
    }
    return index;
  }
}
