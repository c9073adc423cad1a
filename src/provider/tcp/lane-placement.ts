// Which lane serves a channel, on which cores a lane runs, and where its memory lies. Pure.
//
// With NICs named, every channel of a NIC goes to the same lane, so that the lane can live on that
// NIC's cores. Without, channels are spread evenly, sessions starting at different lanes. Where
// the thread that opened the engine has a lane of its own, the channel for what it posts is its.

import type { LaneBindings } from '../../base/lane-bindings.js';
import type { LaneIndex, SessionIndex } from '../../base/quantity.js';
import type { ChannelPlan } from './channel-plan.js';
import type { OwnLaneUse } from './lane/own-lane.js';

export interface LanesHere {
  /** Those with a thread; the one beside them, where there is one, comes behind. */
  readonly threads: number;
  readonly own: OwnLaneUse | undefined;
  readonly nics: number;
}

export function lanesOfChannels(
  sessionIndex: SessionIndex,
  { count, own: ownChannel, peers }: ChannelPlan,
  { threads, own, nics }: LanesHere,
): LaneIndex[] {
  return Array.from({ length: count }, (_, channel) => {
    if (own !== undefined && channel === ownChannel) return threads;
    if (own === 'all' && channel === peers) return threads;
    return nics === 0 ? (sessionIndex + channel) % threads : (channel % nics) % threads;
  });
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

/** The node of each lane: that of the NICs which it serves, where all are known to share it. */
export function nodesOfLanes(
  nodeOf: ReadonlyMap<string, number>,
  nics: readonly string[],
  laneCount: number,
): (number | undefined)[] {
  return Array.from({ length: laneCount }, (_, lane) => {
    const served = nics.filter((_nic, index) => index % laneCount === lane);
    const [node, ...others] = new Set(served.map((nic) => nodeOf.get(nic)));
    return others.length === 0 ? node : undefined;
  });
}

/** Lanes whose cores nobody has named run on those of their node, as far as they are allowed. */
export function withNodeCpus(
  cpus: readonly (readonly number[])[],
  nodes: readonly (number | undefined)[],
  cpusOf: ReadonlyMap<number, readonly number[]>,
  allowed: readonly number[],
): (readonly number[])[] {
  return cpus.map((named, lane) => {
    const node = nodes[lane];
    if (named.length > 0 || node === undefined) return named;
    return (cpusOf.get(node) ?? []).filter((cpu) => allowed.includes(cpu));
  });
}
