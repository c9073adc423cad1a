// A simulated GPU that ends the thread of lane 1 at its first copy, as a fault in the lane’s own
// code would. Only tests name this module.

import { workerData } from 'node:worker_threads';
import type { GpuProvider, StagingDevice } from '../../src/gpu/staging-device.js';
import { openGpuProvider as openSimulated } from './simulated-gpu.js';

export const DEADLY_LANE = 1;
export const DEADLY_TEXT = 'the thread ends on purpose';

export function openGpuProvider(): GpuProvider {
  const provider = openSimulated();
  const lane = (workerData as { readonly laneIndex?: number } | null)?.laneIndex;
  if (lane !== DEADLY_LANE) return provider;
  return {
    checkRange: (device, addr, bytes) => provider.checkRange(device, addr, bytes),
    close: () => provider.close(),
    openStaging: (device, shape) => makeDeadly(provider.openStaging(device, shape)),
  };
}

function makeDeadly(device: StagingDevice): StagingDevice {
  device.out.poll = () => {
    throw new Error(DEADLY_TEXT);
  };
  return device;
}

/** This module, as an engine option. */
export const DEADLY_GPU_MODULE = new URL(import.meta.url);
