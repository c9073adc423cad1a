// What sessions find out about their transfers: how many lanes pay, and how payload leaves best. By
// slot, what a transfer in flight is to tell once it is over.

import { at } from '../../base/assert.js';
import type { Clock } from '../../base/clock.js';
import { CHUNK_BYTES_FLOOR } from '../../flow/chunk-plan.js';
import { type LaneMemory, type LaneSpread, LaneSpreads } from '../../flow/lane-spread.js';
import {
  RING_WAYS,
  SendWay,
  type SendWayName,
  SOCKET_WAYS,
  WAY_BYTES_MIN,
} from '../../flow/send-way.js';
import { pastCacheCode } from '../../os/fixed-memory.js';
import type { DataOperation, Posted } from '../contract.js';
import type { Choice } from '../receipt.js';
import { type ChosenLanes, hasLinks, OWN_REASON } from './chosen-lanes.js';
import { OPERATION_READ } from './lane/layout.js';
import type { LaneSession } from './lane-carrier.js';
import type { RequestPlan } from './lane-request.js';
import { RING_COPIES, throughCache } from './shm/ring-copies.js';
import { PAST_CACHE_BYTES } from './shm/shm-ring.hot.js';
import type { TransferTable } from './transfer-table.js';

export interface LaneLearningOptions {
  readonly table: TransferTable;
  readonly clock: Clock;
  /** What one lane should have of a transfer at least; see LaneSpread. */
  readonly laneBytes?: number | undefined;
  /**
   * What a session with a peer on this host, which has lanes of its own here, begins with where
   * more lanes are known to cost: over paced connections, and through shared memory.
   */
  readonly nearLanes: number;
  /** Whether connections to peers on this host are paced. */
  readonly isNearPaced?: boolean;
  /** Whether each session finds out how payload leaves best. */
  readonly isWayOpen?: boolean;
}

interface Learnt {
  readonly spreads: LaneSpreads;
  readonly ways: Readonly<Record<DataOperation, SendWay>>;
}

/** Of a transfer: the lanes that it may have, and how many of them were told of it. */
export interface GivenLanes {
  readonly chosen: ChosenLanes;
  readonly holders: number;
}

/** What a lane with a NIC of its own should have, before anything is known: a chunk. */
const LINK_BYTES = CHUNK_BYTES_FLOOR;
const TURNS_REASON = 'auto: of each lane one at a time, as connections to this host are paced';
const NO_WAY_REASON = 'auto: staged memory or small blocks';
/** One lane has nothing to learn: no clock is read for it. */
const UNTIMED = -1;

export class LaneLearning {
  readonly #options: LaneLearningOptions;
  readonly #learnt = new WeakMap<LaneSession, Learnt>();
  /** By slot: who is told how long it took. */
  readonly #spreads: LaneSpread[] = [];
  /** By slot: the way of the payload, of transfers that were given one. */
  readonly #ways: (SendWayName | undefined)[] = [];
  readonly #isTimed: boolean[] = [];
  readonly #startedUs: number[] = [];

  constructor(options: LaneLearningOptions) {
    this.#options = options;
  }

  spreadOf(session: LaneSession, operation: DataOperation, memory: LaneMemory): LaneSpread {
    return this.#of(session).spreads.of(operation, memory);
  }

  /**
   * Whether of each lane's channels one at a time pulls: where they are paced, and the peer is on
   * this host. One of them fills its lane, and each of several finds its rate anew within every
   * transfer, which costs some tenths. Farther away a path may need them all.
   */
  isByTurns(session: LaneSession): boolean {
    const { isSameHost, path } = session.facts;
    const isPaced = this.#options.isNearPaced === true && isSameHost && path !== 'shm';
    return isPaced && !hasLinks(session);
  }

  /** Nothing is tried on a transfer whose lanes are a trial: two changes would tell nothing. */
  wayOf(
    session: LaneSession,
    operation: DataOperation,
    plan: RequestPlan,
    { chosen, holders }: GivenLanes,
  ): SendWayName | undefined {
    const { totalBytes } = plan;
    if (totalBytes < WAY_BYTES_MIN || !this.#isWayOpen(session, plan)) return undefined;
    const { spreads, ways } = this.#of(session);
    const spread = spreads.of(operation, 'plain');
    const most = chosen.lanes.length;
    const isUsual = most < 2 || holders === Math.min(most, spread.expected(totalBytes, most));
    return ways[operation].wayFor(totalBytes, isUsual);
  }

  /** A transfer that waits for its source takes as long as that. */
  onOpened(
    slot: number,
    spread: LaneSpread,
    way: SendWayName | undefined,
    hasSource: boolean,
  ): void {
    this.#spreads[slot] = spread;
    this.#ways[slot] = way;
    this.#isTimed[slot] = !hasSource;
  }

  onSubmitted({ slot, chunks }: Posted<LaneSession>, lanes: number): void {
    // One chunk is for one lane: what it takes tells nothing about more of them.
    const isSpread = lanes > 1 && chunks > 1;
    const isLearnt = chunks > 0 && (isSpread || this.#ways[slot] !== undefined);
    const isTimed = isLearnt && this.#isTimed[slot] === true;
    this.#startedUs[slot] = isTimed ? this.#options.clock.nowUs() : UNTIMED;
  }

  /** `told`: the lanes that were told when it was posted, as bits; others may have joined since. */
  onDone(posted: Posted<LaneSession>, { chosen, holders }: GivenLanes, told: number): void {
    const { session, slot, bytes, laneBits } = posted;
    const startedUs = at(this.#startedUs, slot);
    if (startedUs === UNTIMED) return;
    // Of a transfer that others have joined, or that met a loss, nothing is learnt.
    if (laneBits !== told || this.#options.table.retries(slot) > 0) return;
    const durationUs = this.#options.clock.nowUs() - startedUs;
    const spread = at(this.#spreads, slot);
    const way = this.#ways[slot];
    const learner = this.#of(session).ways[this.#operationOf(slot)];
    // What is a trial of the one says nothing about the other.
    if (way === undefined || way === learner.wayFor(bytes, false)) {
      spread.onDone(bytes, durationUs, holders);
    }
    const most = chosen.lanes.length;
    const isUsual = most < 2 || holders === spread.expected(bytes, most);
    if (way !== undefined && isUsual) learner.onDone(bytes, durationUs, way, holders);
  }

  /** What its receipt says. */
  choices(
    { session, slot, bytes }: Posted<LaneSession>,
    { chosen, holders }: GivenLanes,
  ): Choice[] {
    const lanes = chosen.lanes.length;
    const choices: Choice[] = [];
    if (chosen.isOwn) choices.push({ name: 'lanes', value: '1', reason: OWN_REASON });
    if (lanes > 1) {
      const reason = at(this.#spreads, slot).reasonFor(bytes, lanes);
      choices.push({ name: 'lanes', value: String(holders), reason });
    }
    if (this.isByTurns(session) && session.facts.agreement.channels > lanes && !chosen.isOwn) {
      choices.push({ name: 'channels', value: String(holders), reason: TURNS_REASON });
    }
    const way = this.#ways[slot];
    const isShared = session.facts.path === 'shm';
    if (way === undefined) {
      if (isShared) choices.push(throughCache(chosen.isOwn ? OWN_REASON : NO_WAY_REASON));
      return choices;
    }
    const reason = this.#of(session).ways[this.#operationOf(slot)].reasonFor(bytes);
    const name = isShared ? 'copies' : 'socket.sendBy';
    choices.push({ name, value: isShared ? RING_COPIES[way] : way, reason });
    return choices;
  }

  // How payload goes through rings is no matter of sockets, nor of their setting.
  #isWayOpen({ facts }: LaneSession, { totalBytes, pairs }: RequestPlan): boolean {
    if (facts.path !== 'shm') return this.#options.isWayOpen === true;
    return pastCacheCode() !== undefined && totalBytes / pairs.count >= PAST_CACHE_BYTES;
  }

  #of(session: LaneSession): Learnt {
    const known = this.#learnt.get(session);
    if (known !== undefined) return known;
    const { nearLanes, isNearPaced } = this.#options;
    const laneBytes = hasLinks(session) ? LINK_BYTES : this.#options.laneBytes;
    const { isSameHost, path } = session.facts;
    const isFewer = isSameHost && (isNearPaced === true || path === 'shm');
    const most = isFewer ? nearLanes : Number.POSITIVE_INFINITY;
    const words = path === 'shm' ? RING_WAYS : SOCKET_WAYS;
    const ways = { write: new SendWay(words), read: new SendWay(words) };
    const learnt = { spreads: new LaneSpreads(laneBytes, most), ways };
    this.#learnt.set(session, learnt);
    return learnt;
  }

  #operationOf(slot: number): DataOperation {
    return this.#options.table.operation(slot) === OPERATION_READ ? 'read' : 'write';
  }
}
