// Waiting for something that comes soon: bounded, and what did not come is named.

import { sleepMs } from '../../src/base/clock.js';

const POLL_MS = 5;

export async function until(
  what: string,
  limitMs: number,
  isSo: () => boolean | Promise<boolean>,
): Promise<void> {
  const endMs = performance.now() + limitMs;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`not within ${limitMs} ms: ${what}`);
    await sleepMs(POLL_MS);
  }
}
