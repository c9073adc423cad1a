// What the collector of memory took of an end's lanes, and what of it fell into the measured part.

import type { Engine } from '../engine/internal.js';

export interface LanePauses {
  readonly count: number;
  readonly totalUs: number;
  readonly longestUs: number;
}

/** `longestUs` only where it is known: one that is longer than all before is of this part. */
export type PausesBetween = Omit<LanePauses, 'longestUs'> & Partial<LanePauses>;

/** Of all lanes since their start; undefined where they have no threads of their own. */
export function lanePausesOf(engine: Engine): LanePauses | undefined {
  const lanes = engine.laneStats().flatMap(({ pauses }) => pauses ?? []);
  if (lanes.length === 0) return undefined;
  return {
    count: lanes.reduce((sum, { count }) => sum + count, 0),
    totalUs: lanes.reduce((sum, { totalUs }) => sum + totalUs, 0),
    longestUs: lanes.reduce((longest, { longestUs }) => Math.max(longest, longestUs), 0),
  };
}

export function pausesBetween(
  before: LanePauses | undefined,
  after: LanePauses | undefined,
): PausesBetween | undefined {
  if (before === undefined || after === undefined) return undefined;
  const counted = { count: after.count - before.count, totalUs: after.totalUs - before.totalUs };
  return after.longestUs > before.longestUs ? { ...counted, longestUs: after.longestUs } : counted;
}
