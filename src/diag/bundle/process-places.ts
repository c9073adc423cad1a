// Which processes there are and where they may run; and the threads of one process and of all that
// it started, cheaply enough to be asked every second. Names only: command lines and environments
// of others are theirs.

import { allowedCpus, formatAllowed, lastCpu } from '../../host/irq/threads.js';
import type { HostFiles } from '../../host/read/host-files.js';
import { alignColumns } from './host-texts.js';

const PROCESSES_MAX = 4096;
const THREADS_MAX = 1024;

export function processesText(files: HostFiles): string {
  const pids = files.list('/proc').filter((name) => /^\d+$/.test(name));
  const rows = pids.slice(0, PROCESSES_MAX).flatMap((pid) => {
    const stat = files.read(`/proc/${pid}/stat`);
    const status = files.read(`/proc/${pid}/status`) ?? '';
    // Kernel threads have no memory of their own; a few hundred of them say nothing here.
    if (stat === undefined || !status.includes('VmSize:')) return [];
    const threads = /^Threads:\s*(\d+)/m.exec(status)?.[1] ?? '?';
    const name = files.read(`/proc/${pid}/comm`)?.trim() ?? '?';
    return [[pid, name, threads, String(lastCpu(stat) ?? '?'), formatAllowed(allowedCpus(status))]];
  });
  return alignColumns([['pid', 'name', 'threads', 'CPU', 'allowed'], ...rows]);
}

export interface SeenThread {
  readonly pid: number;
  readonly tid: number;
  readonly name: string;
  readonly cpu: number | undefined;
  /** Time on a CPU since it began, in clock ticks of 10 ms. */
  readonly ticks: number;
}

/** Fields of `stat` behind the name: user and system time are the 14th and 15th of all. */
const USER_FIELD = 14 - 3;
const SYSTEM_FIELD = 15 - 3;

/** The process and its descendants, as far as the kernel lists children. */
export function readTree(files: HostFiles, root: number): readonly SeenThread[] {
  const threads: SeenThread[] = [];
  const pending = [root];
  const seen = new Set<number>();
  for (let pid = pending.pop(); pid !== undefined; pid = pending.pop()) {
    if (seen.has(pid)) continue;
    seen.add(pid);
    for (const tid of files.list(`/proc/${pid}/task`)) {
      if (threads.length >= THREADS_MAX) return threads;
      const folder = `/proc/${pid}/task/${tid}`;
      const stat = files.read(`${folder}/stat`);
      if (stat === undefined) continue;
      threads.push(threadOf(pid, Number(tid), stat));
      const children = files.read(`${folder}/children`) ?? '';
      pending.push(...children.split(' ').filter(Boolean).map(Number));
    }
  }
  return threads;
}

function threadOf(pid: number, tid: number, stat: string): SeenThread {
  const end = stat.lastIndexOf(')');
  const fields = stat.slice(end + 2).split(' ');
  const ticks = Number(fields[USER_FIELD]) + Number(fields[SYSTEM_FIELD]);
  const name = stat.slice(stat.indexOf('(') + 1, end);
  return { pid, tid, name, cpu: lastCpu(stat), ticks: Number.isNaN(ticks) ? 0 : ticks };
}

export interface ThreadStay {
  readonly thread: SeenThread;
  /** In how many samples it was seen on each CPU. */
  readonly samplesByCpu: ReadonlyMap<number, number>;
  readonly allowed: string;
}

export function threadAffinityText(stays: readonly ThreadStay[]): string {
  if (stays.length === 0) return 'no thread of the command was seen: it ended at once\n';
  const rows = stays.map(({ thread, samplesByCpu, allowed }) => [
    ...[String(thread.pid), String(thread.tid), String(thread.cpu ?? '?'), thread.name],
    (thread.ticks / 100).toFixed(2),
    [...samplesByCpu]
      .sort(([, a], [, b]) => b - a)
      .map(([cpu, count]) => `${cpu}:${count}`)
      .join(','),
    allowed,
  ]);
  const heading = ['pid', 'tid', 'CPU', 'name', 'ran s', 'samples by CPU', 'allowed'];
  return alignColumns([heading, ...rows]);
}
