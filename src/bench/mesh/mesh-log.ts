// Logs of a mesh in the form of UCCL's full-mesh runs: one for each role of each GPU. Pure.

import type { BenchResult } from '../bench-result.js';
import { clientLines, logName } from '../uccl-form.js';

/** `fullmesh_client_gpu3_20260131_235958.log`, in local time. */
export function meshLogName(role: 'server' | 'client', gpu: number, time: Date): string {
  return logName(role, time).replace(`bench_${role}_`, `fullmesh_${role}_gpu${gpu}_`);
}

export function meshClientLines(result: BenchResult, gpu: number, to: string): string[] {
  return [`[PERF] to ${to}`, ...clientLines(result, gpu)];
}

/** `fullmesh_info_20260131_235958.log`: what is known of the host. */
export function meshInfoName(time: Date): string {
  return logName('info', time).replace('bench_', 'fullmesh_');
}
