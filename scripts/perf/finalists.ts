// Who of many contenders is worth full rounds: the fastest of one short scouting round. Pure.

import { at } from '../../src/base/assert.js';

/** The fastest, in their order. */
export function fastest<T>(contenders: readonly T[], rates: readonly number[], count: number): T[] {
  const places = [...contenders.keys()].sort((a, b) => at(rates, b) - at(rates, a));
  const chosen = new Set(places.slice(0, count));
  return contenders.filter((_, place) => chosen.has(place));
}
