// The state of one lane: its channels, what is posted on each session, its rings. The same core
// runs in a worker thread or, without threads, inside the caller.

import { assert } from '../../../base/assert.js';
import type { Clock } from '../../../base/clock.js';
import { FLOAT_ZERO } from '../../../base/float-zero.js';
import type { TransferSlot } from '../../../base/quantity.js';
import { SESSION_BLOCK, ZERO_COPY_COUNTERS } from '../../../base/shared-layout.js';
import { LINK_FLOATS } from '../../../flow/link-share.hot.js';
import { type RegionTable, regionTableOver } from '../../../memory/region-table.js';
import { type FixedMemory, type MemorySource, ReusedMemory } from '../../../os/fixed-memory.js';
import { RecordRing, RING_HEADER_BYTES } from '../../../os/record-ring.js';
import type { SendBy, SendBySetting } from '../port/stream-port.js';
import type { Channel } from './channel.js';
import {
  COMMAND_RING_BYTES,
  EVENT_RING_BYTES,
  LANE_CONTROL_BYTES,
  LANE_ZERO_COPY,
  SESSION_CHANNELS,
  type SharedShape,
  sharedOffsets,
} from './layout.js';
import { LaneStaging, type LaneStagingOptions } from './stager.js';

/** Bytes of a refused or cancelled payload go here. */
export const SINK_BYTES = 256 * 1024;

export interface LaneCoreOptions {
  readonly shared: FixedMemory;
  readonly shape: SharedShape;
  readonly laneIndex: number;
  /** Turns for which an acknowledgement waits for a frame to ride on: 1 when callers drive. */
  readonly ackDelayTurns: number;
  readonly sendBy: SendBySetting;
  /** Where GPUs come from, and how much memory is pinned for each; none without. */
  readonly staging?: LaneStagingOptions;
  /** How long a channel with something in flight may stand still. */
  readonly stallUs: number;
  /** What all channels of this lane together may receive at a time. */
  readonly receiveBytes: number;
  /** What all channels of this lane together may leave unsent in the kernel; no limit without. */
  readonly sendBytes?: number | undefined;
  /** Where the memory of channels comes from; mapped for each unless a simulation keeps it. */
  readonly memory?: MemorySource;
  /** By which regions expire; the system's unless a simulation has its own. */
  readonly clock?: Clock | undefined;
}

const NO_STAGING: LaneStagingOptions = { provider: undefined, stagingBytes: 0 };

/** Transfers of one session that wait in this lane, as intrusive lists. */
export class SessionLane {
  isOpen = false;
  /** Counts the sessions of this lane: a later one with the same index has another. */
  number = FLOAT_ZERO;
  /** Channels of the session that this lane can send on. */
  openChannels = 0;
  /** Those of them that take turns, where one pulls at a time; see pull-turns.ts. */
  readonly pullers: Channel[] = [];
  activeHead = -1;
  activeTail = -1;
  notifyHead = -1;
  notifyTail = -1;
  /** Chunks whose channel is gone, to be sent before others: slot and chunk in turn. */
  readonly retries: number[] = [];
}

export class LaneCore {
  readonly laneIndex: number;
  readonly int32: Int32Array;
  readonly uint32: Uint32Array;
  readonly uint8: Uint8Array;
  readonly float64: Float64Array;
  readonly sharedAddr: number;
  readonly transfersAt: number;
  readonly sessionsAt: number;
  readonly arenaAt: number;
  readonly controlAt: number;
  readonly regions: RegionTable;
  readonly commands: RecordRing;
  readonly events: RecordRing;
  readonly sessions: readonly SessionLane[];
  sessionsOpened = FLOAT_ZERO;
  readonly channels: Channel[] = [];
  /** Closed, with frames in flight that only the peer's fence settles. */
  readonly parked: Channel[] = [];
  /** Settled, with chunks that have to be handed back as the event ring takes them. */
  readonly leaving: Channel[] = [];
  /** Transfer of the chunk that was claimed last. */
  claimedSlot: TransferSlot = -1;
  readonly nextActive: Int32Array;
  readonly nextNotify: Int32Array;
  readonly sink: FixedMemory;
  readonly memory: MemorySource;
  readonly staging: LaneStaging;
  readonly ackDelayTurns: number;
  readonly sendBy: SendBy;
  /** Whether a transfer may say that it goes by copy. */
  readonly isWayOpen: boolean;
  readonly stallUs: number;
  readonly receiveBytes: number;
  readonly sendBytes: number;
  /** What each channel may leave unsent; 0 is no limit. */
  unsentShare = 0;
  /** When the health of the channels was looked at last. */
  healthUs = FLOAT_ZERO;
  /** Time of the current turn, set by whoever steps the lane. */
  nowUs = FLOAT_ZERO;
  /** Events were written that the main thread may sleep on. */
  hasNews = false;
  /** Transfers finished since the last wake-up of blocking waiters. */
  hasFinished = false;

  constructor(options: LaneCoreOptions) {
    const { shared, shape, laneIndex } = options;
    const offsets = sharedOffsets(shape);
    this.laneIndex = laneIndex;
    this.int32 = shared.int32;
    this.uint32 = shared.uint32;
    this.uint8 = shared.uint8;
    this.float64 = shared.float64;
    this.sharedAddr = shared.addr;
    this.transfersAt = offsets.transfersAt;
    this.sessionsAt = offsets.sessionsAt;
    this.arenaAt = offsets.arenaAt;
    this.controlAt = offsets.lanesAt + laneIndex * offsets.laneBytes;
    const { regionsAt } = offsets;
    this.regions = regionTableOver(shared, regionsAt, shape.regionCount, options.clock);
    const rings = laneRings(shared, this.controlAt);
    this.commands = rings.commands;
    this.events = rings.events;
    this.sessions = Array.from({ length: shape.sessionCount }, () => new SessionLane());
    this.nextActive = new Int32Array(shape.transferCount).fill(-1);
    this.nextNotify = new Int32Array(shape.transferCount).fill(-1);
    this.memory = options.memory ?? new ReusedMemory();
    this.sink = this.memory.create(SINK_BYTES);
    this.staging = new LaneStaging(options.staging ?? NO_STAGING);
    this.ackDelayTurns = options.ackDelayTurns;
    this.isWayOpen = options.sendBy === 'auto';
    this.sendBy = options.sendBy === 'auto' ? 'splice' : options.sendBy;
    this.stallUs = options.stallUs;
    this.receiveBytes = options.receiveBytes;
    this.sendBytes = options.sendBytes ?? Number.POSITIVE_INFINITY;
  }
}

export function sessionLane(core: LaneCore, sessionIndex: number): SessionLane {
  const session = core.sessions[sessionIndex];
  assert(session !== undefined, `session ${sessionIndex} is in the table`);
  return session;
}

/** Where a channel says what it delivers and has in flight. */
export function linkOf(core: LaneCore, sessionIndex: number, channelIndex: number): Float64Array {
  const first = linksAt(core, sessionIndex) + channelIndex * LINK_FLOATS;
  return core.float64.subarray(first, first + LINK_FLOATS);
}

/** Index of the first channel's, in Float64. */
export function linksAt(core: LaneCore, sessionIndex: number): number {
  return (core.sessionsAt + sessionIndex * SESSION_BLOCK.bytes) / 8 + SESSION_CHANNELS;
}

/** What a lane holds besides the shared memory; it must not step any more. */
export function destroyLaneCore(core: LaneCore): void {
  for (const channel of core.channels.splice(0)) channel.destroy();
  core.staging.close();
  core.memory.destroy(core.sink);
  core.memory.end?.();
}

/** Where the port of a channel counts its sends by reference. */
export function zeroCopyCounters(core: LaneCore, channelIndex: number): Float64Array {
  const first = core.controlAt / 8 + LANE_ZERO_COPY + channelIndex * ZERO_COPY_COUNTERS;
  return core.float64.subarray(first, first + ZERO_COPY_COUNTERS);
}

export function laneRings(shared: FixedMemory, controlAt: number) {
  const commandsAt = controlAt + LANE_CONTROL_BYTES;
  const eventsAt = commandsAt + RING_HEADER_BYTES + COMMAND_RING_BYTES;
  return {
    commands: new RecordRing(shared, commandsAt, COMMAND_RING_BYTES),
    events: new RecordRing(shared, eventsAt, EVENT_RING_BYTES),
  };
}
