// GPUs whose memory the engine has been given: each is opened in the main thread for the check of
// what is registered, and announced to the lanes before anybody can name memory of it.

import { wrongArgument } from '../base/argument.js';
import { openGpuProvider } from '../gpu/gpu-staging.js';
import { GPUS_MAX, type GpuModule, type GpuProvider } from '../gpu/staging-device.js';
import type { DeviceRange } from '../memory/region.js';

export class GpuUse {
  /** A provider belongs to one thread; a lane without a thread has its own all the same. */
  readonly openProvider: () => GpuProvider;
  readonly #tellLanes: (device: number) => void;
  readonly #known = new Set<number>();
  #provider: GpuProvider | undefined;

  constructor(openProvider: () => GpuProvider, tellLanes: (device: number) => void) {
    this.openProvider = openProvider;
    this.#tellLanes = tellLanes;
  }

  /** Throws unless these bytes are memory of that GPU. */
  admit(range: DeviceRange): void {
    checkOrdinal(range.device);
    this.#provider ??= this.openProvider();
    this.#provider.checkRange(range.device, range.addr, range.bytes);
    this.open(range.device);
  }

  open(device: number): void {
    checkOrdinal(device);
    if (this.#known.has(device)) return;
    this.#known.add(device);
    this.#tellLanes(device);
  }

  close(): void {
    this.#provider?.close();
    this.#provider = undefined;
  }
}

/** CUDA, or what an explicit option names in its place. */
export async function gpuSource(gpuModule: URL | undefined): Promise<() => GpuProvider> {
  if (gpuModule === undefined) return openGpuProvider;
  const other = (await import(gpuModule.href)) as GpuModule;
  return () => other.openGpuProvider();
}

function checkOrdinal(device: number): void {
  if (Number.isInteger(device) && device >= 0 && device < GPUS_MAX) return;
  throw wrongArgument('GPU', `an ordinal, 0 … ${GPUS_MAX - 1}`, device);
}
