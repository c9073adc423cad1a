// The thread of a lane, as a worker of this process.

import { Worker } from 'node:worker_threads';
import { isLaunchUrl, launchUrl } from '../../base/launch.js';
import type { LaneIndex } from '../../base/quantity.js';
import type { FixedMemory } from '../../os/fixed-memory.js';
import type { LaneWorkerData } from './lane/lane-worker.js';
import type { LaneSetOptions } from './lane-set.js';

interface LaneThreadPlace {
  readonly shared: FixedMemory;
  readonly laneIndex: LaneIndex;
  readonly doorbellFd: number;
  readonly wakeFd: number;
}

export function newLaneThread(options: LaneSetOptions, place: LaneThreadPlace): Worker {
  const { shared, laneIndex, doorbellFd, wakeFd } = place;
  const { shape, spinUs, sendBy, stallUs, receiveBytes, sendBytes, spareTables } = options;
  const { stagingBytes, gpuModule } = options.staging;
  const workerData: LaneWorkerData = {
    sharedAddr: shared.addr,
    sharedBytes: shared.bytes,
    shape,
    laneIndex,
    doorbellFd,
    controlFd: laneIndex === 0 ? options.controlFd : -1,
    wakeFd,
    spinUs,
    cpus: options.cpus[laneIndex] ?? [],
    node: options.nodes[laneIndex],
    sendBy,
    stagingBytes,
    gpuModule,
    stallUs,
    receiveBytes,
    sendBytes,
    spareTables,
  };
  // With a launch file that stands in for CUDA the thread has parts in common, each of them once.
  const extension = isLaunchUrl(gpuModule) ? '.js' : '.cjs';
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
