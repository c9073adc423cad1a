// The lanes of an engine: shared memory, worker threads or a core inside the caller, commands to
// them and events from them.

import type { Worker } from 'node:worker_threads';
import { assert } from '../../base/assert.js';
import { TcpxError, toTcpxError } from '../../base/errors.js';
import type { LaneIndex, TransferSlot } from '../../base/quantity.js';
import { limitSpareTables } from '../../ffi/libc/message.js';
import type { GpuProvider } from '../../gpu/staging-device.js';
import {
  type FixedMemory,
  type MemorySource,
  mappedMemory,
  placeFixedMemory,
} from '../../os/fixed-memory.js';
import { closeDoorbell, createDoorbell, ringDoorbell } from '../../os/readiness.js';
import {
  peekRecord,
  publishRecords,
  recordKind,
  releaseRecord,
  reserveRecord,
} from '../../os/record-ring.hot.js';
import type { RecordRing } from '../../os/record-ring.js';
import { yieldCpu } from '../../os/thread.js';
import { WakePipe } from '../../os/wake-pipe.js';
import { InlineLane, type InlineLaneOptions } from './lane/inline-lane.js';
import { LaneCore, laneRings } from './lane/lane-core.js';
import {
  ENGINE_MAIN_SLEEPS,
  LANE_SLEEPS,
  LANE_STOP,
  type SharedOffsets,
  type SharedShape,
  sharedOffsets,
} from './lane/layout.js';
import { COMMAND_ADD_CHANNEL, COMMAND_SUBMIT } from './lane/messages.js';
import { OwnLane, type OwnLaneHost, type OwnLaneUse } from './lane/own-lane.js';
import { Resting } from './lane/resting.js';
import { type LaneStats, readLaneStats } from './lane-stats.js';
import { newLaneThread } from './lane-thread.js';
import type { SendBySetting } from './port/stream-port.js';
import { readZeroCopy, type ZeroCopyStats } from './zero-copy-stats.js';

/** A few looks take less than the yield; a thread that polls now and then does not reach it. */
const LOOKS_BEFORE_YIELD = 16;
/** Who drives its own lanes waits for the peer alone, and no look of it is in vain for long. */
const DRIVEN_LOOKS_BEFORE_YIELD = 64;

export interface LaneSetOptions {
  readonly shape: SharedShape;
  readonly progress: 'lanes' | 'caller';
  readonly spinUs: number;
  /** CPUs per lane; an empty list leaves the lane unpinned. */
  readonly cpus: readonly (readonly number[])[];
  /** NUMA node per lane; undefined leaves its memory to the kernel. */
  readonly nodes: readonly (number | undefined)[];
  readonly controlFd: number;
  readonly sendBy: SendBySetting;
  readonly staging: StagingChoice;
  readonly stallUs: number;
  readonly receiveBytes: number;
  /** No limit without: a simulation has no kernel. */
  readonly sendBytes?: number;
  /** Tables of closed connections that a thread keeps. */
  readonly spareTables: number;
  /** Only without threads: where ports and time come from. */
  readonly inline?: InlineLaneOptions;
  /** Where memory comes from; mapped unless a simulation keeps it from run to run. */
  readonly memory?: MemorySource;
  /**
   * Beside threads: the last of the lanes is driven by the thread that opens the set, which has to
   * look for it.
   */
  readonly own?: OwnLaneChoice | undefined;
  /** All threads but the first start with the first channel that they are given. */
  readonly startsLate?: boolean | undefined;
  onEvent(laneIndex: LaneIndex, kind: number, at: number): void;
  /** Something happened while the main thread slept. */
  onWake(): void;
  onLaneFailed(laneIndex: LaneIndex, error: Error): void;
}

export interface OwnLaneChoice {
  readonly use: OwnLaneUse;
  readonly host: OwnLaneHost;
}

/** How lanes reach GPUs. */
export interface StagingChoice {
  readonly stagingBytes: number;
  /** Module that stands in for CUDA; empty: CUDA. */
  readonly gpuModule: string;
  /** For a lane inside the caller; undefined where there is none. */
  openProvider(): GpuProvider | undefined;
}

interface LaneHandle {
  readonly controlAt: number;
  readonly commands: RecordRing;
  readonly events: RecordRing;
  readonly doorbellFd: number;
  worker: Worker | undefined;
  /** Its thread ended by an error: it answers no command. */
  isDead: boolean;
}

export class LaneSet {
  readonly shared: FixedMemory;
  readonly offsets: SharedOffsets;
  readonly #options: LaneSetOptions;
  readonly #lanes: LaneHandle[] = [];
  /** The lanes themselves where no threads run them. */
  readonly inline: readonly InlineLane[];
  /** The one beside threads. */
  readonly own: OwnLane | undefined;
  readonly #wakePipe: WakePipe | undefined;
  #isClosing = false;
  /** Looks of the main thread since the last that found something. */
  #looks = 0;

  constructor(options: LaneSetOptions) {
    this.#options = options;
    limitSpareTables(options.spareTables);
    this.offsets = sharedOffsets(options.shape);
    const memory = options.memory ?? mappedMemory;
    this.shared = memory.create(this.offsets.totalBytes, { isReserveOnly: true });
    for (let index = 0; index < options.shape.laneCount; index++) {
      const controlAt = this.offsets.lanesAt + index * this.offsets.laneBytes;
      const doorbellFd = this.#hasThread(index) ? createDoorbell() : -1;
      this.#place(index, controlAt);
      const rings = laneRings(this.shared, controlAt);
      this.#lanes.push({ controlAt, ...rings, doorbellFd, worker: undefined, isDead: false });
    }
    const isCallerDriven = options.progress === 'caller';
    this.own = options.own && this.#ownLane(options.own);
    this.inline = isCallerDriven ? this.#lanes.map((_, index) => this.#inlineLane(index)) : [];
    if (!isCallerDriven) this.#wakePipe = new WakePipe(() => options.onWake());
  }

  // Before anybody touches its rings.
  #place(laneIndex: LaneIndex, controlAt: number): void {
    const node = this.#options.nodes[laneIndex];
    if (node === undefined) return;
    placeFixedMemory(this.shared, controlAt, this.offsets.laneBytes, node);
  }

  #hasThread(laneIndex: LaneIndex): boolean {
    const { progress, shape, own } = this.#options;
    const isOwn = own !== undefined && laneIndex === shape.laneCount - 1;
    return progress === 'lanes' && !isOwn;
  }

  #ownLane({ use, host }: OwnLaneChoice): OwnLane {
    assert(this.#options.progress === 'lanes', 'it is the one beside lanes with threads');
    assert(this.#lanes.length > 1, 'there are lanes with threads beside it');
    const resting = new Resting();
    const lane = this.#inlineLane(this.threadCount, { resting, isUnasked: use === 'posts' });
    return new OwnLane(use, lane, resting, host);
  }

  /** Lanes without the one that is this thread's own. */
  get threadCount(): number {
    return this.#lanes.length - (this.#options.own === undefined ? 0 : 1);
  }

  #inlineLane(laneIndex: LaneIndex, more: InlineLaneOptions = {}): InlineLane {
    const { shape, sendBy, stallUs, inline, memory } = this.#options;
    const { receiveBytes, sendBytes, staging } = this.#options;
    const core = new LaneCore({
      shared: this.shared,
      shape,
      laneIndex,
      ackDelayTurns: 1,
      sendBy,
      staging: { provider: staging.openProvider(), stagingBytes: staging.stagingBytes },
      stallUs,
      receiveBytes,
      sendBytes,
      clock: inline?.clock,
      ...(memory === undefined ? {} : { memory }),
    });
    return new InlineLane(core, { ...inline, ...more });
  }

  get count(): number {
    return this.#lanes.length;
  }

  /** Whether the lane still answers commands. */
  isAlive(laneIndex: LaneIndex): boolean {
    return !this.#lane(laneIndex).isDead;
  }

  /** Starts the threads and waits until each runs. */
  async start(): Promise<void> {
    if (this.inline.length > 0) return;
    const threads = this.#lanes.slice(0, this.#options.startsLate === true ? 1 : this.threadCount);
    await Promise.all(threads.map((lane, index) => this.#startWorker(lane, index)));
    Atomics.store(this.shared.int32, ENGINE_MAIN_SLEEPS, 1);
  }

  #startWorker(lane: LaneHandle, laneIndex: LaneIndex): Promise<void> {
    const worker = newLaneThread(this.#options, {
      shared: this.shared,
      laneIndex,
      doorbellFd: lane.doorbellFd,
      wakeFd: this.#wakePipe?.writeFd ?? -1,
    });
    lane.worker = worker;
    return new Promise((resolve, reject) => {
      worker.once('message', () => {
        // The pipe keeps the process alive while the engine is open; a lane alone does not.
        worker.unref();
        resolve();
      });
      const onFailed = (error: Error): void => {
        lane.isDead = true;
        reject(error);
        this.#options.onLaneFailed(laneIndex, error);
      };
      worker.once('exit', (code) => {
        lane.worker = undefined;
        const isStopped = this.#isClosing || lane.isDead;
        if (!isStopped) onFailed(new TcpxError('ERR_SYS_CALL', `the thread ended with ${code}`));
      });
      worker.on('error', onFailed);
    });
  }

  /** Hands a command to a lane and wakes it if it sleeps. */
  command(laneIndex: LaneIndex, kind: number, words: readonly number[]): void {
    const lane = this.#lane(laneIndex);
    const at = reserveRecord(lane.commands, kind, words.length * 4);
    // The ring holds a record per transfer entry and chunk in flight, and then some.
    assert(at >= 0, 'command ring has room');
    for (const [index, word] of words.entries()) lane.commands.int32[(at >> 2) + index] = word;
    publishRecords(lane.commands);
    const isLate = kind === COMMAND_ADD_CHANNEL && lane.worker === undefined && !lane.isDead;
    if (isLate && lane.doorbellFd >= 0) void this.#startLate(lane, laneIndex);
    else this.#ring(lane);
  }

  async #startLate(lane: LaneHandle, laneIndex: LaneIndex): Promise<void> {
    try {
      await this.#startWorker(lane, laneIndex);
    } catch (error) {
      // Told already, unless there was no thread to be had.
      if (lane.isDead) return;
      lane.isDead = true;
      this.#options.onLaneFailed(laneIndex, toTcpxError(error, 'ERR_SYS_CALL', 'start a thread'));
    }
  }

  commandAll(kind: number, words: readonly number[]): void {
    for (let lane = 0; lane < this.count; lane++) this.command(lane, kind, words);
  }

  /** The command of the hot path, without an array. */
  submit(laneIndex: LaneIndex, slot: TransferSlot): void {
    const lane = this.#lane(laneIndex);
    const at = reserveRecord(lane.commands, COMMAND_SUBMIT, 4);
    assert(at >= 0, 'command ring has room');
    lane.commands.int32[at >> 2] = slot;
    publishRecords(lane.commands);
    this.#ring(lane);
  }

  #lane(laneIndex: LaneIndex): LaneHandle {
    const lane = this.#lanes[laneIndex];
    if (lane === undefined) throw new TcpxError('ERR_USAGE_ARGUMENT', `no lane ${laneIndex}`);
    return lane;
  }

  // Only a lane that has said it sleeps costs a system call.
  #ring(lane: LaneHandle): void {
    if (lane.doorbellFd < 0) {
      this.own?.ring();
      return;
    }
    const sleeps = lane.controlAt / 4 + LANE_SLEEPS;
    if (Atomics.exchange(this.shared.int32, sleeps, 0) === 1) ringDoorbell(lane.doorbellFd);
  }

  /**
   * Moves what can be moved now. Whoever looks again and again in vain lets others have the core:
   * threads, or peers, may be waiting for it.
   */
  progress(): number {
    if (this.inline.length === 0) {
      const moved = this.own?.poll() ?? 0;
      // Who holds the lane has other work as well, and yields by itself.
      const isAlone = moved === 0 && this.own?.isHeld !== true;
      if (isAlone && ++this.#looks > LOOKS_BEFORE_YIELD) yieldCpu();
      return moved;
    }
    let moved = 0;
    for (let index = 0; index < this.inline.length; index++) moved += this.stepInline(index);
    // The peer, or what it waits for, may be on this core.
    if (moved > 0) this.#looks = 0;
    else if (++this.#looks > DRIVEN_LOOKS_BEFORE_YIELD) yieldCpu();
    return moved;
  }

  /** Moves what this thread's own lane can move now, where there is one beside threads. */
  look(): number {
    return this.own?.look() ?? 0;
  }

  /** Without threads: moves what one lane can move now. */
  stepInline(laneIndex: LaneIndex): number {
    return this.inline[laneIndex]?.step() ?? 0;
  }

  /** Sends what this thread's lanes can send now; what has arrived is for the next poll. */
  sendInline(): void {
    for (const lane of this.inline) lane.stepSend();
    this.own?.lane.stepSend();
  }

  /** Hands every waiting event to the owner. */
  takeEvents(): number {
    let count = 0;
    for (let laneIndex = 0; laneIndex < this.#lanes.length; laneIndex++) {
      const lane = this.#lane(laneIndex);
      for (let at = peekRecord(lane.events); at >= 0; at = peekRecord(lane.events)) {
        try {
          this.#options.onEvent(laneIndex, recordKind(lane.events, at), at);
        } finally {
          // Also after an error: the same event must not come again.
          releaseRecord(lane.events, at);
        }
        count++;
      }
    }
    if (count > 0) this.#looks = 0;
    return count;
  }

  /** Whether the process stays for the sake of the lanes; without threads it does not. */
  hold(isHeld: boolean): void {
    this.#wakePipe?.hold(isHeld);
  }

  /** The main thread goes back to its event loop: lanes shall wake it. False: not yet. */
  sleepMain(): boolean {
    Atomics.store(this.shared.int32, ENGINE_MAIN_SLEEPS, 1);
    return this.own?.rest() ?? true;
  }

  stats(): LaneStats[] {
    return this.#lanes.map(({ controlAt, worker }, index) => ({
      ...readLaneStats(this.shared.float64, controlAt / 8, worker !== undefined),
      pinnedTo: this.#options.cpus[index] ?? [],
    }));
  }

  /** Zero-copy sends by channel index, all sessions and lanes together; empty where it is off. */
  zeroCopy(): ZeroCopyStats[] {
    if (this.#options.sendBy === 'copy') return [];
    const controlsAt = this.#lanes.map((lane) => lane.controlAt);
    return readZeroCopy(this.shared.float64, controlsAt);
  }

  /** Ends the threads, tells so, and frees the memory; nothing may touch it afterwards. */
  async close(onStopped: () => void = () => undefined): Promise<void> {
    this.#isClosing = true;
    // Channels that were handed to it last are taken, and so closed.
    this.look();
    await Promise.all(
      this.#lanes.map(async (lane) => {
        if (lane.worker !== undefined) {
          const exited = new Promise<void>((resolve) => lane.worker?.once('exit', () => resolve()));
          Atomics.store(this.shared.int32, lane.controlAt / 4 + LANE_STOP, 1);
          ringDoorbell(lane.doorbellFd);
          lane.worker.ref();
          await exited;
        }
        if (lane.doorbellFd >= 0) closeDoorbell(lane.doorbellFd);
      }),
    );
    onStopped();
    for (const lane of this.inline) lane.close();
    this.own?.close();
    // A connect that fails behind the end finds nobody to tell.
    for (const lane of this.#lanes) lane.isDead = true;
    this.#wakePipe?.close();
    (this.#options.memory ?? mappedMemory).destroy(this.shared);
  }
}
