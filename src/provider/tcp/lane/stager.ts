// Staging of one lane: for each GPU (and chunk size) two pools of pinned slots, one for chunks on
// their way out and one for chunks on their way in, each with a queue of device copies.
// Two pools, because a slot of the first is free again only when the peer takes data: if both
// directions shared one, two peers could wait for each other's slots for ever.

import { assert, at } from '../../../base/assert.js';
import { TcpxError, toTcpxError } from '../../../base/errors.js';
import {
  COPY_FAILED,
  type CopyQueue,
  GPUS_MAX,
  type GpuProvider,
  type StagingDevice,
} from '../../../gpu/staging-device.js';
import { TABLE_ENTRIES_MAX } from '../../../wire/data-frame.js';
import type { Channel } from './channel.js';

/** In place of a slot: none is there yet, or none is needed. */
export const NO_SLOT = -1;
/** In place of a slot: none ever, because a transfer or a GPU has failed. */
export const GIVEN_UP = -2;
/** In place of a session: nobody can refer to the slot's memory. */
const NOBODY = -1;

const SLOT_BYTES_MIN = 512 * 1024;
const SLOTS_MIN = 4;
const SLOTS_MAX = 64;

/** Slots of one direction; a slot is held by one chunk. */
export class SlotPool {
  readonly queue: CopyQueue;
  readonly slotBytes: number;
  readonly slotCount: number;
  /** Batch that copies the slot's chunk, and when it was added. */
  readonly batch: Int32Array;
  readonly startedUs: Float64Array;
  /** The session whose peer was sent the slot by reference last, or NOBODY. */
  readonly reader: Int32Array;
  readonly #free: Int32Array;
  #freeCount: number;

  constructor(queue: CopyQueue, slotBytes: number, slotCount: number) {
    this.queue = queue;
    this.slotBytes = slotBytes;
    this.slotCount = slotCount;
    this.batch = new Int32Array(slotCount);
    this.startedUs = new Float64Array(slotCount);
    this.reader = new Int32Array(slotCount).fill(NOBODY);
    this.#free = new Int32Array(slotCount).map((_, index) => slotCount - 1 - index);
    this.#freeCount = slotCount;
  }

  get freeCount(): number {
    return this.#freeCount;
  }

  /** A free slot, or NO_SLOT. */
  take(): number {
    if (this.#freeCount === 0) return NO_SLOT;
    this.#freeCount--;
    return at(this.#free, this.#freeCount);
  }

  /**
   * A free slot for bytes to this session's peer; NO_SLOT, or GIVEN_UP where the queue failed. A
   * peer that confirmed bytes before it took them may still read the slot they were sent from:
   * for another session it gets other memory first. So each session has its own again, mostly.
   */
  takeFor(session: number): number {
    const last = this.#freeCount - 1;
    if (last < 0) return NO_SLOT;
    let index = last;
    while (index >= 0 && !this.#isFor(session, index)) index--;
    const taken = at(this.#free, index < 0 ? last : index);
    this.#free[index < 0 ? last : index] = at(this.#free, last);
    this.#freeCount = last;
    return index >= 0 || this.#renew(taken) ? taken : GIVEN_UP;
  }

  #isFor(session: number, index: number): boolean {
    const reader = at(this.reader, at(this.#free, index));
    return reader === session || reader === NOBODY;
  }

  give(slot: number): void {
    assert(this.#freeCount < this.slotCount, 'a slot is given back once');
    this.#free[this.#freeCount] = slot;
    this.#freeCount++;
  }

  /** As `give`, for a slot that the kernel may still refer to; one that is lost fails the queue. */
  giveAnew(slot: number): void {
    if (this.#renew(slot)) this.give(slot);
  }

  #renew(slot: number): boolean {
    this.reader[slot] = NOBODY;
    return this.queue.renew(slot * this.slotBytes);
  }

  addr(slot: number): number {
    return this.queue.stagingAddr + slot * this.slotBytes;
  }
}

/** One GPU, for channels of one size of chunks. */
export class Stager {
  readonly deviceNumber: number;
  readonly slotBytes: number;
  readonly out: SlotPool;
  readonly into: SlotPool;
  readonly device: StagingDevice;
  /** The owner's log knows that it has failed. */
  isReported = false;
  /** The owner's log knows why its chunks go by copy. */
  isRefusalReported = false;

  constructor(
    deviceNumber: number,
    device: StagingDevice,
    shape: { readonly slotBytes: number; readonly slotCount: number },
  ) {
    this.deviceNumber = deviceNumber;
    this.device = device;
    this.slotBytes = shape.slotBytes;
    this.out = new SlotPool(device.out, shape.slotBytes, shape.slotCount);
    this.into = new SlotPool(device.into, shape.slotBytes, shape.slotCount);
  }
}

/** Stands for a GPU that this lane could not open: whatever needs it fails. */
const NO_QUEUE: CopyQueue = {
  stagingAddr: 0,
  isRenewable: false,
  isPrompt: false,
  lastUs: 0,
  isFailed: true,
  error: undefined,
  begin: () => 0,
  add: () => undefined,
  start: () => false,
  poll: () => COPY_FAILED,
  isIdle: () => true,
  finish: () => undefined,
  renew: () => false,
};
const NO_DEVICE: StagingDevice = {
  out: NO_QUEUE,
  into: NO_QUEUE,
  pollEvent: () => COPY_FAILED,
  close: () => undefined,
};

export interface LaneStagingOptions {
  readonly provider: GpuProvider | undefined;
  /** Pinned memory for each direction of a GPU. */
  readonly stagingBytes: number;
}

export class LaneStaging {
  readonly stagers: Stager[] = [];
  /** Device work was under way in this turn: look again soon. Set by the .hot files. */
  isPending = false;
  readonly #options: LaneStagingOptions;
  readonly #devices: number[] = [];

  constructor(options: LaneStagingOptions) {
    this.#options = options;
  }

  /** Opens a GPU for the lane's channels; the error if it could not be. */
  open(device: number, channels: readonly Channel[]): TcpxError | undefined {
    if (this.#devices.includes(device)) return undefined;
    this.#devices.push(device);
    // Every channel gets what there is, working or not; the first failure tells all.
    const failures = channels.map((channel) => this.#give(channel, device));
    return failures.find((failure) => failure !== undefined);
  }

  /** A new channel may use every GPU that is open. */
  attach(channel: Channel): TcpxError | undefined {
    const failures = this.#devices.map((device) => this.#give(channel, device));
    return failures.find((failure) => failure !== undefined);
  }

  /** A failure that nobody was told of yet. */
  takeFailure(): TcpxError | undefined {
    for (const stager of this.stagers) {
      const failure = stager.out.queue.error ?? stager.into.queue.error;
      if (failure === undefined || stager.isReported) continue;
      stager.isReported = true;
      return failure;
    }
    return undefined;
  }

  /** Why a GPU's slots cannot be sent by reference, where nobody was told of it yet. */
  takeRefusal(): TcpxError | undefined {
    for (const stager of this.stagers) {
      const { refusal } = stager.out.queue;
      if (refusal === undefined || stager.isRefusalReported) continue;
      stager.isRefusalReported = true;
      return refusal;
    }
    return undefined;
  }

  close(): void {
    for (const stager of this.stagers.splice(0)) stager.device.close();
    this.#options.provider?.close();
  }

  #give(channel: Channel, device: number): TcpxError | undefined {
    const slotBytes = slotBytesFor(channel.chunkBytesMax);
    const known = this.stagers.find(
      (stager) => stager.deviceNumber === device && stager.slotBytes === slotBytes,
    );
    if (known !== undefined) {
      channel.stagers[device + 1] = known;
      return undefined;
    }
    const wanted = Math.floor(this.#options.stagingBytes / slotBytes);
    const slotCount = Math.min(SLOTS_MAX, Math.max(SLOTS_MIN, wanted));
    const { opened, failure } = this.#openDevice(device, slotBytes, slotCount);
    const shape = { slotBytes, slotCount: failure === undefined ? slotCount : 0 };
    const stager = new Stager(device, opened, shape);
    this.stagers.push(stager);
    channel.stagers[device + 1] = stager;
    return failure;
  }

  #openDevice(device: number, slotBytes: number, slotCount: number) {
    const { provider } = this.#options;
    try {
      if (provider === undefined) throw new TcpxError('ERR_CAP_GPU', 'this lane has no GPUs');
      const shape = { slotBytes, slotCount, blocksMax: TABLE_ENTRIES_MAX };
      return { opened: provider.openStaging(device, shape), failure: undefined };
    } catch (error) {
      const failure = toTcpxError(error, 'ERR_CUDA_CALL', `open GPU ${device} in a lane`);
      return { opened: NO_DEVICE, failure };
    }
  }
}

// Powers of two, so that peers with odd chunk sizes cannot make a lane pin memory for each.
function slotBytesFor(chunkBytes: number): number {
  return Math.max(SLOT_BYTES_MIN, 2 ** Math.ceil(Math.log2(chunkBytes)));
}

export function noStagers(): (Stager | undefined)[] {
  return new Array<Stager | undefined>(GPUS_MAX + 1).fill(undefined);
}
