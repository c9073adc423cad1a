// What a target may hold while it is soaked, from its settings; and which bound a sample broke.
// Pure.

import type { SettingValues } from '../../src/base/settings.js';
import { medianOf } from '../../src/bench/statistics.js';

const MIB = 1024 * 1024;
/** Heaps of the threads and what their collectors have not taken back yet. */
const SLACK_BYTES = 192 * MIB;
/** Of each channel, whatever it carries: heads, staging, tables. */
const CHANNEL_BYTES = 512 * 1024;
/**
 * Room of the kernel for a channel whose peer keeps its window: a chunk, and what is on its way.
 */
const CHANNEL_QUEUE_BYTES = 512 * 1024;
const CHANNELS_MAX = 16;
/** Sockets, and the two ends of a pipe. */
const CHANNEL_DESCRIPTORS = 3;

export interface SoakSample {
  readonly rssBytes: number;
  /** In the kernel, of the target's own sockets. */
  readonly queueBytes: number;
  readonly descriptors: number;
  readonly sessions: number;
}

export type SoakBounds = Omit<SoakSample, 'sessions'>;

export type BoundedSettings = Pick<
  SettingValues,
  | 'session.handshakesMax'
  | 'session.peersMax'
  | 'memory.readsBytes'
  | 'memory.sharedBytes'
  | 'flow.sendBytes'
  | 'nixl.inboxBytesMax'
  | 'nixl.listenerBytesMax'
  | 'nixl.listenerConnectionsMax'
>;

/** From what the target held before anybody came. */
export function soakBounds(settings: BoundedSettings, idle: SoakSample): SoakBounds {
  const channels = settings['session.peersMax'] * CHANNELS_MAX;
  return {
    rssBytes:
      idle.rssBytes +
      SLACK_BYTES +
      settings['memory.readsBytes'] +
      settings['memory.sharedBytes'] +
      settings['nixl.inboxBytesMax'] +
      settings['nixl.listenerBytesMax'] +
      channels * CHANNEL_BYTES,
    queueBytes: settings['flow.sendBytes'] + channels * CHANNEL_QUEUE_BYTES,
    descriptors:
      idle.descriptors +
      settings['session.peersMax'] +
      channels * CHANNEL_DESCRIPTORS +
      settings['session.handshakesMax'] +
      settings['nixl.listenerConnectionsMax'],
  };
}

/** The first bound that the sample breaks, in words; undefined where it keeps all. */
export function brokenBound(sample: SoakSample, bounds: SoakBounds): string | undefined {
  for (const name of ['rssBytes', 'queueBytes', 'descriptors'] as const) {
    if (sample[name] > bounds[name]) return `${name}: ${sample[name]}, at most ${bounds[name]}`;
  }
  return undefined;
}

/** Samples of the second half whose resident memory is beyond that of the first by the share. */
export function growth(samples: readonly SoakSample[]): number {
  const half = Math.floor(samples.length / 2);
  const peak = (part: readonly SoakSample[]) => Math.max(...part.map(({ rssBytes }) => rssBytes));
  if (half === 0) return 0;
  return peak(samples.slice(half)) / peak(samples.slice(0, half)) - 1;
}

/**
 * How much more is resident in the last quarter than in the one before, by their medians: what is
 * left behind by everyone who came adds up, whatever a single look catches.
 */
export function drift(samples: readonly SoakSample[]): number {
  const half = Math.floor(samples.length / 2);
  const quarter = half + Math.floor((samples.length - half) / 2);
  const middle = (part: readonly SoakSample[]) => medianOf(part.map(({ rssBytes }) => rssBytes));
  if (quarter === half) return 0;
  return middle(samples.slice(quarter)) / middle(samples.slice(half, quarter)) - 1;
}
