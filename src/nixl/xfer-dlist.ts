// Transfer lists in columns: a request of a hundred thousand descriptors is four arrays, not a
// hundred thousand objects. Columns hold doubles because addresses exceed 32 bits.

import { checkList, checkRecord, checkWhole, wrongArgument } from '../base/argument.js';
import { floatAt } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import { type BasicDesc, checkDesc } from './descriptors.js';
import { checkMemType, type MemType } from './memory-type.js';

/** A range in short: address, length in bytes, device. */
export type DescTriple = readonly [addr: number, len: number, devId: number];

/** A short list of ranges, written out. */
export interface XferDlistLiteral {
  /** Memory that all of them are in. */
  readonly memType: MemType;
  /** The ranges. */
  readonly descs: readonly (BasicDesc | DescTriple)[];
}

/** Wherever a transfer list is taken, a literal will do for short ones. */
export type XferDlistInput = XferDlist | XferDlistLiteral;

/**
 * Ranges of memory for a transfer, kept as columns: many cost little.
 * @example
 * const list = new XferDlist(MemType.DRAM).add(addr, 4096).add(addr + 8192, 4096);
 */
export class XferDlist {
  /** Memory that all of them are in. */
  readonly memType: MemType;
  #count = 0;
  #addrs: Float64Array;
  #lens: Float64Array;
  #devIds: Float64Array;

  constructor(memType: MemType, capacity = 16) {
    checkMemType('transfer list', memType);
    checkWhole('transfer list: the capacity', capacity, 0);
    this.memType = memType;
    this.#addrs = new Float64Array(capacity);
    this.#lens = new Float64Array(capacity);
    this.#devIds = new Float64Array(capacity);
  }

  /** A list from objects; a list stays as it is. */
  static from(input: XferDlistInput): XferDlist {
    if (input instanceof XferDlist) return input;
    checkDlist('transfer list', input);
    const list = new XferDlist(input.memType, input.descs.length);
    for (const desc of input.descs) {
      if (isTriple(desc)) list.add(desc[0], desc[1], desc[2]);
      else list.add(desc.addr, desc.len, desc.devId);
    }
    return list;
  }

  /** Appends a range; returns the list, so that calls chain. */
  add(addr: number, len: number, devId = 0): this {
    checkDesc(this.memType, { addr, len, devId }, 'add to transfer list');
    if (this.#count === this.#addrs.length) this.#grow();
    this.#addrs[this.#count] = addr;
    this.#lens[this.#count] = len;
    this.#devIds[this.#count] = devId;
    this.#count++;
    return this;
  }

  /** Number of ranges. */
  get count(): number {
    return this.#count;
  }

  /** Columns, `count` long; views that a later `add` may leave behind. */
  get addrs(): Float64Array {
    return firstOf(this.#addrs, this.#count);
  }

  /** Length of each, in bytes. */
  get lens(): Float64Array {
    return firstOf(this.#lens, this.#count);
  }

  /** Device of each. */
  get devIds(): Float64Array {
    return firstOf(this.#devIds, this.#count);
  }

  /** One range, as an object. */
  at(index: number): BasicDesc {
    if (!Number.isSafeInteger(index) || index < 0 || index >= this.#count) {
      throw wrongArgument('at: the index', `a place in a list of ${this.#count}`, index);
    }
    const [addrs, lens, devIds] = [this.#addrs, this.#lens, this.#devIds];
    return {
      addr: floatAt(addrs, index),
      len: floatAt(lens, index),
      devId: floatAt(devIds, index),
    };
  }

  #grow(): void {
    const capacity = Math.max(16, this.#addrs.length * 2);
    this.#addrs = grownColumn(this.#addrs, capacity);
    this.#lens = grownColumn(this.#lens, capacity);
    this.#devIds = grownColumn(this.#devIds, capacity);
  }
}

/** A list that a program wrote: `{ memType, descs: [{ addr, len, devId }, …] }`. */
export function checkDlist(what: string, list: { memType: unknown; descs: unknown }): void {
  checkRecord(what, list);
  checkMemType(what, list.memType);
  checkList(`${what}: descs`, list.descs);
  for (const desc of list.descs) {
    if (!Array.isArray(desc)) checkRecord(`${what}: one of descs`, desc);
  }
}

// A view costs half a microsecond, and a list made from a literal fills its columns.
function firstOf(column: Float64Array, count: number): Float64Array {
  return column.length === count ? column : column.subarray(0, count);
}

/** The local and remote list of a request: same count, lengths equal pair by pair. */
export function checkPairs(localLens: Float64Array, remoteLens: Float64Array, attempted: string) {
  if (localLens.length !== remoteLens.length) {
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `${attempted}: ${localLens.length} local and ${remoteLens.length} remote descriptors; ` +
        'the counts must be equal',
    );
  }
  for (let index = 0; index < localLens.length; index++) {
    if (localLens[index] === remoteLens[index]) continue;
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `${attempted}: descriptor ${index} is ${String(localLens[index])} bytes here and ` +
        `${String(remoteLens[index])} at the peer`,
      { facts: { index } },
    );
  }
}

function grownColumn(column: Float64Array, capacity: number): Float64Array {
  const grown = new Float64Array(capacity);
  grown.set(column);
  return grown;
}

function isTriple(desc: BasicDesc | DescTriple): desc is DescTriple {
  return Array.isArray(desc);
}
