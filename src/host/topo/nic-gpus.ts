// GPUs behind the NICs of this machine, in CUDA's numbers, for whoever sets rails up. The NICs of
// the plugin emulator are in no PCI tree: it says itself which GPUs are behind them.

import type { Environment } from '../../base/config.js';
import { listDevices } from '../../ffi/cuda/device.js';
import { gpuAbsence, openCudaDriver } from '../../ffi/cuda/driver.js';
import { openHost } from '../read/open-host.js';
import { readHost } from '../read/read-host.js';
import { gpusBehindNics, type NicGpus } from './data-nics.js';

const EMULATED_NICS = 'TCPX_EMU_NICS';
const EMULATED_PAIRS = 'TCPX_EMU_GPU_NICS';

/** `environment` is the plugin's; `control` as in DataNicWish. */
export function readNicGpus(environment: Environment, control: string): NicGpus {
  const pairs = environment[EMULATED_PAIRS] ?? '';
  if (pairs !== '') return parseEmulatedPairs(pairs);
  if ((environment[EMULATED_NICS] ?? '') !== '' || gpuAbsence() !== undefined) return undefined;
  const { files, probes } = openHost();
  // CUDA knows its numbers; nvidia-smi takes a second to start.
  const model = readHost({ files, probes: { ...probes, nvidiaSmi: () => undefined } });
  const cudaGpus = listDevices(openCudaDriver()).map(({ pciAddress }) => pciAddress);
  return gpusBehindNics(model, control, cudaGpus);
}

/** `0=eth1,1=eth1,2=eth2`. */
export function parseEmulatedPairs(text: string): NonNullable<NicGpus> {
  const behind = new Map<string, number[]>();
  for (const [, gpu, nic = ''] of text.matchAll(/(\d+)=([^,]+)/g)) {
    behind.set(nic, [...(behind.get(nic) ?? []), Number(gpu)]);
  }
  return behind;
}
