// What the kernels counted of a run's payload on its data connections, by TCP_INFO. Pure.

import type { BenchResult } from './bench-result.js';

/** In the measured iterations, heads of frames and words between the ends too; −1 where unknown. */
export interface WireBytes {
  /** Where the payload came from. */
  readonly acknowledged: number;
  /** Where it went. */
  readonly received: number;
}

type Counted = Pick<BenchResult, 'op' | 'kernel' | 'provider'>;

/** In the direction that the payload takes; of both directions their sum. */
export function wireBytesOf({ op, kernel, provider }: Counted): WireBytes {
  // Through the plugin the data has sockets of its own, which tell nothing.
  const { channels = [], peerChannels = [] } = provider === 'tcp' ? (kernel ?? {}) : {};
  const towards = { from: channels, to: peerChannels };
  const back = { from: peerChannels, to: channels };
  const ways = op === 'read' ? [back] : op === 'both' ? [towards, back] : [towards];
  return {
    acknowledged: sumKnown(ways.flatMap(({ from }) => from.map((one) => one.bytesAcked))),
    received: sumKnown(ways.flatMap(({ to }) => to.map((one) => one.bytesReceived))),
  };
}

/** −1 where one of them is not known, or there is none. */
export function sumKnown(counts: readonly number[]): number {
  if (counts.length === 0 || counts.some((count) => count < 0)) return -1;
  return counts.reduce((sum, count) => sum + count, 0);
}
