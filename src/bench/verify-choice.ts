// Which iterations of a benchmark are checked byte for byte.

import type { SettingValues } from '../base/settings.js';

export const SAMPLE_EVERY = 10;

/** `isLast`: the last that is measured, so that a sample of few iterations has one of them. */
export function isChecked(
  mode: SettingValues['bench.verify'],
  index: number,
  isLast: boolean,
): boolean {
  if (mode !== 'sample') return mode === 'all';
  return isLast || index % SAMPLE_EVERY === SAMPLE_EVERY - 1;
}
