// The thread of a lane, as a worker of this process.

import { Worker } from 'node:worker_threads';
import { isLaunchUrl, launchUrl } from '../../base/launch.js';
import type { LaneWorkerData } from './lane/lane-worker.js';

export function newLaneThread(workerData: LaneWorkerData): Worker {
  // With a launch file that stands in for CUDA the thread has parts in common, each of them once.
  const extension = isLaunchUrl(workerData.gpuModule) ? '.js' : '.cjs';
  return new Worker(launchUrl('provider/tcp/lane/lane-worker.js', extension), {
    workerData,
    ...workerFlags(process.execArgv),
  });
}

// A thread inherits the flags of the process, but --input-type is about the main module alone and
// would be refused; then it starts without any.
function workerFlags(flags: readonly string[]): { execArgv?: string[] } {
  return flags.some((flag) => flag.startsWith('--input-type')) ? { execArgv: [] } : {};
}
