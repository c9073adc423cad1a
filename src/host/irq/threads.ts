// Threads of a process: where each ran last, where it may run, and how long it waited for a CPU.

import { readFileSync } from 'node:fs';
import { formatCpuList, parseCpuList } from '../../base/cpu-set.js';
import type { HostFiles } from '../read/host-files.js';
import type { CpuSet } from './cpu-choice.js';

export interface ThreadPlace {
  readonly tid: number;
  readonly name: string;
  /** CPU it ran on last. */
  readonly cpu: number | undefined;
  readonly allowed: CpuSet | undefined;
  /** Milliseconds on a CPU and waiting for one, since the thread began. */
  readonly ranMs: number | undefined;
  readonly waitedMs: number | undefined;
}

/** Position of `processor` among the fields after the command name, which is field 2. */
const PROCESSOR_FIELD = 39 - 3;

export function readThreads(files: HostFiles, pid: number): readonly ThreadPlace[] {
  return files
    .list(`/proc/${pid}/task`)
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readThread(files, `/proc/${pid}/task/${name}`, Number(name)));
}

function readThread(files: HostFiles, folder: string, tid: number): ThreadPlace {
  const stat = files.read(`${folder}/stat`) ?? '';
  const status = files.read(`${folder}/status`) ?? '';
  const times = (files.read(`${folder}/schedstat`) ?? '').trim().split(/\s+/).map(Number);
  const milliseconds = (ns: number | undefined) =>
    ns === undefined || Number.isNaN(ns) || times.length < 3 ? undefined : ns / 1e6;
  return {
    tid,
    name: threadName(stat),
    cpu: lastCpu(stat),
    allowed: allowedCpus(status),
    ranMs: milliseconds(times[0]),
    waitedMs: milliseconds(times[1]),
  };
}

// The command name may hold spaces and parentheses: the last closing one ends it.
export function lastCpu(stat: string): number | undefined {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const cpu = Number(fields[PROCESSOR_FIELD]);
  return fields.length <= PROCESSOR_FIELD || Number.isNaN(cpu) ? undefined : cpu;
}

function threadName(stat: string): string {
  return stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
}

export function allowedCpus(status: string): CpuSet | undefined {
  const text = /^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1];
  return text === undefined ? undefined : parseCpuList(text);
}

/** The affinity that this process hands on to what it starts. */
export function ownAllowedCpus(): CpuSet | undefined {
  try {
    return allowedCpus(readFileSync('/proc/self/status', 'utf8'));
  } catch {
    return undefined;
  }
}

export function formatAllowed(cpus: CpuSet | undefined): string {
  return cpus === undefined ? 'N/A' : formatCpuList(cpus);
}
