// Caches and power settings of CPUs, asked of one CPU per socket: cores of a socket are alike, and
// a host of 208 CPUs has thousands of such files.

import { readCpuList, readLine, readNumber } from './field-text.js';
import type { HostFiles } from './host-files.js';
import type { Cache, Cpu, CpuPower, IdleState } from './model.js';

const CPU_FOLDER = '/sys/devices/system/cpu';

/** The first online CPU of each socket; without sockets, the first of all. */
export function firstOfSockets(cpus: readonly Cpu[]): readonly number[] {
  const first = new Map<number | undefined, number>();
  for (const { id, isOnline, packageId } of cpus) {
    if (isOnline && !first.has(packageId)) first.set(packageId, id);
  }
  return [...first.values()];
}

export function readCaches(files: HostFiles, cpu: number): Cache[] {
  const folder = `${CPU_FOLDER}/cpu${cpu}/cache`;
  return files.list(folder).flatMap((name) => {
    const level = readNumber(files, `${folder}/${name}/level`);
    const type = readLine(files, `${folder}/${name}/type`);
    const sizeBytes = parseSize(readLine(files, `${folder}/${name}/size`));
    if (level === undefined || sizeBytes === undefined || !isCacheType(type)) return [];
    const cpus = readCpuList(files, `${folder}/${name}/shared_cpu_list`);
    return [{ cpu, level, type, sizeBytes, cpus }];
  });
}

function isCacheType(text: string | undefined): text is Cache['type'] {
  return text === 'Data' || text === 'Instruction' || text === 'Unified';
}

/** `48K`, `105M`. */
function parseSize(text: string | undefined): number | undefined {
  const match = /^(\d+)([KM])$/.exec(text ?? '');
  if (match === null) return undefined;
  return Number(match[1]) * (match[2] === 'K' ? 1024 : 1024 ** 2);
}

export function readPower(files: HostFiles, cpu: number): CpuPower {
  const folder = `${CPU_FOLDER}/cpu${cpu}`;
  return {
    cpu,
    governor: readLine(files, `${folder}/cpufreq/scaling_governor`),
    frequencyDriver: readLine(files, `${folder}/cpufreq/scaling_driver`),
    idleStates: files
      .list(`${folder}/cpuidle`)
      .filter((name) => /^state\d+$/.test(name))
      .map((name) => readIdleState(files, `${folder}/cpuidle/${name}`)),
  };
}

function readIdleState(files: HostFiles, folder: string): IdleState {
  const disabled = readNumber(files, `${folder}/disable`);
  return {
    name: readLine(files, `${folder}/name`) ?? folder.slice(folder.lastIndexOf('/') + 1),
    exitLatencyUs: readNumber(files, `${folder}/latency`),
    isEnabled: disabled === undefined ? undefined : disabled === 0,
  };
}
