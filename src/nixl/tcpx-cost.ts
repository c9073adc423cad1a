// How long a transfer to one peer will take, from how long earlier ones took: a fixed part, learnt
// from small transfers, and a rate, learnt from large ones. Before any was seen the figures are a
// guess at a plain network, and the error margin says so by being as large as the estimate.

import type { XferCost } from './backend.js';

const GUESS_BYTES_PER_US = 1000;
const GUESS_FIXED_US = 50;
/** Up to here a transfer tells about the fixed part, from LARGE on about the rate. */
const SMALL_BYTES = 64 * 1024;
const LARGE_BYTES = 1024 * 1024;
/** Weight of the newest figure. */
const WEIGHT = 1 / 8;

export class TransferCost {
  #fixedUs = GUESS_FIXED_US;
  #bytesPerUs = GUESS_BYTES_PER_US;
  /** Mean relative miss of the estimates so far; 1 before the first. */
  #missShare = 1;

  observe(bytes: number, durationUs: number): void {
    if (durationUs <= 0) return;
    const expectedUs = this.#expectUs(bytes);
    const miss = Math.min(1, Math.abs(expectedUs - durationUs) / durationUs);
    this.#missShare += (miss - this.#missShare) * WEIGHT;
    if (bytes <= SMALL_BYTES) {
      this.#fixedUs += (durationUs - this.#fixedUs) * WEIGHT;
    } else if (bytes >= LARGE_BYTES) {
      const movingUs = Math.max(durationUs - this.#fixedUs, durationUs / 2);
      this.#bytesPerUs += (bytes / movingUs - this.#bytesPerUs) * WEIGHT;
    }
  }

  estimate(bytes: number): XferCost {
    const durationUs = this.#expectUs(bytes);
    return { durationUs, errorMarginUs: durationUs * this.#missShare, method: 'analytical' };
  }

  #expectUs(bytes: number): number {
    return this.#fixedUs + bytes / this.#bytesPerUs;
  }
}
