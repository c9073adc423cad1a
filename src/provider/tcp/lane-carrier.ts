// The addressed carrier: requests in the arena, entries in shared memory, records on the rings of
// lanes. One for all sessions of an engine.

import { assert, at } from '../../base/assert.js';
import type { Clock } from '../../base/clock.js';
import type { TcpxError } from '../../base/errors.js';
import type { ChunkIndex, Generation, TransferSlot } from '../../base/quantity.js';
import { CHUNK_BYTES_FLOOR } from '../../flow/chunk-plan.js';
import {
  chooseLane,
  type LaneMemory,
  type LaneSpread,
  LaneSpreads,
  loadOf,
} from '../../flow/lane-spread.js';
import { SendWay, type SendWayName, WAY_BYTES_MIN } from '../../flow/send-way.js';
import { HOST_DEVICE } from '../../gpu/staging-device.js';
import type { Arena } from '../../memory/arena.js';
import type { CheckedBlocks } from '../block-columns.js';
import type { Carrier, DataOperation, Outcome, PostExtra, Posted, Prepared } from '../contract.js';
import { type Choice, type DataPath, stagedPath } from '../receipt.js';
import { OPERATION_READ, OPERATION_SIGNAL, OPERATION_WRITE } from './lane/layout.js';
import { COMMAND_CANCEL } from './lane/messages.js';
import {
  type ChosenLanes,
  copiedLimits,
  hasLinks,
  holdersOf,
  LaneSides,
  limitsOf,
  OWN_REASON,
} from './chosen-lanes.js';
import {
  arenaFull,
  planBytes,
  planRequest,
  type RequestPlaces,
  type RequestPlan,
  writeRequest,
} from './lane-request.js';
import type { LaneSet } from './lane-set.js';
import { TransferMoves } from './transfer-moves.js';
import { outcomeOf } from './transfer-outcome.js';
import type { TransferTable } from './transfer-table.js';

/** A session as lanes know it. */
export interface LaneSession {
  readonly facts: {
    readonly index: number;
    readonly agreement: { readonly chunkBytes: number; readonly channels: number };
    readonly path: DataPath;
    readonly nics: readonly string[];
    readonly lanes: readonly number[];
  };
  readonly recovery: { readonly book: { readonly livingLanes: readonly number[] } };
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
}

export interface LaneRequest extends Prepared {
  readonly plan: RequestPlan;
  readonly places: RequestPlaces;
  readonly memory: LaneMemory;
  readonly at: number;
  readonly bytes: number;
}

export interface LaneCarrierOptions {
  readonly lanes: LaneSet;
  readonly arena: Arena;
  readonly table: TransferTable;
  readonly isCallerDriven: boolean;
  readonly clock: Clock;
  /** What one lane should have of a transfer at least; see LaneSpread. */
  readonly laneBytes?: number | undefined;
  /** Whether each session finds out how payload leaves best. */
  readonly isWayOpen?: boolean;
  /** Makes the lanes know a GPU. */
  openDevice(device: number): void;
}

/** The notification of a post, in the arena. */
interface Notice {
  readonly notifyAt: number;
  readonly notifyBytes: number;
}

/** What a session has found out about its transfers. */
interface Learnt {
  readonly spreads: LaneSpreads;
  readonly ways: Readonly<Record<DataOperation, SendWay>>;
}

const NO_NOTICE: Notice = { notifyBytes: -1, notifyAt: -1 };
/** What a lane with a NIC of its own should have, before anything is known: a chunk. */
const LINK_BYTES = CHUNK_BYTES_FLOOR;
/** One lane has nothing to learn: no clock is read for it. */
const UNTIMED = -1;

export class LaneCarrier implements Carrier<LaneSession, LaneRequest> {
  readonly capability = 'addressed';
  readonly defaultDeadlineMs = 0;
  readonly #options: LaneCarrierOptions;
  readonly #posted: (Posted<LaneSession> | undefined)[] = [];
  readonly #notices: (Notice | undefined)[] = [];
  /** By slot: how many lanes were told of the transfer, and when. */
  readonly #holders: number[] = [];
  readonly #startedUs: number[] = [];
  readonly #isTimed: boolean[] = [];
  readonly #chosen: ChosenLanes[] = [];
  /** By slot: lanes that were told when it was posted, as bits; others may have joined since. */
  readonly #told: number[] = [];
  readonly #learnt = new WeakMap<LaneSession, Learnt>();
  /** By slot: who is told how long it took. */
  readonly #spreads: LaneSpread[] = [];
  /** By slot: the way of the payload, of transfers that were given one. */
  readonly #ways: (SendWayName | undefined)[] = [];
  /** This thread has lanes that send as soon as something is posted. */
  readonly #sendsInline: boolean;
  /** Chunks whose channel is gone, and what becomes of them. */
  readonly moves: TransferMoves;
  /** By lane: of the transfers that it was told of and that are not over; see loadOf. */
  readonly #loads: number[];
  readonly #sides: LaneSides;

  constructor(options: LaneCarrierOptions) {
    this.#options = options;
    this.#loads = new Array<number>(options.lanes.count).fill(0);
    this.moves = new TransferMoves(options.lanes, options.table, this.#posted, (posted) =>
      this.#sides.sideOf(posted.session, at(this.#chosen, posted.slot).isOwn),
    );
    this.#sides = new LaneSides(options.lanes);
    this.#sendsInline = options.isCallerDriven || options.lanes.own !== undefined;
  }

  prepare(session: LaneSession, operation: DataOperation, blocks: CheckedBlocks): LaneRequest {
    const { arena, lanes } = this.#options;
    const memory = memoryOf(blocks);
    const spread = this.#learntOf(session).spreads.of(operation, memory);
    const chosen = this.#sides.lanesFor(session, blocks.totalBytes, memory);
    const limits =
      copiedLimits(session, memory, chosen) ?? limitsOf(session, spread, blocks.totalBytes, chosen);
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
    const spread = this.#learntOf(session).spreads.of(operation, memory);
    const chosen = this.#sides.lanesFor(session, plan.totalBytes, memory);
    const holders = holdersOf(chosen.lanes, spread, plan);
    const isPlain = memory === 'plain';
    const isLearning = isPlain && !chosen.isOwn;
    const way = isLearning ? this.#wayOf(session, operation, plan, holders, chosen) : undefined;
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
      isCopied: way === 'copy' || (isPlain && chosen.isOwn),
      isStaged: !isPlain,
      source,
    });
    this.#notices[slot] = notice;
    this.#told[slot] = 0;
    this.#ways[slot] = way;
    this.#holders[slot] = holders;
    this.#chosen[slot] = chosen;
    this.#spreads[slot] = spread;
    // A transfer that waits for its source takes as long as that.
    this.#isTimed[slot] = source === undefined;
    return slot;
  }

  submit(posted: Posted<LaneSession>): void {
    const { lanes } = at(this.#chosen, posted.slot);
    this.#posted[posted.slot] = posted;
    // One chunk is for one lane: what it takes tells nothing about more of them.
    const isSpread = lanes.length > 1 && posted.chunks > 1;
    const isLearnt = isSpread || this.#ways[posted.slot] !== undefined;
    const isTimed = isLearnt && this.#isTimed[posted.slot] === true;
    this.#startedUs[posted.slot] = isTimed ? this.#options.clock.nowUs() : UNTIMED;
    for (let told = at(this.#holders, posted.slot); told > 0; told--) {
      this.#tell(posted, chooseLane(this.#loads, lanes, posted.laneBits, posted.bytes));
    }
    if (this.#sendsInline) this.#options.lanes.sendInline();
  }

  /** Nothing is tried on a transfer whose lanes are a trial: two changes would tell nothing. */
  #wayOf(
    session: LaneSession,
    operation: DataOperation,
    { totalBytes }: RequestPlan,
    holders: number,
    { lanes }: ChosenLanes,
  ): SendWayName | undefined {
    if (this.#options.isWayOpen !== true || totalBytes < WAY_BYTES_MIN) return undefined;
    if (session.facts.path === 'shm') return undefined;
    const { spreads, ways } = this.#learntOf(session);
    const spread = spreads.of(operation, 'plain');
    const most = lanes.length;
    const isUsual = most < 2 || holders === Math.min(most, spread.expected(totalBytes, most));
    return ways[operation].wayFor(totalBytes, isUsual);
  }

  #learntOf(session: LaneSession): Learnt {
    const known = this.#learnt.get(session);
    if (known !== undefined) return known;
    const laneBytes = hasLinks(session) ? LINK_BYTES : this.#options.laneBytes;
    const ways = { write: new SendWay(), read: new SendWay() };
    const learnt = { spreads: new LaneSpreads(laneBytes), ways };
    this.#learnt.set(session, learnt);
    return learnt;
  }

  /** An entry for a message without data: to the peer's program, or (a signal) to its engine. */
  openMessage(session: LaneSession, bytes: Uint8Array, isSignal: boolean): number {
    const notice = this.#place(bytes);
    const slot = this.#options.table.allocate({
      operation: isSignal ? OPERATION_SIGNAL : OPERATION_WRITE,
      sessionIndex: session.facts.index,
      chunkCount: 0,
      remotesAt: 0,
      pairsAt: 0,
      chunksAt: 0,
      notifyBytes: notice.notifyBytes,
      notifyAt: notice.notifyAt,
      holders: Math.min(1, this.#sides.lanesFor(session, 0, 'plain').lanes.length),
    });
    this.#notices[slot] = notice;
    this.#told[slot] = 0;
    return slot;
  }

  submitMessage(posted: Posted<LaneSession>): void {
    const { session, slot, generation } = posted;
    this.#posted[slot] = posted;
    this.#startedUs[slot] = UNTIMED;
    const [first] = this.#sides.lanesFor(session, 0, 'plain').lanes;
    if (first === undefined) {
      session.stranded.push({ slot, generation, chunk: -1 });
      return;
    }
    // All on one lane: where one channel is served there, messages arrive in their order.
    this.#tell(posted, first);
    if (this.#sendsInline) this.#options.lanes.sendInline();
  }

  #tell(posted: Posted<LaneSession>, lane: number): void {
    posted.laneBits |= 1 << lane;
    this.#told[posted.slot] = posted.laneBits;
    this.#loads[lane] = at(this.#loads, lane) + loadOf(posted.bytes);
    this.#options.lanes.submit(lane, posted.slot);
  }

  cancel({ session, slot, generation }: Posted<LaneSession>): void {
    const { lanes, table } = this.#options;
    const lane = session.facts.lanes.find((one) => lanes.isAlive(one));
    if (lane === undefined) return;
    table.addHolder(slot);
    lanes.command(lane, COMMAND_CANCEL, [slot, generation]);
    this.moves.onCancelled(session, slot);
  }

  outcome(posted: Posted<LaneSession>, failure: number): Outcome {
    const notice = this.#notices[posted.slot];
    assert(notice !== undefined, 'the entry is open');
    const hasNotice = notice.notifyBytes >= 0;
    if (failure === 0) this.#learn(posted);
    const outcome = outcomeOf(this.#options.table, posted, hasNotice, failure);
    const isPlain = posted.chunks === 0 || posted.bytes < WAY_BYTES_MIN;
    return isPlain ? outcome : { ...outcome, choices: this.#choices(posted) };
  }

  #learn({ session, slot, bytes, chunks, laneBits }: Posted<LaneSession>): void {
    const startedUs = at(this.#startedUs, slot);
    if (chunks === 0 || startedUs === UNTIMED) return;
    // Of a transfer that others have joined, or that met a loss, nothing is learnt.
    if (laneBits !== this.#told[slot] || this.#options.table.retries(slot) > 0) return;
    const durationUs = this.#options.clock.nowUs() - startedUs;
    const { ways } = this.#learntOf(session);
    const spread = at(this.#spreads, slot);
    const lanes = at(this.#holders, slot);
    const way = this.#ways[slot];
    const learner = ways[this.#operationOf(slot)];
    // What is a trial of the one says nothing about the other.
    if (way === undefined || way === learner.wayFor(bytes, false)) {
      spread.onDone(bytes, durationUs, lanes);
    }
    const most = at(this.#chosen, slot).lanes.length;
    const isUsual = most < 2 || lanes === spread.expected(bytes, most);
    if (way !== undefined && isUsual) learner.onDone(bytes, durationUs, way, lanes);
  }

  #choices({ session, slot, bytes }: Posted<LaneSession>): Choice[] {
    const chosen = at(this.#chosen, slot);
    const lanes = chosen.lanes.length;
    const { ways } = this.#learntOf(session);
    const choices: Choice[] = [];
    if (chosen.isOwn) choices.push({ name: 'lanes', value: '1', reason: OWN_REASON });
    if (lanes > 1) {
      const value = String(this.#holders[slot]);
      const reason = at(this.#spreads, slot).reasonFor(bytes, lanes);
      choices.push({ name: 'lanes', value, reason });
    }
    const way = this.#ways[slot];
    if (way === undefined) return choices;
    const reason = ways[this.#operationOf(slot)].reasonFor(bytes);
    choices.push({ name: 'socket.sendBy', value: way, reason });
    return choices;
  }

  #operationOf(slot: number): DataOperation {
    return this.#options.table.operation(slot) === OPERATION_READ ? 'read' : 'write';
  }

  close({ slot, bytes }: Posted<LaneSession>): void {
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
