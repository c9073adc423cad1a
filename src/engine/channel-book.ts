// What is known about the channels of one session: which connection of each index lives, and the
// fences that the two ends owe each other. Pure; see docs/decisions/0013.

import type { ChannelIndex, Epoch, LaneIndex } from '../base/quantity.js';
import type { ChannelPlan } from '../provider/tcp/channel-plan.js';
import type { Fence } from '../wire/fence-signal.js';

interface Entry {
  readonly lane: LaneIndex;
  /** Only the peer posts on it: nothing of this end's own goes there. */
  readonly isPeers: boolean;
  /** The connection that lives, or lived last; −1 before the first. */
  epoch: Epoch;
  /** The last one that was dialled, and those of them that came to nothing here. */
  tried: number;
  readonly failed: number[];
  /** The one that the peer has asked to be replaced. */
  doubted: number;
  isUp: boolean;
  isStalled: boolean;
}

/** What a fence asks for. */
export interface FenceOrder {
  /** This end must be closed first. */
  readonly isToDrop: boolean;
  /** Both ends are closed: the flight of this end is settled by this. */
  readonly settle: Fence | undefined;
  /** It names a connection that never came about at this end: nothing has landed on it. */
  readonly isToAnswer: boolean;
}

const NOTHING: FenceOrder = { isToDrop: false, settle: undefined, isToAnswer: false };
/** Attempts that are remembered per channel: the peer's word about older ones has come long ago. */
const FAILED_MAX = 64;

export class ChannelBook {
  readonly #entries: Entry[];
  readonly #needed: number;
  #livingLanes: readonly number[] = [];
  readonly #usedLanes: number[] = [];
  /** Fences of the peer for connections that still live here, and those of ours not answered. */
  readonly #peers = new Map<string, Fence>();
  readonly #own = new Set<string>();

  /** `lanes`: by channel. `needed`: so many are there before the session is ready. */
  constructor(lanes: readonly number[], plan: Pick<ChannelPlan, 'needed' | 'peers'>) {
    this.#needed = plan.needed;
    this.#entries = lanes.map((lane, channel) => ({
      lane,
      isPeers: channel === plan.peers,
      epoch: -1,
      tried: -1,
      failed: [],
      doubted: -1,
      isUp: false,
      isStalled: false,
    }));
  }

  #entry(channel: ChannelIndex): Entry {
    const entry = this.#entries[channel];
    if (entry === undefined) throw new RangeError(`no channel ${channel}`);
    return entry;
  }

  get count(): number {
    return this.#entries.length;
  }

  lane(channel: ChannelIndex): number {
    return this.#entry(channel).lane;
  }

  epoch(channel: ChannelIndex): number {
    return this.#entry(channel).epoch;
  }

  isUp(channel: ChannelIndex): boolean {
    return this.#entry(channel).isUp;
  }

  /** Connections whose flight is kept until the peer says how much of it landed. */
  get unanswered(): number {
    return this.#own.size;
  }

  /** Whether the channels are there with which the session begins. */
  get isBegun(): boolean {
    return this.living.length >= this.#needed;
  }

  /** Whether every index that was ever tried has a connection. */
  get isWhole(): boolean {
    return this.isBegun && this.#entries.every((entry) => entry.isUp || isAbsent(entry));
  }

  /** Whether nobody has tried to make it yet. */
  isAbsent(channel: ChannelIndex): boolean {
    return isAbsent(this.#entry(channel));
  }

  /** Channels with a connection. */
  get up(): number[] {
    return [...this.#entries.keys()].filter((channel) => this.isUp(channel));
  }

  /** Those on which this end can post now, as far as known. */
  get living(): number[] {
    return this.up.filter((channel) => !this.#entry(channel).isPeers);
  }

  get stalled(): number[] {
    return this.up.filter((channel) => this.#entry(channel).isStalled);
  }

  /** Whether something that this end posts would move, as far as known. */
  get isMoving(): boolean {
    return this.living.some((channel) => !this.#entry(channel).isStalled);
  }

  /** Lanes with a living channel; every post asks, so it is kept. */
  get livingLanes(): readonly number[] {
    return this.#livingLanes;
  }

  /** Lanes that were ever given a channel, the first of them first. */
  get usedLanes(): readonly number[] {
    return this.#usedLanes;
  }

  #countLanes(): void {
    this.#livingLanes = [...new Set(this.living.map((channel) => this.lane(channel)))];
  }

  /**
   * Number of the next attempt: the peer may have taken one that came to nothing here. 0 is for
   * those that the session begins with, so that who wants one that was never made asks for 0, and
   * asks for nothing where it has come meanwhile.
   */
  nextEpoch(channel: ChannelIndex): number {
    const entry = this.#entry(channel);
    entry.tried = Math.max(entry.tried, entry.epoch, 0) + 1;
    return entry.tried;
  }

  /** A new connection of the index; its predecessor is closed. */
  setUp(channel: ChannelIndex, epoch: Epoch): FenceOrder {
    Object.assign(this.#entry(channel), { epoch, isUp: true, isStalled: false });
    const lane = this.lane(channel);
    if (!this.#usedLanes.includes(lane)) this.#usedLanes.push(lane);
    this.#countLanes();
    // The peer may have closed it before this end knew that it was open.
    return { ...NOTHING, isToDrop: this.#peers.has(`${channel}.${epoch}`) };
  }

  /** An attempt came to nothing here; the peer may have taken it, and closed it again. */
  setFailed(channel: ChannelIndex, epoch: Epoch): FenceOrder {
    if (this.#peers.delete(`${channel}.${epoch}`)) return { ...NOTHING, isToAnswer: true };
    const { failed } = this.#entry(channel);
    failed.push(epoch);
    if (failed.length > FAILED_MAX) failed.shift();
    return NOTHING;
  }

  /** The peer wants another connection in place of this one; false where there is one already. */
  setDoubted(channel: ChannelIndex, epoch: Epoch): boolean {
    const entry = this.#entries[channel];
    if (entry === undefined) return false;
    const isComing = epoch > entry.epoch && epoch === entry.tried;
    if (!isComing && (!entry.isUp || entry.epoch !== epoch)) return false;
    entry.doubted = epoch;
    return true;
  }

  /** It lives here, but not at the peer, or nothing moves on it there. */
  isDoubted(channel: ChannelIndex): boolean {
    const { isUp, epoch, doubted } = this.#entry(channel);
    return isUp && epoch === doubted;
  }

  /** True when something is learnt by it: the connection still lives. */
  setStalled(channel: ChannelIndex, epoch: Epoch, isStalled: boolean): boolean {
    const entry = this.#entry(channel);
    if (!entry.isUp || entry.epoch !== epoch) return false;
    entry.isStalled = isStalled;
    return true;
  }

  /** This end is closed; our fence is due. The peer's, where it has come before, settles. */
  setDown(channel: ChannelIndex, epoch: Epoch): FenceOrder {
    const entry = this.#entry(channel);
    if (entry.epoch === epoch) Object.assign(entry, { isUp: false, isStalled: false });
    this.#countLanes();
    const key = `${channel}.${epoch}`;
    const fence = this.#peers.get(key);
    if (fence === undefined) this.#own.add(key);
    this.#peers.delete(key);
    return { ...NOTHING, settle: fence };
  }

  /** The peer's end is closed. One that names no connection of ours is an old one, or a lie. */
  onFence(fence: Fence): FenceOrder {
    if (fence.channel >= this.#entries.length) return NOTHING;
    const key = `${fence.channel}.${fence.epoch}`;
    if (this.#own.delete(key)) return { ...NOTHING, settle: fence };
    const entry = this.#entry(fence.channel);
    const failed = entry.failed.indexOf(fence.epoch);
    if (failed >= 0) {
      // Once: the answer is delivered, so that a second question is none.
      entry.failed.splice(failed, 1);
      return { ...NOTHING, isToAnswer: true };
    }
    const isComing = fence.epoch > entry.epoch && fence.epoch === entry.tried;
    if (!isComing && (!entry.isUp || entry.epoch !== fence.epoch)) return NOTHING;
    this.#peers.set(key, fence);
    return { ...NOTHING, isToDrop: !isComing };
  }
}

function isAbsent({ epoch, tried }: Entry): boolean {
  return epoch < 0 && tried < 0;
}
