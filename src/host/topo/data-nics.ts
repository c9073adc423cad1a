// Which NICs carry data, by one rule for every command: a flag, then the plugin's interface list,
// then the NICs of the GPUs by the PCI tree; where there is no GPU, all physical NICs. The control
// NIC is none of them: it has neither device-memory queues nor a GPU behind it. Only a flag names
// it all the same, and a host without GPUs whose one NIC serves both. Pure.

import { isListed, parseInterfaceList, unansweredWords } from '../../base/interface-list.js';
import type { HostModel, Nic } from '../read/model.js';
import { chooseNics } from './gpu-nic-choice.js';
import { namedNic, namedNics } from './named-nic.js';

export const DATA_LIST_VARIABLE = 'NCCL_GPUDIRECTTCPX_SOCKET_IFNAME';
/** First found wins. */
export const CONTROL_VARIABLES = ['NCCL_GPUDIRECTTCPX_CTRL_DEV', 'NCCL_SOCKET_IFNAME'] as const;

export interface DataNicWish {
  /** A flag's names; empty without it. */
  readonly named: string;
  /** The plugin's list, of DATA_LIST_VARIABLE; empty without it. */
  readonly listed: string;
  /** The control interface as far as it is said: a name, or a list as NCCL writes them. */
  readonly control: string;
}

export interface DataNics {
  readonly nics: readonly Nic[];
  readonly source: 'flag' | 'environment' | 'gpus' | 'all';
  /** Words of flag or list that no interface answers to. */
  readonly missing: readonly string[];
}

export function dataNics(model: HostModel, wish: DataNicWish): DataNics {
  const isNamed = wish.named !== '';
  const text = isNamed ? wish.named : wish.listed;
  if (text !== '') {
    const list = parseInterfaceList(text, isNamed);
    const missing = unansweredWords(
      list,
      model.nics.map(({ name }) => name),
    );
    const listed = model.nics.filter(
      (nic) => isListed(list, nic.name) && (!list.isExcluding || isPhysical(nic)),
    );
    const isFree = isNamed && !list.isExcluding;
    const nics = isFree ? inOrderOf(list.words, listed) : listed.filter(isNotControl(wish));
    return { nics, source: isNamed ? 'flag' : 'environment', missing };
  }
  const candidates = physicalNics(model, wish);
  if (model.gpus.length === 0) return { nics: candidates, source: 'all', missing: [] };
  const names = new Set(
    chooseNics(
      model,
      candidates.map(({ name }) => name),
    ).map(({ nic }) => nic),
  );
  const nics = candidates.filter(({ name }) => names.has(name));
  // Where no distance is known, no NIC is nearer than another.
  if (nics.length === 0) return { nics: candidates, source: 'all', missing: [] };
  return { nics, source: 'gpus', missing: [] };
}

/** Throws for a name that is not there, or that a flag names twice. */
export function requireDataNics(model: HostModel, wish: DataNicWish): readonly Nic[] {
  if (/^[^=^]/.test(wish.named)) return namedNics(model, wish.named);
  const { nics, missing } = dataNics(model, wish);
  return missing[0] === undefined ? nics : [namedNic(model, missing[0])];
}

/** By CUDA number; `undefined` where nothing can be said: no GPU. */
export type NicGpus = ReadonlyMap<string, readonly number[]> | undefined;

/**
 * GPUs behind each NIC: those to which no data NIC is nearer. `cudaGpus` has the PCI addresses of
 * the GPUs as CUDA numbers them, which may hide and reorder them; without it the host's numbers.
 */
export function gpusBehindNics(
  model: HostModel,
  control: string,
  cudaGpus?: readonly string[],
): NicGpus {
  if (model.gpus.length === 0) return undefined;
  const candidates = physicalNics(model, { named: '', listed: '', control });
  const choices = chooseNics(
    model,
    candidates.map(({ name }) => name),
  );
  const behind = new Map<string, number[]>(model.nics.map(({ name }) => [name, []]));
  for (const { gpu: index, nic, distance, others } of choices) {
    const address = model.gpus.find((gpu) => gpu.index === index)?.pciAddress ?? '';
    const number = cudaGpus === undefined ? index : cudaGpus.indexOf(address);
    const alike = others.filter((other) => other.distance === distance).map((other) => other.nic);
    if (number < 0) continue;
    for (const name of [nic, ...alike]) if (name !== undefined) behind.get(name)?.push(number);
  }
  for (const gpus of behind.values()) gpus.sort((a, b) => a - b);
  return behind;
}

function physicalNics(model: HostModel, wish: DataNicWish): readonly Nic[] {
  const physical = model.nics.filter(isPhysical);
  const others = physical.filter(isNotControl(wish));
  return others.length === 0 && model.gpus.length === 0 ? physical : others;
}

function isPhysical(nic: Nic): boolean {
  // Interrupts of its own are as good a sign as a place in the PCI tree, which may be unknown.
  return !nic.isVirtual && (nic.pciAddress !== undefined || nic.vectors.length > 0);
}

function isNotControl({ control }: DataNicWish): (nic: Nic) => boolean {
  if (control === '') return () => true;
  const list = parseInterfaceList(control, false);
  // A list of exclusions says what control is not, which is no name.
  return ({ name }) => list.isExcluding || !isListed(list, name);
}

/** A flag's order is the order of the channels. */
function inOrderOf(words: readonly string[], nics: readonly Nic[]): Nic[] {
  return [...nics].sort((a, b) => words.indexOf(a.name) - words.indexOf(b.name));
}
