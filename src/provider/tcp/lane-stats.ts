// What a lane says of itself in the memory that it shares with the main thread.

import { floatAt } from '../../base/assert.js';
import type { Pauses } from '../../os/collector-pauses.js';
import {
  LANE_DRAINED,
  LANE_LAST_CPU,
  LANE_LONGEST_PAUSE_US,
  LANE_MEMORY_NODE,
  LANE_PAUSED_US,
  LANE_PAUSES,
  LANE_SLEEP_COUNT,
  LANE_TURNS,
} from './lane/layout.js';

/** What a lane has done since it was started. */
export interface LaneStats {
  /** How often it looked for work. */
  readonly turns: number;
  /** How often it found none and slept. */
  readonly sleeps: number;
  /** CPU on which it was seen last. */
  readonly cpu: number;
  /** Bytes that came and were thrown away: of refused writes, and of reads given up meanwhile. */
  readonly drainedBytes: number;
  /**
   * Of the collector of memory, in its thread; those at the end of a burst may lack until the next.
   * undefined where a lane has no thread.
   */
  readonly pauses: Pauses | undefined;
  /** CPUs to which it was pinned; empty when it was not. */
  readonly pinnedTo: readonly number[];
  /** NUMA node on which its memory lies; undefined where that is left to the kernel. */
  readonly memoryNode: number | undefined;
}

/** `first`: where the words of the lane begin. Only a thread has a collector of its own. */
export function readLaneStats(
  float64: Float64Array,
  first: number,
  hasThread: boolean,
): Omit<LaneStats, 'pinnedTo'> {
  const read = (word: number): number => floatAt(float64, first + word);
  return {
    turns: read(LANE_TURNS),
    sleeps: read(LANE_SLEEP_COUNT),
    cpu: read(LANE_LAST_CPU),
    drainedBytes: read(LANE_DRAINED),
    pauses: hasThread
      ? {
          count: read(LANE_PAUSES),
          totalUs: read(LANE_PAUSED_US),
          longestUs: read(LANE_LONGEST_PAUSE_US),
        }
      : undefined,
    memoryNode: nodeFrom(read(LANE_MEMORY_NODE)),
  };
}

function nodeFrom(word: number): number | undefined {
  return word === 0 ? undefined : word - 1;
}
