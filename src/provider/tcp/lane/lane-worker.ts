// Entry of a lane's worker thread: opens the shared memory, pins itself, runs the loop.

import { parentPort, workerData } from 'node:worker_threads';
import { unmapSpareTables } from '../../../ffi/libc/message.js';
import { openGpuProvider } from '../../../gpu/gpu-staging.js';
import type { GpuModule } from '../../../gpu/staging-device.js';
import { openFixedMemory } from '../../../os/fixed-memory.js';
import { endThread, pinThread, wakeThread } from '../../../os/thread.js';
import type { SendBy } from '../port/stream-port.js';
import { destroyLaneCore, LaneCore } from './lane-core.js';
import { LaneLoop } from './lane-loop.js';
import { LANE_LAST_CPU, type SharedShape } from './layout.js';

export interface LaneWorkerData {
  readonly sharedAddr: number;
  readonly sharedBytes: number;
  readonly shape: SharedShape;
  readonly laneIndex: number;
  readonly sessionCount: number;
  readonly doorbellFd: number;
  readonly controlFd: number;
  readonly wakeFd: number;
  readonly spinUs: number;
  readonly cpus: readonly number[];
  readonly sendBy: SendBy;
  readonly stagingBytes: number;
  /** Address of a module that stands in for CUDA; empty: CUDA. */
  readonly gpuModule: string;
  readonly stallUs: number;
  readonly receiveBytes: number;
  readonly sendBytes: number | undefined;
}

const data = workerData as LaneWorkerData;
const shared = openFixedMemory(data.sharedAddr, data.sharedBytes);
const provider =
  data.gpuModule === ''
    ? openGpuProvider()
    : ((await import(data.gpuModule)) as GpuModule).openGpuProvider();
const core = new LaneCore({
  shared,
  shape: data.shape,
  laneIndex: data.laneIndex,
  sessionCount: data.sessionCount,
  ackDelayTurns: 0,
  sendBy: data.sendBy,
  staging: { provider, stagingBytes: data.stagingBytes },
  stallUs: data.stallUs,
  receiveBytes: data.receiveBytes,
  sendBytes: data.sendBytes,
});
core.float64[core.controlAt / 8 + LANE_LAST_CPU] = pinThread(data.cpus);
const loop = new LaneLoop({
  core,
  doorbellFd: data.doorbellFd,
  controlFd: data.controlFd,
  spinUs: data.spinUs,
  wakeMain: () => wakeThread(data.wakeFd),
});
parentPort?.postMessage('ready');
loop.run();
destroyLaneCore(core);
unmapSpareTables();
endThread();
