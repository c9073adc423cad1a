// A histogram of whole numbers that keeps their magnitude to within 0.4 %: up to 256 one by one,
// then 128 equal steps to every doubling. Of fixed size, and two of them merge without loss.

import { assert, floatAt } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';

/** Bits of a value that are kept. */
const PRECISION = 8;
const STEPS = 1 << PRECISION;
const HALF = STEPS >> 1;
/** Nanoseconds: 2.4 hours. What is longer counts as that. */
const VALUE_MAX = 2 ** 43 - 1;
const SLOTS = slotOf(VALUE_MAX) + 1;

export interface EncodedHistogram {
  readonly precision: number;
  /** Slot and count by turns, in the order of slots; empty slots are left out. */
  readonly counts: readonly number[];
}

function slotOf(value: number): number {
  if (value < STEPS) return value;
  // 31 − clz32 is the place of the highest bit; values go beyond 32 bits.
  const high = Math.floor(value / 2 ** 32);
  const top = high > 0 ? 63 - Math.clz32(high) : 31 - Math.clz32(value);
  const shift = top - PRECISION + 1;
  return shift * HALF + Math.floor(value / 2 ** shift);
}

/** The middle of what a slot holds. */
function valueOf(slot: number): number {
  if (slot < STEPS) return slot;
  const shift = Math.floor(slot / HALF) - 1;
  const least = (slot - shift * HALF) * 2 ** shift;
  return least + (2 ** shift - 1) / 2;
}

export class Histogram {
  readonly #counts = new Float64Array(SLOTS);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** A whole number, or it is rounded to one. */
  record(value: number): void {
    assert(value >= 0, 'a histogram takes no negative values');
    this.#add(slotOf(Math.min(Math.round(value), VALUE_MAX)), 1);
  }

  merge(other: Histogram): void {
    for (const [slot, count] of other.#counts.entries()) this.#add(slot, count);
  }

  /** Nearest rank, as of single values. */
  percentile(fraction: number): number {
    const rank = Math.max(1, Math.ceil(fraction * this.#count));
    let seen = 0;
    for (const [slot, count] of this.#counts.entries()) {
      seen += count;
      if (count > 0 && seen >= rank) return valueOf(slot);
    }
    return Number.NaN;
  }

  encode(): EncodedHistogram {
    const counts: number[] = [];
    for (const [slot, count] of this.#counts.entries()) if (count > 0) counts.push(slot, count);
    return { precision: PRECISION, counts };
  }

  /** For `decodeHistogram`. */
  fill(counts: readonly number[]): boolean {
    let last = -1;
    for (let index = 0; index < counts.length; index += 2) {
      const [slot = -1, count = 0] = counts.slice(index, index + 2);
      const isPlace = Number.isInteger(slot) && slot > last && slot < SLOTS;
      if (!isPlace || !Number.isSafeInteger(count) || count < 1) return false;
      this.#add(slot, count);
      last = slot;
    }
    return true;
  }

  #add(slot: number, count: number): void {
    this.#counts[slot] = floatAt(this.#counts, slot) + count;
    this.#count += count;
  }
}

/** Of another process: checked. */
export function decodeHistogram(document: unknown): Histogram {
  const { precision, counts } = Object(document) as Partial<Record<string, unknown>>;
  const histogram = new Histogram();
  const isList = Array.isArray(counts) && counts.every((one) => typeof one === 'number');
  if (precision !== PRECISION || !isList || !histogram.fill(counts)) {
    throw new TcpxError('ERR_WIRE_FRAME', 'a histogram is not as it should be');
  }
  return histogram;
}
