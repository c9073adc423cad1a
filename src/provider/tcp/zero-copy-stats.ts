// What the sends by reference of each channel came to, read from the lanes' counters.

import { CHANNELS_MAX, ZERO_COPY_COUNTERS } from '../../base/shared-layout.js';
import { LANE_ZERO_COPY } from './lane/layout.js';
import {
  ZERO_COPY_COPIED,
  ZERO_COPY_DONE,
  ZERO_COPY_FALLBACKS,
  ZERO_COPY_SENDS,
} from './port/stream-port.js';

/** What sends by reference came to on one channel. */
export interface ZeroCopyStats {
  /** Number of the channel within its session, from 0. */
  readonly channel: number;
  /** Calls that the kernel took by reference; reports of MSG_ZEROCOPY may still be under way. */
  readonly sends: number;
  /** Of them: sent from where the bytes lay. */
  readonly zeroCopied: number;
  /** Of them: copied by the kernel after all. */
  readonly copied: number;
  /** Calls that went the ordinary way because the kernel could not note the pages. */
  readonly fallbacks: number;
}

/** Channels that sent, or tried to send, this way; `controlsAt` are the lanes' control blocks. */
export function readZeroCopy(
  float64: Float64Array,
  controlsAt: readonly number[],
): ZeroCopyStats[] {
  const all: ZeroCopyStats[] = [];
  for (let channel = 0; channel < CHANNELS_MAX; channel++) {
    const sum = (counter: number): number => {
      const index = LANE_ZERO_COPY + channel * ZERO_COPY_COUNTERS + counter;
      return controlsAt.reduce((total, at) => total + (float64[at / 8 + index] ?? 0), 0);
    };
    const stats = {
      channel,
      sends: sum(ZERO_COPY_SENDS),
      zeroCopied: sum(ZERO_COPY_DONE),
      copied: sum(ZERO_COPY_COPIED),
      fallbacks: sum(ZERO_COPY_FALLBACKS),
    };
    if (stats.sends + stats.fallbacks > 0) all.push(stats);
  }
  return all;
}
