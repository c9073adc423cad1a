// Letting a peer into the regions of a matched plan: the checks that lanes make for every frame,
// made by the main thread for every announcement.

import { assert, at } from '../base/assert.js';
import { type ErrorCode, TcpxError } from '../base/errors.js';
import {
  ACCESS_BOUNDS,
  ACCESS_EXPIRED,
  ACCESS_GRANTED,
  ACCESS_KEY,
  ACCESS_RIGHTS,
  ACCESS_STALE,
  closeAccess,
  isInBounds,
  openAccess,
} from '../memory/region-access.hot.js';
import { RIGHT_READ, RIGHT_WRITE, type RegionTable } from '../memory/region-table.js';
import type { PlannedRegion } from '../wire/match-plan.js';

const REFUSALS: Readonly<Record<number, readonly [ErrorCode, string]>> = {
  [ACCESS_STALE]: ['ERR_PEER_STALE_REGION', 'not registered here'],
  [ACCESS_KEY]: ['ERR_PEER_KEY', 'another key'],
  [ACCESS_RIGHTS]: ['ERR_PEER_RIGHTS', 'no right to'],
  [ACCESS_BOUNDS]: ['ERR_PEER_BOUNDS', 'blocks reach beyond it, to'],
  [ACCESS_EXPIRED]: ['ERR_PEER_EXPIRED', 'its time is over'],
};

/** Slots that count one user more until `leaveRegions`. Throws the first refusal. */
export function enterRegions(
  table: RegionTable,
  regions: readonly PlannedRegion[],
  ends: Float64Array,
  right: 'read' | 'write',
): number[] {
  const entered: number[] = [];
  for (const [index, { slot, generation, key }] of regions.entries()) {
    const words = new Uint32Array(key.slice().buffer);
    const bit = right === 'read' ? RIGHT_READ : RIGHT_WRITE;
    let outcome = openAccess(table, slot, generation, words, 0, bit);
    if (outcome === ACCESS_GRANTED) {
      entered.push(slot);
      if (!isInBounds(table, slot, 0, at(ends, index))) outcome = ACCESS_BOUNDS;
    }
    if (outcome === ACCESS_GRANTED) continue;
    leaveRegions(table, entered);
    throw refusal(outcome, slot, right, at(ends, index));
  }
  return entered;
}

function refusal(outcome: number, slot: number, right: string, end: number): TcpxError {
  const known = REFUSALS[outcome];
  assert(known !== undefined, `access outcome ${outcome} has a meaning`);
  const [code, text] = known;
  const detail = { [ACCESS_RIGHTS]: ` ${right}`, [ACCESS_BOUNDS]: ` ${end}` }[outcome] ?? '';
  return new TcpxError(code, `region ${slot}: ${text}${detail}`);
}

export function leaveRegions(table: RegionTable, entered: readonly number[]): void {
  for (const slot of entered) closeAccess(table, slot);
}
