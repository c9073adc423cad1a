// Texts of the rules in data-frame.hot.ts, for errors and docs.

import { REFUSALS } from '../base/failure.js';
import { FRAME_NAMES } from './data-frame.js';

const REASONS = REFUSALS.map(({ number }) => number).join(', ');

export const FRAME_RULES: Readonly<Record<number, string>> = {
  1: 'the kind is one of 1 … 7',
  2: 'reserved bytes are zero',
  3: 'the table has at most 1,000 entries, and none where the kind allows none',
  4: 'an operation moves at least 1 byte and at most the agreed chunk size',
  5: 'payloadBytes fits the kind and the operation',
  6: 'an offset is below 2^53',
  7: 'table entries are not empty and fill the operation exactly',
  8: 'sequence numbers count up without a gap',
  9: 'no more operations are in flight than the agreed window',
  10: 'an answer names an operation that is in flight',
  11: 'a read answer has exactly the bytes asked for',
  12: `a refusal has one of the reasons ${REASONS} and names a WRITE or a READ_REQUEST`,
  13: 'positions in shared memory move forward, within the ring',
  14: 'the channel of one end’s own carries operations of that end alone',
};

export const RULE_SEQUENCE = 8;
export const RULE_WINDOW = 9;
export const RULE_UNASKED = 10;
export const RULE_ANSWER_BYTES = 11;
export const RULE_RING = 13;
export const RULE_OWN_CHANNEL = 14;

export function frameName(kind: number): string {
  return FRAME_NAMES[kind] ?? `kind ${kind}`;
}
