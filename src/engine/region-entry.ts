// Letting a peer into the regions of a matched plan: the checks that lanes make for every frame,
// made by the main thread for every announcement.

import { at } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import { FAIL_BOUNDS, FAIL_NONE, FAIL_RIGHTS, failureOf } from '../base/failure.js';
import { closeAccess, isInBounds, openAccess } from '../memory/region-access.hot.js';
import { type RegionTable, RIGHT_READ, RIGHT_WRITE } from '../memory/region-table.js';
import type { PlannedRegion } from '../wire/match-plan.js';

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
    if (outcome === FAIL_NONE) {
      entered.push(slot);
      if (!isInBounds(table, slot, 0, at(ends, index))) outcome = FAIL_BOUNDS;
    }
    if (outcome === FAIL_NONE) continue;
    leaveRegions(table, entered);
    throw refusal(outcome, slot, right, at(ends, index));
  }
  return entered;
}

function refusal(outcome: number, slot: number, right: string, end: number): TcpxError {
  const { code, refused = '' } = failureOf(outcome);
  const detail = { [FAIL_RIGHTS]: ` to ${right}`, [FAIL_BOUNDS]: `, up to ${end}` }[outcome] ?? '';
  return new TcpxError(code, `region ${slot}: ${refused}${detail}`);
}

export function leaveRegions(table: RegionTable, entered: readonly number[]): void {
  for (const slot of entered) closeAccess(table, slot);
}
