// The check of a fragment list that runs for every chunk: one pass, no object made.

import { ENTRY_PARTS, FRAGMENTS_MAX, ScatterRule } from './scatter-entry.js';

const TWO_32 = 4294967296;

/** The longest fragment's length, or a negative ScatterRule. */
export function checkFragments(
  entries: Uint32Array,
  count: number,
  expectedBytes: number,
  bounceBytes: number,
): number {
  if (count > FRAGMENTS_MAX || count * ENTRY_PARTS > entries.length) {
    return ScatterRule.TooManyFragments;
  }
  let sumBytes = 0;
  let longestBytes = 0;
  for (let at = 0; at < count * ENTRY_PARTS; at += ENTRY_PARTS) {
    const bytes = entries[at + 1]!;
    const targetOffset = entries[at + 3]! * TWO_32 + entries[at + 2]!;
    if (entries[at]! + bytes > bounceBytes) return ScatterRule.SourceBounds;
    if (targetOffset + bytes > expectedBytes) return ScatterRule.TargetBounds;
    sumBytes += bytes;
    if (bytes > longestBytes) longestBytes = bytes;
  }
  return sumBytes === expectedBytes ? longestBytes : ScatterRule.Sum;
}
