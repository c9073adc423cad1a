// CPUs, their hardware-thread siblings, and NUMA nodes.

import { sortCpus } from '../../base/cpu-set.js';
import { readCpuList, readLine, readNumber } from './field-text.js';
import type { HostFiles } from './host-files.js';
import type { Cpu, CpuModel, NumaNode } from './model.js';

const CPU_FOLDER = '/sys/devices/system/cpu';
const NODE_FOLDER = '/sys/devices/system/node';

export function readCpus(files: HostFiles, nodes: readonly NumaNode[]): CpuModel {
  const online = readCpuList(files, `${CPU_FOLDER}/online`) ?? [];
  if (online.length === 0) files.gaps.push({ path: `${CPU_FOLDER}/online`, reason: 'no CPUs' });
  const present = readCpuList(files, `${CPU_FOLDER}/present`) ?? online;
  const nodeOf = new Map(nodes.flatMap((node) => node.cpus.map((cpu) => [cpu, node.id])));
  const isOnline = new Set(online);
  return {
    modelName: parseModelName(files.read('/proc/cpuinfo') ?? ''),
    possible: readCpuList(files, `${CPU_FOLDER}/possible`) ?? present,
    present,
    online,
    isolated: readCpuList(files, `${CPU_FOLDER}/isolated`) ?? [],
    nohzFull: readCpuList(files, `${CPU_FOLDER}/nohz_full`) ?? [],
    cpus: present.map((id) => readCpu(files, id, isOnline.has(id), nodeOf.get(id))),
  };
}

function readCpu(files: HostFiles, id: number, isOnline: boolean, node: number | undefined): Cpu {
  const topology = `${CPU_FOLDER}/cpu${id}/topology`;
  const siblings = readCpuList(files, `${topology}/thread_siblings_list`) ?? [];
  return {
    id,
    isOnline,
    node,
    packageId: readNumber(files, `${topology}/physical_package_id`),
    coreId: readNumber(files, `${topology}/core_id`),
    siblings: siblings.includes(id) ? siblings : [id],
  };
}

function parseModelName(cpuinfo: string): string | undefined {
  return /^model name\s*:\s*(.+)$/m.exec(cpuinfo)?.[1];
}

/** Empty on a kernel without NUMA. */
export function readNodes(files: HostFiles): NumaNode[] {
  const ids = readCpuList(files, `${NODE_FOLDER}/online`) ?? [];
  return ids.map((id) => {
    const folder = `${NODE_FOLDER}/node${id}`;
    const distance = readLine(files, `${folder}/distance`);
    return {
      id,
      cpus: readCpuList(files, `${folder}/cpulist`) ?? [],
      distances: distance === undefined ? [] : distance.split(/\s+/).map(Number),
      memoryBytes: parseNodeMemory(files.read(`${folder}/meminfo`) ?? ''),
    };
  });
}

function parseNodeMemory(meminfo: string): number | undefined {
  const kib = /MemTotal:\s+(\d+) kB/.exec(meminfo)?.[1];
  return kib === undefined ? undefined : Number(kib) * 1024;
}

/** The first hardware thread of each core: a set of CPUs counted in physical cores. */
export function physicalCores(cpus: CpuModel, ids: Iterable<number>): number[] {
  const siblingsOf = new Map(cpus.cpus.map((cpu) => [cpu.id, cpu.siblings]));
  const cores = new Set<number>();
  for (const id of ids) cores.add(siblingsOf.get(id)?.[0] ?? id);
  return sortCpus(cores);
}
