// CPU time of this process and of its plugin processes.

import { readFileSync } from 'node:fs';

/** Clock ticks per second of /proc/PID/stat: 100 on every kernel that Node runs on. */
const TICKS_PER_SECOND = 100;

/** CPU time of this process, all threads. */
function cpuTimeUs(): number {
  const usage = process.cpuUsage();
  return usage.user + usage.system;
}

export function cpuWithChildrenUs(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + processCpuUs(pid), cpuTimeUs());
}

function processCpuUs(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Behind the name in parentheses: user and system time are the 12th and 13th field.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1e6;
  } catch {
    return 0;
  }
}
