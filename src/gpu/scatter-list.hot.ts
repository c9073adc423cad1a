// What is done with the fragment list of every chunk: it is checked and, where it is short, packed
// for a launch that carries it. One pass, each word read once, no object made.

import {
  ENTRY_PARTS,
  FRAGMENTS_MAX,
  PACKED_FRAGMENTS_MAX,
  PACKED_LENGTH_BITS,
  PACKED_PARTS,
  ScatterRule,
} from './scatter-entry.js';

const TWO_32 = 4294967296;
const PACKED_BYTES_MAX = 2 ** PACKED_LENGTH_BITS - 1;
const PACKED_MESSAGE_BYTES_MAX = 2 ** (32 - PACKED_LENGTH_BITS);

/**
 * The longest fragment's length, or a negative ScatterRule. Up to PACKED_FRAGMENTS_MAX fragments
 * are packed into `packed` on the way, if it has room; what stands there then is good if isPackable
 * says so.
 */
export function checkFragments(
  entries: Uint32Array,
  count: number,
  expectedBytes: number,
  bounceBytes: number,
  packed: Uint32Array,
): number {
  if (count > FRAGMENTS_MAX || count * ENTRY_PARTS > entries.length) {
    return ScatterRule.TooManyFragments;
  }
  const isPacked = count <= PACKED_FRAGMENTS_MAX && count * PACKED_PARTS <= packed.length;
  let sumBytes = 0;
  let longestBytes = 0;
  let to = 0;
  for (let at = 0; at < count * ENTRY_PARTS; at += ENTRY_PARTS) {
    const source = entries[at]!;
    const bytes = entries[at + 1]!;
    const target = entries[at + 2]!;
    const targetHigh = entries[at + 3]!;
    if (source + bytes > bounceBytes) return ScatterRule.SourceBounds;
    if (target + bytes > expectedBytes) return ScatterRule.TargetBounds;
    if (targetHigh !== 0 && targetHigh * TWO_32 + target + bytes > expectedBytes) {
      return ScatterRule.TargetBounds;
    }
    sumBytes += bytes;
    if (bytes > longestBytes) longestBytes = bytes;
    if (isPacked) {
      packed[to] = source;
      packed[to + 1] = (target << PACKED_LENGTH_BITS) | bytes;
      to += PACKED_PARTS;
    }
  }
  return sumBytes === expectedBytes ? longestBytes : ScatterRule.Sum;
}

/** Whether a list that was found good says the same when it is packed. */
export function isPackable(count: number, longestBytes: number, expectedBytes: number): boolean {
  return (
    count <= PACKED_FRAGMENTS_MAX &&
    longestBytes <= PACKED_BYTES_MAX &&
    expectedBytes <= PACKED_MESSAGE_BYTES_MAX
  );
}
