// The fragment list of one received chunk, as the plugin leaves it in pinned memory: which bytes of
// the bounce buffer go where in the message. Checked before anything is copied by it.

import { wordAt } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import { ENTRY_PARTS, FRAGMENTS_MAX, NOT_PACKED, ScatterRule } from './scatter-entry.js';
import { checkFragments } from './scatter-list.hot.js';

const RULE_TEXTS: Readonly<Record<number, string>> = {
  [ScatterRule.TooManyFragments]: `more than ${FRAGMENTS_MAX} fragments`,
  [ScatterRule.SourceBounds]: 'a fragment reaches beyond the bounce buffer',
  [ScatterRule.TargetBounds]: 'a fragment reaches beyond the message',
  [ScatterRule.Sum]: 'the lengths do not add up to the message',
};

export interface Fragment {
  readonly sourceOffset: number;
  readonly bytes: number;
  readonly targetOffset: number;
}

/** Entries as 32-bit words: a view of the plugin's slot, or memory of our own. */
export type ScatterEntries = Uint32Array;

export interface ScatterLimits {
  readonly count: number;
  /** Length of the message. */
  readonly expectedBytes: number;
  readonly bounceBytes: number;
}

export function writeFragment(entries: ScatterEntries, index: number, fragment: Fragment): void {
  const at = index * ENTRY_PARTS;
  entries[at] = fragment.sourceOffset;
  entries[at + 1] = fragment.bytes;
  entries[at + 2] = fragment.targetOffset % 2 ** 32;
  entries[at + 3] = Math.floor(fragment.targetOffset / 2 ** 32);
}

export function readFragment(entries: ScatterEntries, index: number): Fragment {
  const at = index * ENTRY_PARTS;
  return {
    sourceOffset: wordAt(entries, at),
    bytes: wordAt(entries, at + 1),
    targetOffset: wordAt(entries, at + 3) * 2 ** 32 + wordAt(entries, at + 2),
  };
}

/** Throws unless the list may be obeyed; gives the longest fragment's length. */
export function validateScatterList(entries: ScatterEntries, limits: ScatterLimits): number {
  const { count, expectedBytes, bounceBytes } = limits;
  const answer = checkFragments(entries, count, expectedBytes, bounceBytes, NOT_PACKED);
  if (answer >= 0) return answer;
  throw scatterListError(answer, limits);
}

export function scatterListError(rule: number, limits: ScatterLimits): TcpxError {
  const { count, expectedBytes, bounceBytes } = limits;
  return new TcpxError(
    'ERR_NCCLNET_SCATTER_LIST',
    `unpack ${count} fragments into ${expectedBytes} bytes from a bounce buffer of ` +
      `${bounceBytes}: ${RULE_TEXTS[rule] ?? `rule ${rule}`}`,
    { facts: { rule, count, expectedBytes, bounceBytes } },
  );
}
