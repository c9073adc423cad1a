// Which lane serves a channel, and on which cores a lane runs. Pure.
//
// With NICs named, every channel of a NIC goes to the same lane, so that the lane can live on that
// NIC's cores. Without, channels are spread evenly, sessions starting at different lanes.

import { parseCpuList } from '../base/cpu-set.js';
import { TcpxError } from '../base/errors.js';

export function laneOfChannel(
  sessionIndex: number,
  channelIndex: number,
  laneCount: number,
  nicCount: number,
): number {
  if (nicCount === 0) return (sessionIndex + channelIndex) % laneCount;
  return (channelIndex % nicCount) % laneCount;
}

/** `eth1:8-21,112-125;eth2:60-73` → cores by NIC. Nothing is skipped: what is wrong is an error. */
export function parseLaneBindings(text: string): Map<string, readonly number[]> {
  const bindings = new Map<string, readonly number[]>();
  for (const part of text.split(';').filter((candidate) => candidate.trim() !== '')) {
    const [nic = '', list, ...rest] = part.split(':');
    const cpus = list === undefined ? undefined : parseCpuList(list);
    if (rest.length > 0 || cpus === undefined || cpus.length === 0 || bindings.has(nic.trim())) {
      throw new TcpxError(
        'ERR_CONFIG_VALUE',
        `lane.bindings: ${JSON.stringify(part)} is not NIC:CORES, as in eth1:8-21,112-125`,
        { facts: { name: 'lane.bindings', value: text } },
      );
    }
    bindings.set(nic.trim(), cpus);
  }
  return bindings;
}

/** Cores of each lane: those of the NICs whose channels it serves; empty leaves it unpinned. */
export function cpusOfLanes(
  bindings: ReadonlyMap<string, readonly number[]>,
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
