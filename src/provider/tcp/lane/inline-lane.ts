// A lane without a thread: whoever polls moves it. It asks the sockets directly, because a poll
// that finds nothing must cost as little as one call; unless it rests.

import { type Clock, systemClock } from '../../../base/clock.js';
import type { StreamPort } from '../port/stream-port.js';
import { TcpPort } from '../port/tcp-port.js';
import { ShmPort } from '../shm/shm-port.js';
import type { Channel } from './channel.js';
import type { LaneHooks, PortOrder } from './lane-commands.js';
import { destroyLaneCore, type LaneCore, zeroCopyCounters } from './lane-core.js';
import { stepLane } from './lane-step.hot.js';
import type { Resting } from './resting.js';

/** Makes a port of the descriptor that came with a channel. */
export type PortOpener = (...parameters: ConstructorParameters<typeof TcpPort>) => StreamPort;

const openTcpPort: PortOpener = (...parameters) => new TcpPort(...parameters);
/** Health is looked at once in so many polls: asking for the time costs as much as a poll. */
const HEALTH_STEPS = 64;

/** Where ports and time come from: sockets and the system, unless a simulation gives them. */
export interface InlineLaneOptions {
  readonly openPort?: PortOpener;
  readonly clock?: Clock;
  /** How many steps go by between two looks at the time, where nothing else needs it. */
  readonly healthSteps?: number;
  /** Tells of channels while it rests; without, it never rests. */
  readonly resting?: Resting | undefined;
  /** Peers send nothing by themselves: without flight there is nothing to ask a channel for. */
  readonly isUnasked?: boolean;
}

export class InlineLane implements LaneHooks {
  readonly core: LaneCore;
  readonly #open: PortOpener;
  readonly #clock: Clock;
  readonly #healthSteps: number;
  readonly #resting: Resting | undefined;
  readonly #isUnasked: boolean;
  #steps = 0;

  constructor(core: LaneCore, options: InlineLaneOptions = {}) {
    this.core = core;
    this.#open = options.openPort ?? openTcpPort;
    this.#clock = options.clock ?? systemClock;
    this.#healthSteps = options.healthSteps ?? HEALTH_STEPS;
    this.#resting = options.resting;
    this.#isUnasked = options.isUnasked ?? false;
  }

  /** Whether an answer of a peer is due, or something lies here unsent. */
  get hasFlight(): boolean {
    return this.core.channels.some(isFlying);
  }

  openPort({ fd, channelIndex, windowBytes, link, isChecked }: PortOrder): StreamPort {
    if (link !== undefined) return new ShmPort(fd, link, !isChecked);
    const counters = zeroCopyCounters(this.core, channelIndex);
    return this.#open(fd, this.core.sendBy, counters, windowBytes);
  }

  onChannelAdded(channel: Channel): void {
    this.#resting?.add(channel);
  }

  onChannelRemoved(channel: Channel): void {
    this.#resting?.remove(channel);
  }

  step(): number {
    return this.#step(true);
  }

  /** Sends alone: whoever posts wants its message gone before anything else is looked at. */
  stepSend(): number {
    return this.#step(false);
  }

  #step(mayReceive: boolean): number {
    const { channels, staging } = this.core;
    if (this.#resting?.isResting !== true) {
      // Its end shows now and then all the same.
      const isAsked = !this.#isUnasked || this.#steps === 0;
      for (const channel of channels) {
        if (!isAsked && !isFlying(channel)) continue;
        // What is known to be readable must not be forgotten where a set tells of it once.
        if (mayReceive || this.#resting === undefined) channel.ready.tryAll(mayReceive);
        else channel.ready.onWritable();
      }
    }
    this.core.hasNews = false;
    this.core.hasFinished = false;
    // Only striped channels and staged transfers ask for the time, and health now and then.
    if (mayReceive) this.#steps = this.#steps > 0 ? this.#steps - 1 : this.#healthSteps - 1;
    const isBusy = channels.length > 1 || staging.stagers.length > 0;
    const isTimed = isBusy || this.#resting !== undefined || this.#steps === 0;
    const nowUs = isTimed ? this.#clock.nowUs() : 0;
    return stepLane(this.core, this, nowUs, mayReceive);
  }

  close(): void {
    destroyLaneCore(this.core);
  }
}

function isFlying(channel: Channel): boolean {
  return channel.hasFlight() || channel.vector.count > 0;
}
