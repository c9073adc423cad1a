// One end of a session for tests of the data plane: a lane core over virtual ports, with its
// regions, transfers and rings, stepped by the test. No thread, no socket, no clock.

import { Arena } from '../../src/memory/arena.js';
import { RegionRegistry } from '../../src/memory/region.js';
import { regionTableOver } from '../../src/memory/region-table.js';
import {
  createFixedMemory,
  destroyFixedMemory,
  type FixedMemory,
} from '../../src/os/fixed-memory.js';
import {
  peekRecord,
  publishRecords,
  recordKind,
  releaseRecord,
  reserveRecord,
} from '../../src/os/record-ring.hot.js';
import { NOTIFICATION_EVENT_BYTES } from '../../src/os/record-ring.js';
import { type Block, checkBlocks } from '../../src/provider/block-columns.js';
import type { SourceEvent } from '../../src/provider/contract.js';
import { CHANNEL_BOTH } from '../../src/provider/tcp/channel-plan.js';
import type { LaneHooks, PortOrder } from '../../src/provider/tcp/lane/lane-commands.js';
import { destroyLaneCore, LaneCore, laneRings } from '../../src/provider/tcp/lane/lane-core.js';
import { stepLane } from '../../src/provider/tcp/lane/lane-step.hot.js';
import {
  OPERATION_READ,
  OPERATION_WRITE,
  sharedOffsets,
} from '../../src/provider/tcp/lane/layout.js';
import * as messages from '../../src/provider/tcp/lane/messages.js';
import { planBytes, planRequest, writeRequest } from '../../src/provider/tcp/lane-request.js';
import type { StreamPort } from '../../src/provider/tcp/port/stream-port.js';
import { SIGNAL_ENTRIES, TransferTable } from '../../src/provider/tcp/transfer-table.js';
import { openGpuProvider } from './simulated-gpu.js';

/** Steps count 10 µs each. */
const STALL_US = 600_000;

const SHAPE = {
  regionCount: 32,
  transferCount: 64 + SIGNAL_ENTRIES,
  sessionCount: 4,
  laneCount: 1,
  arenaBytes: 4 * 1024 * 1024,
};

/** Few slots, so that they run out. */
const STAGING_BYTES = 2 * 1024 * 1024;

export interface LaneAgreement {
  readonly channels: number;
  readonly windowChunks: number;
  readonly chunkBytes: number;
  readonly isChecked?: boolean;
  readonly receiveBytes?: number;
  /** Of the channels one pulls each transfer. */
  readonly isByTurns?: boolean;
  /** Its transfers ask for a copy, as those do that are not to go by reference. */
  readonly isCopied?: boolean;
}

export interface LaneEvent {
  readonly kind: number;
  readonly words: readonly number[];
  readonly bytes: Uint8Array;
}

function simulatedStaging(seed: number) {
  return { provider: openGpuProvider(seed), stagingBytes: STAGING_BYTES };
}

export class LaneEnd implements LaneHooks {
  readonly shared: FixedMemory;
  readonly core: LaneCore;
  readonly regions: RegionRegistry;
  readonly transfers: TransferTable;
  readonly events: LaneEvent[] = [];
  /** What each port was asked for with. */
  readonly orders: PortOrder[] = [];
  readonly #arena = new Arena(SHAPE.arenaBytes);
  readonly #agreement: LaneAgreement;
  readonly #ports: StreamPort[] = [];
  readonly #rings: ReturnType<typeof laneRings>;
  readonly #offsets = sharedOffsets(SHAPE);
  #nowUs = 0;
  /** False: the main thread does not look, and events pile up in their ring. */
  isDraining = true;

  /** With a seed, the lane has simulated GPUs that are slow by it. */
  constructor(agreement: LaneAgreement, gpuSeed?: number) {
    this.#agreement = agreement;
    this.shared = createFixedMemory(this.#offsets.totalBytes, { isReserveOnly: true });
    this.core = new LaneCore({
      shared: this.shared,
      shape: SHAPE,
      laneIndex: 0,
      ackDelayTurns: 0,
      sendBy: 'copy',
      ...(gpuSeed === undefined ? {} : { staging: simulatedStaging(gpuSeed) }),
      stallUs: STALL_US,
      receiveBytes: agreement.receiveBytes ?? Number.POSITIVE_INFINITY,
    });
    // The main thread's own cursors over the same rings.
    this.#rings = laneRings(this.shared, this.core.controlAt);
    const table = regionTableOver(this.shared, this.#offsets.regionsAt, SHAPE.regionCount);
    this.regions = new RegionRegistry(table);
    const { transfersAt } = this.#offsets;
    this.transfers = new TransferTable(this.shared, transfersAt, SHAPE.transferCount);
  }

  addChannel(port: StreamPort, session = 0, whose: number = CHANNEL_BOTH): void {
    const index = this.#ports.push(port) - 1;
    const { windowChunks, chunkBytes, channels, isChecked } = this.#agreement;
    const channel = session === 0 ? index : 0;
    const words = [index, session, channel, 0, windowChunks, chunkBytes, channels];
    words.push(isChecked === true ? 1 : 0, whose, 0, 0, 0);
    this.command(messages.COMMAND_ADD_CHANNEL, words);
  }

  command(kind: number, words: readonly number[]): void {
    const at = reserveRecord(this.#rings.commands, kind, words.length * 4);
    words.forEach((word, index) => (this.shared.int32[(at >> 2) + index] = word));
    publishRecords(this.#rings.commands);
  }

  /** Prepares and hands over; returns the slot. */
  post(
    operation: 'write' | 'read',
    blocks: readonly Block[],
    notify?: Uint8Array,
    source?: SourceEvent,
    sessionIndex = 0,
  ): number {
    const plan = planRequest(checkBlocks(blocks), this.#agreement);
    const at = this.#arena.allocate(planBytes(plan));
    const places = writeRequest(this.shared, this.#offsets.arenaAt, at, plan);
    return this.submit({
      operation: operation === 'write' ? OPERATION_WRITE : OPERATION_READ,
      chunkCount: plan.chunks.length,
      ...places,
      notify,
      source,
      isStaged: true,
      sessionIndex,
    });
  }

  /** As the engine does: whoever cancels holds the entry until the lane has seen it. */
  cancel(slot: number, generation = this.transfers.generation(slot)): void {
    this.transfers.addHolder(slot);
    this.command(messages.COMMAND_CANCEL, [slot, generation]);
  }

  notify(message: Uint8Array): number {
    const places = { remotesAt: 0, pairsAt: 0, chunksAt: 0 };
    return this.submit({ operation: OPERATION_WRITE, chunkCount: 0, ...places, notify: message });
  }

  submit(entry: {
    readonly operation: number;
    readonly chunkCount: number;
    readonly remotesAt: number;
    readonly pairsAt: number;
    readonly chunksAt: number;
    readonly notify: Uint8Array | undefined;
    readonly source?: SourceEvent | undefined;
    readonly isStaged?: boolean;
    readonly sessionIndex?: number;
  }): number {
    const { notify, sessionIndex = 0, ...rest } = entry;
    let notifyAt = -1;
    if (notify !== undefined) {
      notifyAt = this.#arena.allocate(notify.length);
      this.shared.uint8.set(notify, this.#offsets.arenaAt + notifyAt);
    }
    const notifyBytes = notify?.length ?? -1;
    const slot = this.transfers.allocate({
      ...rest,
      isByTurns: this.#agreement.isByTurns === true,
      isCopied: this.#agreement.isCopied === true,
      sessionIndex,
      notifyAt,
      notifyBytes,
      holders: 1,
    });
    this.command(messages.COMMAND_SUBMIT, [slot]);
    return slot;
  }

  /** One turn, as if every port had become ready; true when something moved. */
  step(): boolean {
    for (const channel of this.core.channels) channel.ready.tryAll(true);
    // Copies that are over at once take time within a turn.
    this.#nowUs = Math.max(this.#nowUs, this.core.nowUs) + 10;
    const moved = stepLane(this.core, this, this.#nowUs, true);
    if (this.isDraining) this.drain();
    return moved > 0;
  }

  drain(): void {
    const ring = this.#rings.events;
    for (let at = peekRecord(ring); at >= 0; at = peekRecord(ring)) {
      const kind = recordKind(ring, at);
      const words = [...this.shared.int32.subarray(at >> 2, (at >> 2) + 16)];
      const isText = kind === messages.EVENT_NOTIFICATION;
      const first = at + NOTIFICATION_EVENT_BYTES;
      const bytes = this.shared.uint8.slice(first, first + (isText ? (words[1] ?? 0) : 0));
      this.events.push({ kind, words, bytes });
      releaseRecord(ring, at);
    }
  }

  eventsOf(kind: number): LaneEvent[] {
    return this.events.filter((event) => event.kind === kind);
  }

  isFinished(slot: number): boolean {
    return this.transfers.isFinished(slot);
  }

  /** Nothing of this end may be touched afterwards. */
  destroy(): void {
    destroyLaneCore(this.core);
    destroyFixedMemory(this.shared);
  }

  openPort(order: PortOrder): StreamPort {
    this.orders.push(order);
    const port = this.#ports[order.fd];
    if (port === undefined) throw new Error(`no port ${order.fd}`);
    return port;
  }

  onChannelAdded(): void {
    // Every step looks at every channel.
  }

  onChannelRemoved(): void {
    // Every step looks at every channel.
  }
}
