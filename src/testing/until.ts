// Waiting for something that comes soon: bounded, and what did not come is named.

import { sleepMs } from '../base/clock.js';

const POLL_MS = 5;

/** How long it took, in ms. */
export async function until(
  what: string,
  limitMs: number,
  isSo: () => boolean | Promise<boolean>,
): Promise<number> {
  const beganMs = performance.now();
  while (!(await isSo())) {
    if (performance.now() - beganMs > limitMs) throw new Error(`not within ${limitMs} ms: ${what}`);
    await sleepMs(POLL_MS);
  }
  return performance.now() - beganMs;
}
