// A GPU for tests on machines without one: the staging contract over host memory, with copies that
// happen late. Only tests name this module; no product code can fall back to it.
//
// Device addresses are host addresses moved out of reach: whoever touches "device memory" without
// a device copy gets EFAULT from the kernel, or crashes the test. A batch is carried out only after
// a number of polls drawn from a seed, and staging memory is overwritten before a copy out and
// after a copy in, so that whoever reads or reuses a slot too early sees wrong bytes. A slot that
// is renewed gets other pages, as on a real one.
//
// The number of the GPU chooses its behaviour: see SimulatedGpus.

import { TcpxError } from '../../src/base/errors.js';
import { type Random, seededRandom } from '../../src/base/random.js';
import { renewPages } from '../../src/ffi/libc/mapping.js';
import {
  COPY_DONE,
  COPY_FAILED,
  COPY_PENDING,
  type CopyQueue,
  type GpuProvider,
  type StagingDevice,
  type StagingShape,
} from '../../src/gpu/staging-device.js';
import {
  copyMemory,
  createFixedMemory,
  destroyFixedMemory,
  type FixedMemory,
  openFixedMemory,
} from '../../src/os/fixed-memory.js';
import { keepReferredPages } from './virtual-link.js';

export const SimulatedGpus = {
  Healthy: 0,
  Second: 1,
  /** Copies out fail from the third batch on. */
  FailsOut: 2,
  /** Copies in fail from the third batch on. */
  FailsIn: 3,
  /** Cannot be opened by a lane. */
  Closed: 4,
  /** Done as soon as it is asked. */
  Instant: 5,
  /** A slot never gets other memory: the first that needs it fails the queue. */
  FailsRenewal: 6,
  /** Slots cannot get other memory, and the device says so. */
  Fixed: 7,
  /** Done when the batch has been started. */
  Prompt: 8,
  /** The same, and copies either way fail from the third batch on. */
  FailsPromptly: 9,
} as const;

/** Beyond the canonical addresses of a process, within 53 bits. */
const OUT_OF_REACH = 2 ** 48;
const POLLS_MAX = 40;
const GOOD_BATCHES = 2;
const PROMPT_US = 3;
const POISON_OUT = 0xee;
const POISON_IN = 0xdd;

export function toDeviceAddr(hostAddr: number): number {
  return hostAddr + OUT_OF_REACH;
}

function toHostAddr(deviceAddr: number): number {
  return deviceAddr - OUT_OF_REACH;
}

interface CopyBlock {
  readonly deviceAddr: number;
  readonly offset: number;
  readonly bytes: number;
}

interface Batch {
  readonly number: number;
  readonly blocks: readonly CopyBlock[];
  pollsLeft: number;
}

class SimulatedQueue implements CopyQueue {
  readonly isRenewable: boolean;
  readonly isPrompt: boolean;
  readonly lastUs: number;
  readonly refusal: TcpxError | undefined;
  /** Slots that were given other memory. */
  renewals = 0;
  isFailed = false;
  error: TcpxError | undefined;
  readonly #staging: FixedMemory;
  readonly #slotBytes: number;
  readonly #isOut: boolean;
  readonly #hasRenewals: boolean;
  readonly #random: Random;
  readonly #pollsMax: number;
  readonly #goodBatches: number;
  readonly #pending: Batch[] = [];
  #open: CopyBlock[] = [];
  #issued = 0;
  #done = 0;

  constructor(shape: StagingShape, isOut: boolean, device: number, seed: number) {
    this.#staging = createFixedMemory(shape.slotBytes * shape.slotCount);
    this.#slotBytes = shape.slotBytes;
    this.#isOut = isOut;
    this.#hasRenewals = device !== SimulatedGpus.FailsRenewal;
    this.isRenewable = device !== SimulatedGpus.Fixed;
    this.refusal = this.isRenewable ? undefined : new TcpxError('ERR_CAP_GPU', 'simulated refusal');
    this.isPrompt = device === SimulatedGpus.Prompt || device === SimulatedGpus.FailsPromptly;
    this.lastUs = this.isPrompt ? PROMPT_US : 0;
    this.#random = seededRandom(seed);
    this.#pollsMax = this.isPrompt || device === SimulatedGpus.Instant ? 0 : POLLS_MAX;
    const failing: readonly number[] = [
      isOut ? SimulatedGpus.FailsOut : SimulatedGpus.FailsIn,
      SimulatedGpus.FailsPromptly,
    ];
    this.#goodBatches = failing.includes(device) ? GOOD_BATCHES : Number.POSITIVE_INFINITY;
  }

  get stagingAddr(): number {
    return this.#staging.addr;
  }

  begin(): number {
    return this.#issued + 1;
  }

  add(deviceAddr: number, offset: number, bytes: number): void {
    this.#open.push({ deviceAddr, offset, bytes });
    if (this.#isOut) this.#staging.uint8.fill(POISON_OUT, offset, offset + bytes);
  }

  start(): boolean {
    if (this.#open.length === 0) return false;
    this.#issued++;
    const pollsLeft = this.#random.nextBetween(0, this.#pollsMax);
    this.#pending.push({ number: this.#issued, blocks: this.#open, pollsLeft });
    this.#open = [];
    if (this.isPrompt) this.#tick();
    return true;
  }

  poll(batch: number): number {
    this.#tick();
    if (batch <= this.#done) return COPY_DONE;
    return this.isFailed ? COPY_FAILED : COPY_PENDING;
  }

  isIdle(): boolean {
    return this.poll(this.#issued) !== COPY_PENDING;
  }

  finish(): void {
    while (!this.isIdle());
  }

  renew(stagingOffset: number): boolean {
    if (!this.#hasRenewals) {
      this.finish();
      this.isFailed = true;
      this.error ??= new TcpxError('ERR_CUDA_CALL', 'renew a slot: simulated fault');
      return false;
    }
    const range = { addr: this.stagingAddr + stagingOffset, bytes: this.#slotBytes };
    keepReferredPages(range.addr, range.bytes);
    renewPages(range);
    this.renewals++;
    return true;
  }

  close(): void {
    this.finish();
    destroyFixedMemory(this.#staging);
  }

  #tick(): void {
    const [oldest] = this.#pending;
    if (oldest === undefined || this.isFailed) return;
    if (oldest.pollsLeft-- > 0) return;
    if (oldest.number > this.#goodBatches) {
      this.isFailed = true;
      this.error = new TcpxError('ERR_CUDA_CALL', `batch ${oldest.number}: simulated fault`);
      return;
    }
    this.#pending.shift();
    for (const block of oldest.blocks) this.#copy(block);
    this.#done = oldest.number;
  }

  #copy({ deviceAddr, offset, bytes }: CopyBlock): void {
    const deviceSide = toHostAddr(deviceAddr);
    const stagingSide = this.#staging.addr + offset;
    if (this.#isOut) {
      copyMemory(stagingSide, deviceSide, bytes);
      return;
    }
    copyMemory(deviceSide, stagingSide, bytes);
    this.#staging.uint8.fill(POISON_IN, offset, offset + bytes);
  }
}

class SimulatedStaging implements StagingDevice {
  readonly out: SimulatedQueue;
  readonly into: SimulatedQueue;

  constructor(device: number, shape: StagingShape, seed: number) {
    this.out = new SimulatedQueue(shape, true, device, seed);
    this.into = new SimulatedQueue(shape, false, device, seed + 1);
  }

  /** The handle is the host address of eight bytes: 0 not yet, 1 happened, else a failure. */
  pollEvent(handle: number): number {
    const value = openFixedMemory(handle, 8).int32[0] ?? 0;
    if (value === 0) return COPY_PENDING;
    return value === 1 ? COPY_DONE : COPY_FAILED;
  }

  close(): void {
    this.out.close();
    this.into.close();
  }
}

export function openGpuProvider(seed = 1): GpuProvider {
  let opened = seed * 1000;
  return {
    checkRange(device, addr, bytes) {
      const isKnown = Object.values<number>(SimulatedGpus).includes(device);
      if (isKnown && addr >= OUT_OF_REACH) return;
      const what = `register ${bytes} bytes of simulated GPU ${device} at ${addr}`;
      throw new TcpxError('ERR_USAGE_ARGUMENT', `${what}: not its memory`);
    },
    openStaging(device, shape) {
      if (device === SimulatedGpus.Closed) {
        throw new TcpxError('ERR_CUDA_CALL', `simulated GPU ${device} does not open`);
      }
      opened += 2;
      return new SimulatedStaging(device, shape, opened);
    },
    close: () => undefined,
  };
}

/** This module, as an engine option. */
export const SIMULATED_GPU_MODULE = new URL(import.meta.url);
