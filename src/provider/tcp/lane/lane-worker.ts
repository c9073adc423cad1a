// Entry of a lane's worker thread: opens the shared memory, pins itself, runs the loop.

import { parentPort, workerData } from 'node:worker_threads';
import { limitSpareTables, unmapSpareTables } from '../../../ffi/libc/message.js';
import { openGpuProvider } from '../../../gpu/gpu-staging.js';
import type { GpuModule, GpuProvider } from '../../../gpu/staging-device.js';
import { CollectorPauses } from '../../../os/collector-pauses.js';
import { openFixedMemory, unmapPastCache } from '../../../os/fixed-memory.js';
import { endThread, pinThread, preferNode, wakeThread } from '../../../os/thread.js';
import type { SendBySetting } from '../port/stream-port.js';
import { destroyLaneCore, LaneCore } from './lane-core.js';
import { LaneLoop } from './lane-loop.js';
import { LANE_LAST_CPU, LANE_MEMORY_NODE, type SharedShape } from './layout.js';

export interface LaneWorkerData {
  readonly sharedAddr: number;
  readonly sharedBytes: number;
  readonly shape: SharedShape;
  readonly laneIndex: number;
  readonly doorbellFd: number;
  readonly controlFd: number;
  readonly wakeFd: number;
  readonly spinUs: number;
  readonly cpus: readonly number[];
  /** NUMA node of its memory; undefined leaves that to the kernel. */
  readonly node: number | undefined;
  readonly sendBy: SendBySetting;
  readonly stagingBytes: number;
  /** Address of a module that stands in for CUDA; empty: CUDA. */
  readonly gpuModule: string;
  readonly stallUs: number;
  readonly receiveBytes: number;
  readonly sendBytes: number | undefined;
  readonly spareTables: number;
}

const data = workerData as LaneWorkerData;
limitSpareTables(data.spareTables);
// First: whatever it maps from here on, staging included, is to lie beside its NIC.
const cpu = pinThread(data.cpus);
const memoryNode = data.node === undefined ? undefined : preferNode(data.node);
if (data.gpuModule === '') runLane(openGpuProvider());
else {
  void import(data.gpuModule).then((module: GpuModule) => runLane(module.openGpuProvider()));
}

function runLane(provider: GpuProvider | undefined): void {
  const shared = openFixedMemory(data.sharedAddr, data.sharedBytes);
  const core = new LaneCore({
    shared,
    shape: data.shape,
    laneIndex: data.laneIndex,
    ackDelayTurns: 0,
    sendBy: data.sendBy,
    staging: { provider, stagingBytes: data.stagingBytes },
    stallUs: data.stallUs,
    receiveBytes: data.receiveBytes,
    sendBytes: data.sendBytes,
  });
  const { float64 } = core;
  float64[core.controlAt / 8 + LANE_LAST_CPU] = cpu;
  if (memoryNode !== undefined) float64[core.controlAt / 8 + LANE_MEMORY_NODE] = memoryNode + 1;
  const loop = new LaneLoop({
    core,
    doorbellFd: data.doorbellFd,
    controlFd: data.controlFd,
    spinUs: data.spinUs,
    pauses: new CollectorPauses(),
    wakeMain: () => wakeThread(data.wakeFd),
  });
  parentPort?.postMessage('ready');
  loop.run();
  destroyLaneCore(core);
  unmapSpareTables();
  unmapPastCache();
  endThread();
}
