// The median, of which no single slow moment takes much notice. Pure.

import { at } from '../base/assert.js';

/** Of two in the middle the greater. */
export function middle(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return at(sorted, Math.floor(sorted.length / 2));
}
