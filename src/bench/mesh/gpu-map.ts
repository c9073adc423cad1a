// Which NIC the worker of each GPU uses: what was said, then the PCI tree, then the shape of
// A3 High (two neighbours to a NIC). Pure, and every choice says what decided it.

import { TcpxError } from '../../base/errors.js';
import type { HostModel } from '../../host/read/model.js';
import { type DataNicWish, dataNics } from '../../host/topo/data-nics.js';
import { chooseNics } from '../../host/topo/gpu-nic-choice.js';

export interface GpuPlace {
  /** CUDA ordinal. */
  readonly gpu: number;
  /** Empty where routing, or the provider's own rule, decides. */
  readonly nic: string;
  readonly reason: string;
}

export interface GpuMapWish {
  /** All GPUs that take part on this node, those of other processes too. */
  readonly gpus: readonly number[];
  /** `0=eth1,1=eth1`; empty without it. */
  readonly map: string;
  readonly data: DataNicWish;
  /** The GPU of the host that a CUDA ordinal means; undefined where that is not known. */
  hostIndex(gpu: number): number | undefined;
}

const GPU_MAX = 63;
/** Of A3 High: GPU 0 and 1 on the first, and so on. */
const A3_HIGH_NICS = ['eth1', 'eth2', 'eth3', 'eth4'] as const;
const GPUS_PER_NIC = 2;

export function mapGpus(model: HostModel, wish: GpuMapWish): GpuPlace[] {
  const said = parseGpuMap(wish.map);
  const named = wish.data.named === '' ? [] : wish.data.named.split(',');
  const { nics } = named.length > 0 ? { nics: [] } : dataNics(model, wish.data);
  const allowed = named.length > 0 ? named : nics.map(({ name }) => name);
  const choices = chooseNics(model, allowed);
  return wish.gpus.map((gpu, index) => {
    const byHand = said.get(gpu);
    if (byHand !== undefined) return { gpu, nic: byHand, reason: '--map' };
    const choice = choices.find((one) => one.gpu === wish.hostIndex(gpu));
    if (choice?.nic !== undefined) return { gpu, nic: choice.nic, reason: choice.reason };
    if (named.length > 0) return shareOut(named, gpu, index, wish.gpus.length);
    return a3HighPlace(model, gpu) ?? { gpu, nic: '', reason: 'routing decides' };
  });
}

/** Neighbours share a NIC where there are fewer than GPUs. */
function shareOut(nics: readonly string[], gpu: number, index: number, count: number): GpuPlace {
  const nic = nics[Math.floor((index * nics.length) / Math.max(count, nics.length))];
  return { gpu, nic: nic ?? '', reason: `${nics.join(',')} in turn; no PCI tree is known` };
}

/** Where those NICs are there and nothing says which is nearer. */
function a3HighPlace({ nics }: HostModel, gpu: number): GpuPlace | undefined {
  const isThere = A3_HIGH_NICS.every((name) => nics.some((nic) => nic.name === name));
  const nic = A3_HIGH_NICS[Math.floor(gpu / GPUS_PER_NIC)];
  return isThere && nic !== undefined ? { gpu, nic, reason: 'the map of A3 High' } : undefined;
}

export function parseGpuMap(text: string): Map<number, string> {
  const map = new Map<number, string>();
  for (const part of text.split(',').filter((word) => word !== '')) {
    const [, gpu = '', nic = ''] = /^(\d{1,2})=([^=\s]{1,15})$/.exec(part) ?? [];
    if (nic === '' || Number(gpu) > GPU_MAX) throw refused('map', part, 'GPU=NIC, as 0=eth1');
    if (map.has(Number(gpu))) throw refused('map', part, 'once for each GPU');
    map.set(Number(gpu), nic);
  }
  return map;
}

/** `0-7`, `0,2,4`, or with spaces as UCCL's GPU_LIST has them. */
export function parseGpuList(text: string): number[] {
  const gpus = text
    .split(/[\s,]+/)
    .filter((word) => word !== '')
    .flatMap((word) => {
      const [, first = '', last = first] = /^(\d{1,2})(?:-(\d{1,2}))?$/.exec(word) ?? [];
      const count = Number(last) - Number(first) + 1;
      if (first === '' || count < 1 || Number(last) > GPU_MAX) {
        throw refused('gpus', word, `GPUs from 0 to ${GPU_MAX}, as 0-7 or 0,2`);
      }
      return Array.from({ length: count }, (_, index) => Number(first) + index);
    });
  if (gpus.length === 0) throw refused('gpus', text, 'at least one GPU');
  const twice = gpus.find((gpu, index) => gpus.indexOf(gpu) !== index);
  if (twice !== undefined) throw refused('gpus', text, `GPU ${twice} stands there twice`);
  return gpus;
}

function refused(flag: string, text: string, rule: string): TcpxError {
  return new TcpxError('ERR_USAGE_ARGUMENT', `--${flag} ${JSON.stringify(text)}: ${rule}`);
}
