// How fast a GPU copies between its memory and pinned memory of the host: the roof of whatever is
// staged there.

import { at } from '../base/assert.js';
import { GpuContext } from '../ffi/cuda/context.js';
import { listDevices } from '../ffi/cuda/device.js';
import { DeviceMemory } from '../ffi/cuda/device-memory.js';
import { gpuAbsence, openCudaDriver } from '../ffi/cuda/driver.js';
import { PinnedMemory } from '../ffi/cuda/pinned-memory.js';
import { GpuStream } from '../ffi/cuda/stream.js';

const BYTES = 64 * 1024 * 1024;
const COPIES = 8;

type CopyCall = 'cuMemcpyHtoDAsync_v2' | 'cuMemcpyDtoHAsync_v2';

export interface PcieRates {
  readonly toDeviceGBps: number;
  readonly toHostGBps: number;
}

/** Of the first GPU; a text says why there is none. */
export function measurePcie(): PcieRates | string {
  const absence = gpuAbsence();
  if (absence !== undefined) return absence;
  const driver = openCudaDriver();
  const context = new GpuContext(driver, at(listDevices(driver), 0));
  try {
    return measureIn(context);
  } finally {
    context.close();
  }
}

function measureIn(context: GpuContext): PcieRates {
  const stream = new GpuStream(context);
  const host = new PinnedMemory(context, BYTES);
  const device = new DeviceMemory(context, BYTES);
  const { queue } = stream;
  const rate = (call: CopyCall, copy: () => number): number => {
    for (let index = 0; index < 2; index++) context.check(copy(), call);
    stream.synchronize();
    const beganMs = performance.now();
    for (let index = 0; index < COPIES; index++) context.check(copy(), call);
    stream.synchronize();
    return (COPIES * BYTES) / (performance.now() - beganMs) / 1e6;
  };
  try {
    return {
      toDeviceGBps: rate('cuMemcpyHtoDAsync_v2', () =>
        queue.copyHostToDevice(device.addr, host.addr, BYTES),
      ),
      toHostGBps: rate('cuMemcpyDtoHAsync_v2', () =>
        queue.copyDeviceToHost(host.addr, device.addr, BYTES),
      ),
    };
  } finally {
    device.free();
    host.free();
    stream.destroy();
  }
}
