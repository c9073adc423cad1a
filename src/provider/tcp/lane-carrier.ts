// The addressed carrier: requests in the arena, entries in shared memory, records on the rings of
// lanes. One for all sessions of an engine.

import { assert, at } from '../../base/assert.js';
import type { TcpxError } from '../../base/errors.js';
import type { ChannelIndex, ChunkIndex, Generation, TransferSlot } from '../../base/quantity.js';
import { chooseLane, isFull, type LaneMemory, loadOf } from '../../flow/lane-spread.js';
import { WAY_BYTES_MIN } from '../../flow/send-way.js';
import { HOST_DEVICE } from '../../gpu/staging-device.js';
import type { Arena } from '../../memory/arena.js';
import type { CheckedBlocks } from '../block-columns.js';
import type { Carrier, DataOperation, Outcome, PostExtra, Posted, Prepared } from '../contract.js';
import { type DataPath, stagedPath } from '../receipt.js';
import type { ChannelPlan } from './channel-plan.js';
import {
  type ChosenLanes,
  copiedLimits,
  hasLinks,
  holdersOf,
  LARGE_BYTES,
  LaneSides,
  limitsOf,
} from './chosen-lanes.js';
import { OPERATION_READ, OPERATION_SIGNAL, OPERATION_WRITE } from './lane/layout.js';
import { COMMAND_CANCEL } from './lane/messages.js';
import type { OwnLane } from './lane/own-lane.js';
import { LaneLearning, type LaneLearningOptions } from './lane-learning.js';
import {
  arenaFull,
  planBytes,
  planRequest,
  type RequestPlaces,
  type RequestPlan,
  writeRequest,
} from './lane-request.js';
import type { LaneSet } from './lane-set.js';
import { MessageOrder } from './message-order.js';
import { SmallPosts } from './small-posts.js';
import { TransferMoves } from './transfer-moves.js';
import { outcomeOf } from './transfer-outcome.js';

/** A session as lanes know it. */
export interface LaneSession {
  readonly facts: {
    readonly index: number;
    readonly agreement: { readonly chunkBytes: number; readonly channels: number };
    readonly path: DataPath;
    readonly isSameHost: boolean;
    readonly nics: readonly string[];
    readonly plan: ChannelPlan;
  };
  readonly recovery: {
    readonly book: {
      readonly livingLanes: readonly number[];
      /** Those that were ever given a channel; none before the session is ready. */
      readonly usedLanes: readonly number[];
    };
    /** A channel that was not made yet is worth its connection. */
    want(channel: ChannelIndex): void;
  };
  /** Chunks (−1: the notification) that wait for a channel. */
  readonly stranded: StrandedChunk[];
  readonly isReady: boolean;
  readonly error: TcpxError | undefined;
  isEnding(): boolean;
}

export interface StrandedChunk {
  readonly slot: TransferSlot;
  readonly generation: Generation;
  readonly chunk: ChunkIndex;
  /** A message that waits for those before it, and not for a channel; see MessageOrder. */
  readonly isBehind?: boolean;
}

export interface LaneRequest extends Prepared {
  readonly plan: RequestPlan;
  readonly places: RequestPlaces;
  readonly memory: LaneMemory;
  readonly at: number;
  readonly bytes: number;
}

export interface LaneCarrierOptions extends LaneLearningOptions {
  readonly lanes: LaneSet;
  readonly arena: Arena;
  readonly isCallerDriven: boolean;
  /** What is worth all channels of a session; see LARGE_BYTES. */
  readonly largeBytes?: number | undefined;
  /** Makes the lanes know a GPU. */
  openDevice(device: number): void;
}

/** The notification of a post, in the arena. */
interface Notice {
  readonly notifyAt: number;
  readonly notifyBytes: number;
}

const NO_NOTICE: Notice = { notifyBytes: -1, notifyAt: -1 };

export class LaneCarrier implements Carrier<LaneSession, LaneRequest> {
  readonly capability = 'addressed';
  readonly defaultDeadlineMs = 0;
  readonly #options: LaneCarrierOptions;
  readonly #posted: (Posted<LaneSession> | undefined)[] = [];
  readonly #notices: (Notice | undefined)[] = [];
  /** By slot: the lanes that a transfer may have, and how many of them were told of it. */
  readonly #chosen: ChosenLanes[] = [];
  readonly #holders: number[] = [];
  /** By slot: lanes that were told when it was posted, as bits; others may have joined since. */
  readonly #told: number[] = [];
  readonly #learning: LaneLearning;
  readonly #orders = new WeakMap<LaneSession, MessageOrder>();
  /** This thread has lanes that send as soon as something is posted. */
  readonly #sendsInline: boolean;
  /** Chunks whose channel is gone, and what becomes of them. */
  readonly moves: TransferMoves;
  /** By lane: of the transfers that it was told of and that are not over; see loadOf. */
  readonly #loads: number[];
  readonly #small = new SmallPosts();
  readonly #largeBytes: number;
  readonly #sides: LaneSides;

  constructor(options: LaneCarrierOptions) {
    this.#options = options;
    this.#loads = new Array<number>(options.lanes.count).fill(0);
    this.moves = new TransferMoves(options.lanes, options.table, this.#posted, (posted) =>
      this.#sides.sideOf(posted.session, at(this.#chosen, posted.slot).isOwn),
    );
    this.#learning = new LaneLearning(options);
    this.#largeBytes = options.largeBytes ?? LARGE_BYTES;
    this.#sides = new LaneSides(options.lanes, this.#largeBytes);
    this.#sendsInline = options.isCallerDriven || options.lanes.own !== undefined;
  }

  prepare(session: LaneSession, operation: DataOperation, blocks: CheckedBlocks): LaneRequest {
    const { arena, lanes } = this.#options;
    const memory = memoryOf(blocks);
    const spread = this.#learning.spreadOf(session, operation, memory);
    const { totalBytes } = blocks;
    this.#sides.want(session, totalBytes);
    const chosen = this.#sides.usual(session, totalBytes, memory);
    const limits =
      copiedLimits(session, memory, chosen) ??
      limitsOf(session, spread, totalBytes, chosen, this.#sides.threadsOf(session));
    const plan = planRequest(blocks, limits);
    const bytes = planBytes(plan);
    const place = arena.allocate(bytes);
    if (place < 0) throw arenaFull(bytes);
    return {
      plan,
      places: writeRequest(lanes.shared, lanes.offsets.arenaAt, place, plan),
      memory,
      path: memory === 'plain' ? session.facts.path : stagedPath(session.facts.path),
      chunkCount: plan.chunks.length,
      at: place,
      bytes,
    };
  }

  release(prepared: LaneRequest): void {
    this.#options.arena.free(prepared.at, prepared.bytes);
  }

  open(
    session: LaneSession,
    operation: DataOperation,
    { plan, places, memory }: LaneRequest,
    { notify, source }: PostExtra,
  ): number {
    if (source !== undefined) this.#options.openDevice(source.device);
    const notice = this.#place(notify);
    const spread = this.#learning.spreadOf(session, operation, memory);
    const chosen = this.#sides.now(session, plan.totalBytes, memory, this.#small.hasRoom);
    const holders = holdersOf(chosen.lanes, spread, plan);
    const isPlain = memory === 'plain';
    const isLearning = isPlain && !chosen.isOwn;
    const given = { chosen, holders };
    const isShared = session.facts.path === 'shm';
    const way = isLearning ? this.#learning.wayOf(session, operation, plan, given) : undefined;
    const slot = this.#options.table.allocate({
      operation: operation === 'write' ? OPERATION_WRITE : OPERATION_READ,
      sessionIndex: session.facts.index,
      chunkCount: plan.chunks.length,
      remotesAt: places.remotesAt,
      pairsAt: places.pairsAt,
      chunksAt: places.chunksAt,
      notifyBytes: notice.notifyBytes,
      notifyAt: notice.notifyAt,
      holders,
      isEven: holders === chosen.lanes.length && hasLinks(session),
      isByTurns: this.#learning.isByTurns(session),
      // What is not to be past the cache goes through it.
      isCopied: isShared ? way !== 'splice' : way === 'copy' || (isPlain && chosen.isOwn),
      isStaged: !isPlain,
      source,
    });
    this.#notices[slot] = notice;
    this.#told[slot] = 0;
    this.#holders[slot] = holders;
    this.#chosen[slot] = chosen;
    this.#learning.onOpened(slot, spread, way, source !== undefined);
    return slot;
  }

  submit(posted: Posted<LaneSession>): void {
    const { lanes } = at(this.#chosen, posted.slot);
    this.#posted[posted.slot] = posted;
    this.#learning.onSubmitted(posted, lanes.length);
    if (posted.bytes < this.#largeBytes) this.#small.onPosted();
    for (let told = at(this.#holders, posted.slot); told > 0; told--) {
      const lane = chooseLane(this.#loads, lanes, posted.laneBits, posted.bytes);
      // Many small ones are as good as a large one.
      if (isFull(this.#loads, lane)) this.#sides.want(posted.session, Number.POSITIVE_INFINITY);
      this.#tell(posted, lane);
    }
    this.#send();
  }

  #send(): void {
    if (this.#sendsInline && this.#small.isSendDue()) this.#options.lanes.sendInline();
  }

  /** An entry for a message without data: to the peer's program, or (a signal) to its engine. */
  openMessage(session: LaneSession, bytes: Uint8Array, isSignal: boolean): number {
    const notice = this.#place(bytes);
    const chosen = this.#messageLanes(session, isSignal);
    const isBehind = !isSignal && this.#orderOf(session).isBehind(chosen);
    const slot = this.#options.table.allocate({
      operation: isSignal ? OPERATION_SIGNAL : OPERATION_WRITE,
      sessionIndex: session.facts.index,
      chunkCount: 0,
      remotesAt: 0,
      pairsAt: 0,
      chunksAt: 0,
      notifyBytes: notice.notifyBytes,
      notifyAt: notice.notifyAt,
      holders: isBehind ? 0 : Math.min(1, chosen.lanes.length),
    });
    this.#notices[slot] = notice;
    this.#told[slot] = 0;
    this.#chosen[slot] = chosen;
    return slot;
  }

  // Signals are about channels, and wait for no program that polls.
  #messageLanes(session: LaneSession, isSignal: boolean): ChosenLanes {
    if (isSignal) return this.#sides.threads(session);
    const { hasRoom } = this.#small;
    const way = this.#orderOf(session).way(hasRoom, session.recovery.book.livingLanes);
    return way ?? this.#sides.now(session, 0, 'plain', hasRoom);
  }

  #orderOf(session: LaneSession): MessageOrder {
    const known = this.#orders.get(session);
    if (known !== undefined) return known;
    const order = new MessageOrder();
    this.#orders.set(session, order);
    return order;
  }

  submitMessage(posted: Posted<LaneSession>, isSignal: boolean): void {
    const { session, slot, generation } = posted;
    const chosen = at(this.#chosen, slot);
    this.#posted[slot] = posted;
    this.#small.onPosted();
    const isBehind = !isSignal && this.#orderOf(session).isBehind(chosen);
    if (!isSignal) this.#orderOf(session).onPosted(chosen);
    const [first] = chosen.lanes;
    if (first === undefined || isBehind) {
      session.stranded.push({ slot, generation, chunk: -1, isBehind });
      return;
    }
    // All on one lane: where one channel is served there, messages arrive in their order.
    this.#tell(posted, first);
    this.#send();
  }

  #onMessageOver({ session, slot }: Posted<LaneSession>): void {
    if (this.#options.table.operation(slot) === OPERATION_SIGNAL) return;
    if (this.#orderOf(session).onOver(at(this.#chosen, slot))) this.#tellWaiting(session);
  }

  /** Messages that waited for those before them. */
  #tellWaiting(session: LaneSession): void {
    const [first] = this.#sides.threads(session).lanes;
    for (const one of session.stranded.splice(0)) {
      const { slot, generation, chunk } = one;
      const posted = this.#posted[slot];
      if (one.isBehind !== true || posted?.generation !== generation) {
        session.stranded.push(one);
      } else if (first === undefined || !session.isReady) {
        // For a channel, from now on.
        session.stranded.push({ slot, generation, chunk });
      } else {
        this.#options.table.addHolder(slot);
        this.#tell(posted, first);
      }
    }
  }

  #tell(posted: Posted<LaneSession>, lane: number): void {
    posted.laneBits |= 1 << lane;
    this.#told[posted.slot] = posted.laneBits;
    this.#loads[lane] = at(this.#loads, lane) + loadOf(posted.bytes);
    this.#options.lanes.submit(lane, posted.slot);
  }

  cancel({ session, slot, generation }: Posted<LaneSession>): void {
    const { lanes, table } = this.#options;
    const lane = session.recovery.book.usedLanes.find((one) => lanes.isAlive(one));
    if (lane === undefined) return;
    table.addHolder(slot);
    lanes.command(lane, COMMAND_CANCEL, [slot, generation]);
    this.moves.onCancelled(session, slot);
  }

  /** Where this thread sleeps for its answer, if no lane's thread would see that. */
  sleeperFor(slot: TransferSlot): OwnLane | undefined {
    const { own } = this.#options.lanes;
    return own?.lane.hasFlight === true && at(this.#chosen, slot).isOwn ? own : undefined;
  }

  outcome(posted: Posted<LaneSession>, failure: number): Outcome {
    const notice = this.#notices[posted.slot];
    assert(notice !== undefined, 'the entry is open');
    const hasNotice = notice.notifyBytes >= 0;
    const outcome = outcomeOf(this.#options.table, posted, hasNotice, failure);
    if (posted.chunks === 0) return outcome;
    const { slot, bytes } = posted;
    const given = { chosen: at(this.#chosen, slot), holders: at(this.#holders, slot) };
    if (failure === 0) this.#learning.onDone(posted, given, at(this.#told, slot));
    if (bytes < WAY_BYTES_MIN) return outcome;
    return { ...outcome, choices: this.#learning.choices(posted, given) };
  }

  close(posted: Posted<LaneSession>): void {
    const { slot, bytes, chunks } = posted;
    if (chunks === 0) this.#onMessageOver(posted);
    if (chunks === 0 || bytes < this.#largeBytes) this.#small.onOver();
    const load = loadOf(bytes);
    const told = at(this.#told, slot);
    for (let lane = 0; told >>> lane !== 0; lane++) {
      if ((told & (1 << lane)) === 0) continue;
      assert(at(this.#loads, lane) >= load, 'a lane is let go of what it was told');
      this.#loads[lane] = at(this.#loads, lane) - load;
    }
    this.#told[slot] = 0;
    const notice = this.#notices[slot];
    assert(notice !== undefined, 'the entry is open');
    this.#notices[slot] = undefined;
    this.#posted[slot] = undefined;
    if (notice.notifyAt >= 0) this.#options.arena.free(notice.notifyAt, notice.notifyBytes);
  }

  #place(message: Uint8Array | undefined): Notice {
    if (message === undefined) return NO_NOTICE;
    const { arena, lanes } = this.#options;
    const notifyAt = arena.allocate(message.length);
    if (notifyAt < 0) throw arenaFull(message.length);
    lanes.shared.uint8.set(message, lanes.offsets.arenaAt + notifyAt);
    return { notifyBytes: message.length, notifyAt };
  }
}

function memoryOf({ locals, remotes }: CheckedBlocks): LaneMemory {
  const isOnDevice = (place: { readonly device?: number }): boolean => place.device !== undefined;
  if (!locals.some(isOnDevice) && !remotes.some(isOnDevice)) return 'plain';
  return locals.every(({ device }) => device === HOST_DEVICE) ? 'copied' : 'staged';
}
