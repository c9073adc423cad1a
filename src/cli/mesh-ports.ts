// Ports of a mesh, counted from a base: a worker's is the base and its GPU, as UCCL's benchmarks
// have it, and rank 0 is met behind those of 64 GPUs. 0 lets the kernel choose all of them.

import { SETTINGS } from '../base/settings.js';
import { type Command, usageError } from './command.js';

const MEETING_OFFSET = 64;
const PORT_MAX = SETTINGS['session.port'].maximum;

export function workerPort(base: number, gpu: number): number {
  return base === 0 ? 0 : base + gpu;
}

export function meetingPort(base: number): number {
  return base === 0 ? 0 : base + MEETING_OFFSET;
}

export function checkWorkerPorts(command: Command, base: number, gpus: readonly number[]): void {
  const last = Math.max(...gpus);
  checkPort(command, base, `the worker of GPU ${last}`, last);
}

/** Of a mesh with others: alone, nobody is met. */
export function checkMeetingPort(command: Command, base: number): void {
  checkPort(command, base, 'rank 0', MEETING_OFFSET);
}

function checkPort(command: Command, base: number, who: string, offset: number): void {
  if (base + offset <= PORT_MAX) return;
  const what = `${who} would listen on ${base + offset}, and the last port is ${PORT_MAX}`;
  throw usageError(command, `--port ${base}: ${what}: ${PORT_MAX - offset} or less`);
}
