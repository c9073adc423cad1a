// Which GPU a CUDA ordinal names. Programs count GPUs as CUDA_DEVICE_ORDER and
// CUDA_VISIBLE_DEVICES say; here each is found by its PCI address, which is the same for all. Pure.

import { TcpxError } from '../../base/errors.js';
import type { EnvironmentValues } from '../environment/preset.js';
import type { Gpu, HostModel } from '../read/model.js';
import { comparePciAddresses } from '../read/pci.js';

const ORDER = 'CUDA_DEVICE_ORDER';
const VISIBLE = 'CUDA_VISIBLE_DEVICES';

/** The GPU that a program in this environment calls by that number. */
export function gpuOfOrdinal(
  model: HostModel,
  ordinal: number,
  environment: EnvironmentValues,
): Gpu {
  const visible = visibleGpus(model, environment);
  const gpu = visible[ordinal];
  if (gpu !== undefined) return gpu;
  const what = environment[VISIBLE] === undefined ? '' : ` (${VISIBLE}=${environment[VISIBLE]})`;
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `--gpu ${ordinal}: CUDA sees ${visible.length} GPUs here${what}, numbered from 0`,
  );
}

/** GPUs in the order of their CUDA ordinals. */
export function visibleGpus(model: HostModel, environment: EnvironmentValues): readonly Gpu[] {
  const all = enumerated(model, environment);
  const list = environment[VISIBLE];
  if (list === undefined) return all;
  const chosen: Gpu[] = [];
  for (const item of list.split(',')) {
    const gpu = namedGpu(all, item.trim());
    // CUDA stops at the first entry that names no GPU; what follows is hidden.
    if (gpu === undefined) break;
    if (chosen.includes(gpu)) {
      throw new TcpxError('ERR_USAGE_ARGUMENT', `${VISIBLE}=${list}: a GPU is named twice`);
    }
    chosen.push(gpu);
  }
  return chosen;
}

/** Without PCI_BUS_ID the fastest come first; among equal GPUs that is PCI order too. */
function enumerated(model: HostModel, environment: EnvironmentValues): readonly Gpu[] {
  const byAddress = [...model.gpus].sort((a, b) => comparePciAddresses(a.pciAddress, b.pciAddress));
  const kinds = new Set(byAddress.map((gpu) => kindOf(model, gpu)));
  const isKnown = kinds.size <= 1 && !kinds.has(undefined);
  if (environment[ORDER] === 'PCI_BUS_ID' || byAddress.length < 2 || isKnown) return byAddress;
  throw new TcpxError(
    'ERR_CAP_HOST',
    `--gpu: the GPUs of this host are not known to be alike, and CUDA then numbers the fastest ` +
      `first: set ${ORDER}=PCI_BUS_ID for the program and for this command`,
  );
}

function kindOf(model: HostModel, gpu: Gpu): string | undefined {
  const device = model.pci.find(({ address }) => address === gpu.pciAddress);
  // An empty text is an id that could not be read.
  return device === undefined || device.deviceId === '' ? gpu.name : device.deviceId;
}

/** By number in that order, or by the beginning of its UUID, as CUDA reads the entry. */
function namedGpu(all: readonly Gpu[], item: string): Gpu | undefined {
  if (/^\d+$/.test(item)) return all[Number(item)];
  if (!item.startsWith('GPU-')) return undefined;
  const matching = all.filter(({ uuid }) => uuid?.startsWith(item) === true);
  return matching.length === 1 ? matching[0] : undefined;
}
