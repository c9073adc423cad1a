// CPUs, their hardware-thread siblings, and NUMA nodes.

import { sortCpus } from '../../base/cpu-set.js';
import { firstOfSockets, readCaches, readPower } from './cpu-hardware.js';
import { readCpuList, readLine, readNumber } from './field-text.js';
import type { HostFiles } from './host-files.js';
import { parseInterrupts } from './interrupts.js';
import type { Cpu, CpuModel, NumaNode, PciDevice } from './model.js';

const CPU_FOLDER = '/sys/devices/system/cpu';
const NODE_FOLDER = '/sys/devices/system/node';

export function readCpus(files: HostFiles, nodes: readonly NumaNode[]): CpuModel {
  const online = readOnline(files);
  const present = readCpuList(files, `${CPU_FOLDER}/present`) ?? online;
  const nodeOf = new Map(nodes.flatMap((node) => (node.cpus ?? []).map((cpu) => [cpu, node.id])));
  const isOnline = new Set(online);
  const cpus = completeSiblings(
    present.map((id) => readCpu(files, id, isOnline.has(id), nodeOf.get(id))),
  );
  const asked = firstOfSockets(cpus);
  return {
    modelName: parseModelName(files.read('/proc/cpuinfo') ?? ''),
    possible: readCpuList(files, `${CPU_FOLDER}/possible`) ?? present,
    present,
    online,
    isolated: readCpuList(files, `${CPU_FOLDER}/isolated`),
    nohzFull: readCpuList(files, `${CPU_FOLDER}/nohz_full`),
    cpus,
    caches: asked.flatMap((cpu) => readCaches(files, cpu)),
    power: asked.map((cpu) => readPower(files, cpu)),
  };
}

/** Siblings name each other: what one CPU does not say, another of its core may. */
function completeSiblings(cpus: readonly Cpu[]): readonly Cpu[] {
  const told = new Map<number, readonly number[]>();
  for (const { siblings = [] } of cpus) for (const id of siblings) told.set(id, siblings);
  return cpus.map((cpu) => ({ ...cpu, siblings: cpu.siblings ?? told.get(cpu.id) }));
}

/** The kernel's list, else the columns of the interrupt table: it has one per online CPU. */
function readOnline(files: HostFiles): readonly number[] {
  const path = `${CPU_FOLDER}/online`;
  const listed = readCpuList(files, path) ?? [];
  if (listed.length > 0) return listed;
  const { cpus } = parseInterrupts(files.read('/proc/interrupts') ?? '');
  const reason = cpus.length === 0 ? 'no CPUs' : 'absent; CPUs of /proc/interrupts taken instead';
  files.gaps.push({ path, reason });
  return cpus;
}

function readCpu(files: HostFiles, id: number, isOnline: boolean, node: number | undefined): Cpu {
  const topology = `${CPU_FOLDER}/cpu${id}/topology`;
  const siblings = readCpuList(files, `${topology}/thread_siblings_list`);
  return {
    id,
    isOnline,
    node,
    packageId: readNumber(files, `${topology}/physical_package_id`),
    coreId: readNumber(files, `${topology}/core_id`),
    siblings: siblings?.includes(id) === true ? siblings : undefined,
  };
}

function parseModelName(cpuinfo: string): string | undefined {
  return /^model name\s*:\s*(.+)$/m.exec(cpuinfo)?.[1];
}

/** Empty on a kernel without NUMA, and where nothing tells of nodes. */
export function readNodes(files: HostFiles, pci: readonly PciDevice[] = []): NumaNode[] {
  return nodeIds(files, pci).map((id) => {
    const folder = `${NODE_FOLDER}/node${id}`;
    const distance = readLine(files, `${folder}/distance`);
    return {
      id,
      cpus: readCpuList(files, `${folder}/cpulist`) ?? localCpus(pci, id),
      distances: distance?.split(/\s+/).map(Number),
      memoryBytes: parseNodeMemory(files.read(`${folder}/meminfo`) ?? ''),
    };
  });
}

/** The kernel's list, else the folders of nodes, else the nodes that devices name. */
function nodeIds(files: HostFiles, pci: readonly PciDevice[]): readonly number[] {
  const path = `${NODE_FOLDER}/online`;
  const listed = readCpuList(files, path);
  if (listed !== undefined) return listed;
  const named = files.list(NODE_FOLDER).flatMap((name) => /^node(\d+)$/.exec(name)?.[1] ?? []);
  const ofDevices = pci.flatMap(({ node }) => (node === undefined ? [] : [node]));
  const ids = sortCpus(new Set(named.length > 0 ? named.map(Number) : ofDevices));
  if (ids.length > 0) files.gaps.push({ path, reason: 'absent; nodes found otherwise' });
  return ids;
}

function localCpus(pci: readonly PciDevice[], node: number): readonly number[] | undefined {
  const lists = pci.flatMap((device) =>
    device.node === node && device.localCpus !== undefined ? [device.localCpus] : [],
  );
  return lists.length === 0 ? undefined : sortCpus(new Set(lists.flat()));
}

function parseNodeMemory(meminfo: string): number | undefined {
  const kib = /MemTotal:\s+(\d+) kB/.exec(meminfo)?.[1];
  return kib === undefined ? undefined : Number(kib) * 1024;
}

/** The first hardware thread of each core of a set; undefined where threads are not known. */
export function physicalCores(cpus: CpuModel, ids: Iterable<number>): number[] | undefined {
  const siblingsOf = new Map(cpus.cpus.map((cpu) => [cpu.id, cpu.siblings]));
  const cores = new Set<number>();
  for (const id of ids) {
    const first = siblingsOf.get(id)?.[0];
    if (first === undefined) return undefined;
    cores.add(first);
  }
  return sortCpus(cores);
}
