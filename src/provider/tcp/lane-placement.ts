// Which lane serves a channel, and on which cores a lane runs. Pure.
//
// With NICs named, every channel of a NIC goes to the same lane, so that the lane can live on that
// NIC's cores. Without, channels are spread evenly, sessions starting at different lanes.

import type { LaneBindings } from '../../base/lane-bindings.js';
import type { ChannelIndex, SessionIndex } from '../../base/quantity.js';

export function laneOfChannel(
  sessionIndex: SessionIndex,
  channelIndex: ChannelIndex,
  laneCount: number,
  nicCount: number,
): number {
  if (nicCount === 0) return (sessionIndex + channelIndex) % laneCount;
  return (channelIndex % nicCount) % laneCount;
}

/** Cores of each lane: those of the NICs whose channels it serves; empty leaves it unpinned. */
export function cpusOfLanes(
  bindings: LaneBindings,
  nics: readonly string[],
  laneCount: number,
): number[][] {
  const lanes = Array.from({ length: laneCount }, (): number[] => []);
  // Without NICs named, every binding's cores are for every lane.
  const served = nics.length > 0 ? nics : [...bindings.keys()];
  for (const [index, nic] of served.entries()) {
    const cpus = bindings.get(nic) ?? [];
    if (nics.length > 0) lanes[index % laneCount]?.push(...cpus);
    else for (const lane of lanes) lane.push(...cpus);
  }
  return lanes.map((cpus) => [...new Set(cpus)].sort((a, b) => a - b));
}
