// Which NIC serves which GPU: the nearest by PCI, then on the same node, then the fastest. Pure,
// and every choice says what decided it.

import { compareNames } from '../read/host-files.js';
import type { Gpu, HostModel, Nic, PciDistance } from '../read/model.js';
import { PCI_DISTANCES } from '../read/model.js';
import { commonBridge, type PciPlace, pciDistance } from '../read/pci.js';

export interface GpuNicChoice {
  readonly gpu: number;
  /** undefined = no NIC qualifies. */
  readonly nic: string | undefined;
  readonly distance: PciDistance | undefined;
  readonly reason: string;
  /** The other NICs, nearest first. */
  readonly others: readonly { readonly nic: string; readonly distance: PciDistance }[];
}

type Criterion = 'PCI distance' | 'NUMA node' | 'speed' | 'fewer GPUs' | 'name';

interface Candidate {
  readonly nic: Nic;
  readonly distance: PciDistance;
  /** Smaller is better, in the order of the criteria. */
  readonly rank: readonly number[];
}

const CRITERIA: readonly Criterion[] = ['PCI distance', 'NUMA node', 'speed', 'fewer GPUs'];

/** `allowed` names the data interfaces where only some may carry GPU traffic; all otherwise. */
export function chooseNics(model: HostModel, allowed: readonly string[] = []): GpuNicChoice[] {
  const usable = model.nics.filter(
    (nic) => isUsable(nic) && (allowed.length === 0 || allowed.includes(nic.name)),
  );
  const gpusPerNic = new Map<string, number>();
  return model.gpus.map((gpu) => {
    const candidates = usable
      .map((nic) => rankNic(model, gpu, nic, gpusPerNic.get(nic.name) ?? 0))
      .sort(compareCandidates);
    const [best, next] = candidates;
    if (best === undefined) {
      const reason = 'no physical NIC with a link';
      return { gpu: gpu.index, nic: undefined, distance: undefined, reason, others: [] };
    }
    // Among several, speed or name would decide what only the distance can.
    if (best.distance === '?' && next !== undefined) {
      const reason = 'how near GPU and NICs are is not known';
      return { gpu: gpu.index, nic: undefined, distance: undefined, reason, others: [] };
    }
    gpusPerNic.set(best.nic.name, (gpusPerNic.get(best.nic.name) ?? 0) + 1);
    return {
      gpu: gpu.index,
      nic: best.nic.name,
      distance: best.distance,
      reason: explain(model, gpu, best, next),
      others: candidates.slice(1).map(({ nic, distance }) => ({ nic: nic.name, distance })),
    };
  });
}

function isUsable(nic: Nic): boolean {
  return !nic.isVirtual && nic.pciAddress !== undefined && nic.operState !== 'down';
}

function rankNic(model: HostModel, gpu: Gpu, nic: Nic, gpuCount: number): Candidate {
  const place = placeOf(model, nic.pciAddress);
  const distance = pciDistance(placeOf(model, gpu.pciAddress), place, model.nodes.length);
  const isKnown = gpu.node !== undefined && nic.node !== undefined;
  const nodeRank = !isKnown ? 1 : gpu.node === nic.node ? 0 : 2;
  // An unknown speed loses against any known one.
  const rank = [PCI_DISTANCES.indexOf(distance), nodeRank, -(nic.speedMbps ?? 0), gpuCount];
  return { nic, distance, rank };
}

export function placeOf(model: HostModel, address: string | undefined): PciPlace {
  const device = model.pci.find((candidate) => candidate.address === address);
  return device ?? { path: [], node: undefined };
}

function compareCandidates(a: Candidate, b: Candidate): number {
  for (const [index, value] of a.rank.entries()) {
    const difference = value - (b.rank[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return compareNames(a.nic.name, b.nic.name);
}

function explain(model: HostModel, gpu: Gpu, best: Candidate, next: Candidate | undefined): string {
  const gpuPlace = placeOf(model, gpu.pciAddress);
  const bridge = commonBridge(gpuPlace, placeOf(model, best.nic.pciAddress));
  const where = bridge === undefined ? best.distance : `${best.distance} through ${bridge}`;
  if (next === undefined) return `${where}; the only NIC`;
  const criterion = decidedBy(best, next);
  switch (criterion) {
    case 'PCI distance':
      return `${where}; next is ${next.nic.name} at ${next.distance}`;
    case 'NUMA node':
      return `${where}, like ${next.nic.name}; same NUMA node decides`;
    case 'speed':
      return `${where}, like ${next.nic.name}; its higher speed decides`;
    case 'fewer GPUs':
      return `${where}, like ${next.nic.name}; it serves fewer GPUs so far`;
    case 'name':
      return `${where}, equal to ${next.nic.name}; first by name`;
  }
}

function decidedBy(best: Candidate, next: Candidate): Criterion {
  const index = best.rank.findIndex((value, position) => value !== next.rank[position]);
  return CRITERIA[index] ?? 'name';
}
