// What the lanes of a client's engine load in the place of CUDA: its host memory as one device,
// GPUs as the others. The address of this module says whose memory it is: ?pid=…&pidfd=…

import { openGpuProvider as openCuda } from '../gpu/gpu-staging.js';
import {
  type GpuProvider,
  HOST_DEVICE,
  type StagingDevice,
  type StagingShape,
} from '../gpu/staging-device.js';
import { processOf } from './host-device.js';
import { ProcessStaging } from './process-copies.js';

const client = processOf(new URL(import.meta.url));

class ClientDevices implements GpuProvider {
  #cuda: GpuProvider | undefined;

  /** The client's word: whether its addresses are mapped shows when they are used. */
  checkRange(device: number, addr: number, bytes: number): void {
    if (device !== HOST_DEVICE) this.#gpus().checkRange(device, addr, bytes);
  }

  openStaging(device: number, shape: StagingShape): StagingDevice {
    if (device === HOST_DEVICE) return new ProcessStaging(client, shape);
    return this.#gpus().openStaging(device, shape);
  }

  close(): void {
    this.#cuda?.close();
  }

  #gpus(): GpuProvider {
    this.#cuda ??= openCuda();
    return this.#cuda;
  }
}

export function openGpuProvider(): GpuProvider {
  return new ClientDevices();
}
