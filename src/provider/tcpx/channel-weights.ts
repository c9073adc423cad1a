// The shares of a session's channels: equal, as configured, or after their measured rates.

import type { ChannelIndex } from '../../base/quantity.js';
import { MATCHED_WEIGHT_MAX } from '../../flow/matched-plan.js';
import { parseWeights } from './rail-plan.js';

/** Parts shorter than this say more about latency than about rate. */
const PART_BYTES_MIN = 1024 * 1024;
const SMOOTHING = 0.25;
const SCALE = 100;

export class ChannelWeights {
  readonly #text: string;
  readonly #rates: number[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  current(channelCount: number): number[] {
    if (this.#text !== 'measured') return parseWeights(this.#text, channelCount);
    const rates = Array.from({ length: channelCount }, (_, channel) => this.#rates[channel] ?? 0);
    const best = Math.max(...rates);
    if (best === 0 || rates.includes(0)) return rates.map(() => 1);
    return rates.map((rate) =>
      Math.min(MATCHED_WEIGHT_MAX, Math.max(1, Math.round((rate / best) * SCALE))),
    );
  }

  /** A part of this length took so long on the channel. */
  onPart(channel: ChannelIndex, bytes: number, durationUs: number): void {
    if (bytes < PART_BYTES_MIN || durationUs <= 0) return;
    const rate = bytes / durationUs;
    const known = this.#rates[channel];
    this.#rates[channel] = known === undefined ? rate : known + (rate - known) * SMOOTHING;
  }
}
