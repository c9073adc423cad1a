// What happens when channels of a session fail: fences are exchanged, what was in flight goes
// elsewhere, the client attaches anew, and a session that nothing moves any more is lost. All
// effects are the host's, all time comes from its timers, so that a simulation can drive it.

import { isTcpxError, TcpxError } from '../base/errors.js';
import type { ChannelIndex, Epoch, SessionIndex } from '../base/quantity.js';
import type { ChannelPlan } from '../provider/tcp/channel-plan.js';
import {
  COMMAND_DROP_CHANNEL,
  COMMAND_SETTLE_CHANNEL,
  LOSS_PROTOCOL,
} from '../provider/tcp/lane/messages.js';
import {
  decodeSignal,
  encodeFence,
  type Fence,
  isFence,
  type Signal,
} from '../wire/fence-signal.js';
import { ChannelBook } from './channel-book.js';
import { FenceClock } from './fence-clock.js';
import { type ProgressLimits, patienceMs } from './progress-watch.js';
import { goneError, silenceError } from './recovery-error.js';
import type { ChannelLoss, RecoveryHost } from './recovery-host.js';
import { RedialAsk } from './redial-ask.js';
import { Redialing } from './redialing.js';
import { RETRY_LAST_MS, RetryDelay } from './retry-delay.js';

export interface RecoveryLimits extends ProgressLimits {
  readonly stallMs: number;
  /** A peer that attaches, drops and never says what landed keeps memory here for each time. */
  readonly fencesMax: number;
}

/** Others get this long to stand still as well before one that does is given up. */
const GRACE_MS = 60;
/**
 * A kernel ends the connections of a process that is gone; a proxy may do the same. A client that
 * lives dials again within this time.
 */
const ENDED_MS = 500;
/** What a peer confirms as it leaves comes by other connections than its goodbye, maybe later. */
const GOODBYE_MS = 500;

export class Recovery {
  readonly book: ChannelBook;
  readonly #host: RecoveryHost;
  readonly #index: number;
  readonly #limits: RecoveryLimits;
  readonly #downWaiters: { channel: ChannelIndex; resolve: () => void }[] = [];
  readonly #delays: readonly RetryDelay[];
  #cancelJudge: (() => void) | undefined;
  #cancelLoss: (() => void) | undefined;
  #cancelEnd: (() => void) | undefined;
  #lastError: TcpxError | undefined;
  /** Why each channel went down last. */
  readonly #reasons: string[] = [];
  readonly #fences: FenceClock;
  readonly #asking: RedialAsk;
  /** Where this end is the one that dials. */
  readonly #redialing: Redialing | undefined;
  #ended: TcpxError | undefined;
  #goodbye: TcpxError | undefined;
  #isOver = false;
  /** Channels given up so far, for receipts and logs. */
  failovers = 0;

  constructor(
    host: RecoveryHost,
    sessionIndex: SessionIndex,
    lanes: readonly number[],
    plan: ChannelPlan,
    limits: RecoveryLimits,
  ) {
    this.#host = host;
    this.#index = sessionIndex;
    this.#limits = limits;
    this.book = new ChannelBook(lanes, plan);
    this.#delays = lanes.map(() => new RetryDelay(limits.reconnectMs, host.nowUs()));
    this.#asking = new RedialAsk({
      nowUs: () => host.nowUs(),
      after: (delayMs, act) => this.#after(delayMs, act),
      isNeeded: () => !this.#isOver && !this.book.isMoving,
      // The first of all where there was none yet.
      ask: (channel) => host.askRedial(channel, Math.max(0, this.book.epoch(channel))),
    });
    this.#redialing = this.#redialingOf(host);
    const timeMs = patienceMs(limits);
    this.#fences = new FenceClock(
      (act) => this.#after(timeMs, act),
      (fence) => {
        const why = `fence of channel ${fence} not answered within ${timeMs} ms`;
        host.lose(new TcpxError('ERR_PEER_TIMEOUT', `${host.peer}: ${why}`));
      },
    );
  }

  #redialingOf(host: RecoveryHost): Redialing | undefined {
    const { redial, peer } = host;
    if (redial === undefined) return undefined;
    return new Redialing({
      peer,
      book: this.book,
      nowUs: () => host.nowUs(),
      after: (delayMs, act) => this.#after(delayMs, act),
      isOver: () => this.#isOver,
      redial,
      delayMs: (channel) => this.#delay(channel).afterFailure(),
      answer: (channel, epoch) => this.#answer(channel, epoch),
      onGone: (outcome) => host.lose(goneError(peer, outcome, this.#lastError)),
      lose: (error) => host.lose(error),
    });
  }

  /** A connection was handed to its lane. */
  onAttached(channel: ChannelIndex, epoch: Epoch): void {
    this.#forgetEnd();
    const isBack = this.book.epoch(channel) >= 0;
    this.#delay(channel).onMade(this.#host.nowUs());
    if (this.book.setUp(channel, epoch).isToDrop) this.#drop(channel);
    if (isBack) {
      this.#host.log.warn('channel is back', { peer: this.#host.peer, channel, epoch });
      this.#host.tellChannel(channel, 'up');
    }
    this.#weighLoss();
    this.#judgeSoon();
  }

  /** The lane has closed its end of a channel. */
  onDown(fence: Fence, loss: ChannelLoss): void {
    if (this.#isOver) return;
    if (this.#goodbye !== undefined) {
      this.book.setDown(fence.channel, fence.epoch);
      this.#weighGoodbye(this.#goodbye);
      return;
    }
    if (loss.loss === LOSS_PROTOCOL) {
      this.#host.lose(loss.error);
      return;
    }
    this.failovers++;
    this.#lastError = loss.error;
    this.#reasons[fence.channel] = loss.error.message;
    const { channel, epoch } = fence;
    const reason = loss.error.message;
    this.#host.log.info('channel down', { peer: this.#host.peer, channel, epoch, reason });
    this.#host.tellChannel(channel, 'down');
    const { settle } = this.book.setDown(channel, epoch);
    if (settle === undefined) this.#fences.start(channel, epoch);
    const { fencesMax } = this.#limits;
    if (this.book.unanswered > fencesMax) {
      const rule = `${fencesMax} fences are not answered, session.fencesMax allows no more`;
      this.#host.lose(new TcpxError('ERR_WIRE_LIMIT', `${this.#host.peer}: ${rule}`));
      return;
    }
    this.#host.postSignal(encodeFence(fence));
    if (settle !== undefined) this.#settle(settle);
    this.#host.onChannelsChanged();
    this.#wakeDownWaiters(channel);
    this.#weighLoss();
    this.#redialSoon(channel, this.#delay(channel).afterLoss(this.#host.nowUs()));
  }

  #delay(channel: ChannelIndex): RetryDelay {
    const delay = this.#delays[channel];
    if (delay === undefined) throw new RangeError(`no channel ${channel}`);
    return delay;
  }

  /** A signal of the peer's engine. */
  onSignal(bytes: Uint8Array): void {
    if (this.#isOver) return;
    let signal: Signal;
    try {
      signal = decodeSignal(bytes);
    } catch (error) {
      const rule = isTcpxError(error) ? error.message : String(error);
      this.#host.lose(new TcpxError('ERR_WIRE_FRAME', `${this.#host.peer}: ${rule}`));
      return;
    }
    if (isFence(signal)) this.#onFence(signal);
    else this.#host.onControlLost(signal.controlEpoch);
  }

  #onFence(fence: Fence): void {
    const order = this.book.onFence(fence);
    if (order.isToDrop) this.#drop(fence.channel);
    if (order.isToAnswer) this.#answer(fence.channel, fence.epoch);
    if (order.settle !== undefined) this.#settle(order.settle);
  }

  // A connection that the peer had, and this end never: nothing has landed on it.
  #answer(channel: ChannelIndex, epoch: Epoch): void {
    this.#host.postSignal(
      encodeFence({ channel, epoch, landed: 0, isDamaged: false, refusals: [] }),
    );
  }

  #settle(fence: Fence): void {
    const { channel, epoch, landed, isDamaged, refusals } = fence;
    this.#fences.answered(channel, epoch);
    const words = [this.#index, channel, epoch, landed, isDamaged ? 1 : 0, refusals.length];
    for (const { sequence, reason } of refusals) words.push(sequence, reason);
    this.#host.command(this.book.lane(channel), COMMAND_SETTLE_CHANNEL, words);
    // Only now: a peer that ended takes all its channels with it, and that is another message.
    const reason = isDamaged ? 'the peer received a damaged frame' : this.#reasons[channel];
    this.#host.log.warn('channel failed over', { peer: this.#host.peer, channel, epoch, reason });
    this.#host.tellFailover(channel, reason ?? 'lost');
  }

  #drop(channel: ChannelIndex): void {
    const words = [this.#index, channel, this.book.epoch(channel)];
    this.#host.command(this.book.lane(channel), COMMAND_DROP_CHANNEL, words);
  }

  /** A channel stands still, or moves again. */
  onStalled(channel: ChannelIndex, epoch: Epoch, isStalled: boolean): void {
    if (this.#isOver || !this.book.setStalled(channel, epoch, isStalled)) return;
    if (!isStalled) this.#weighLoss();
    this.#judgeSoon();
  }

  /** One that nobody has made yet is worth a connection now. */
  want(channel: ChannelIndex): void {
    if (this.#isOver || !this.book.isAbsent(channel)) return;
    (this.#redialing ?? this.#asking).want(channel);
  }

  /** Something is known of it that does not show in what moves. */
  giveUp(channel: ChannelIndex, epoch: Epoch, reason: string): void {
    if (this.#isOver || !this.book.isUp(channel) || this.book.epoch(channel) !== epoch) return;
    this.#host.log.info('channel given up', { peer: this.#host.peer, channel, epoch, reason });
    this.#drop(channel);
  }

  // Also when one comes or moves again: those that still stand can be given up only now.
  #judgeSoon(): void {
    if (this.book.stalled.length === 0) return;
    this.#cancelJudge ??= this.#after(GRACE_MS, () => {
      this.#cancelJudge = undefined;
      this.#judge();
    });
  }

  // One that stands still while others move is given up. Where all do, there is nothing to gain by
  // giving up, but a new connection may come through where the old ones do not.
  #judge(): void {
    const { stalled } = this.book;
    if (this.book.isMoving) {
      for (const channel of stalled) this.#drop(channel);
      return;
    }
    const [first] = stalled;
    if (first === undefined) return;
    this.#lastError = new TcpxError(
      'ERR_PEER_TIMEOUT',
      `${this.#host.peer}: nothing has moved on any channel`,
    );
    this.#weighLoss();
    this.#redialSoon(first, this.#patienceMs());
  }

  // The peer may only be slow; but a new connection is worth nothing once the session is lost.
  #patienceMs(): number {
    const { reconnectMs, stallMs } = this.#limits;
    return Math.max(0, Math.min(RETRY_LAST_MS, (reconnectMs - stallMs - GRACE_MS) / 2));
  }

  /** Nobody comes any more: what the peer has confirmed is read to the end of each channel. */
  onGoodbye(error: TcpxError): void {
    if (this.#isOver || this.#goodbye !== undefined) return;
    this.#goodbye = error;
    this.#after(GOODBYE_MS, () => {
      if (!this.#isOver) this.#host.lose(error);
    });
    this.#weighGoodbye(error);
  }

  #weighGoodbye(error: TcpxError): void {
    if (this.book.living.length === 0 || !this.#host.hasInFlight()) this.#host.lose(error);
  }

  /** The peer's end of the control connection was closed in order, as when a process has ended. */
  onPeerEnded(error: TcpxError): void {
    this.#ended = error;
    this.#weighLoss();
  }

  /** It has not: there is another control connection, over which it can be asked. */
  onPeerBack(): void {
    this.#forgetEnd();
    this.#asking.askNow();
  }

  /** The peer cannot dial: a connection is lost there, or nothing moves on it. */
  onRedialAsked(channel: ChannelIndex, epoch: Epoch): void {
    if (this.#isOver) return;
    if (channel < this.book.count && this.book.isAbsent(channel)) {
      // A server that posts more than before wants one that nobody has needed so far.
      if (epoch === 0) this.want(channel);
      return;
    }
    if (!this.book.setDoubted(channel, epoch)) return;
    const { peer, log } = this.#host;
    log.info('peer asks for a new connection', { peer, channel, epoch });
    this.#redialSoon(channel, 0);
  }

  #forgetEnd(): void {
    this.#ended = undefined;
    this.#cancelEnd?.();
    this.#cancelEnd = undefined;
  }

  // Counts down to the loss of the session while nothing moves.
  #weighLoss(): void {
    const { living } = this.book;
    if (this.#ended !== undefined && living.length === 0) {
      this.#cancelEnd ??= this.#after(ENDED_MS, () => this.#loseEnded());
    }
    if (this.book.isMoving) {
      this.#cancelLoss?.();
      this.#cancelLoss = undefined;
      return;
    }
    const { reconnectMs, stallMs } = this.#limits;
    const leftMs = living.length > 0 ? reconnectMs - stallMs - GRACE_MS : reconnectMs;
    this.#cancelLoss ??= this.#after(Math.max(0, leftMs), () => {
      const { peer } = this.#host;
      this.#host.lose(silenceError(peer, reconnectMs, this.#lastError));
    });
  }

  #loseEnded(): void {
    this.#cancelEnd = undefined;
    if (this.#ended !== undefined && this.book.living.length === 0) this.#host.lose(this.#ended);
  }

  #after(delayMs: number, act: () => void): () => void {
    return this.#host.timers.at(this.#host.nowUs() + delayMs * 1000, act);
  }

  #redialSoon(channel: ChannelIndex, delayMs: number): void {
    (this.#redialing ?? this.#asking).soon(channel, delayMs);
  }

  /** Closes this end of a channel, if it lives, so that its index can be attached anew. */
  async clear(channel: ChannelIndex): Promise<void> {
    // Over: nobody would answer, and the session's index may have a new owner.
    if (this.#isOver || !this.book.isUp(channel)) return;
    const down = new Promise<void>((resolve) => {
      this.#downWaiters.push({ channel, resolve });
    });
    this.#drop(channel);
    await down;
  }

  #wakeDownWaiters(channel: ChannelIndex): void {
    for (const waiter of this.#downWaiters.filter((one) => one.channel === channel)) {
      this.#downWaiters.splice(this.#downWaiters.indexOf(waiter), 1);
      waiter.resolve();
    }
  }

  /** The session ends: nothing is tried any more. */
  stop(): void {
    this.#isOver = true;
    this.#cancelJudge?.();
    this.#cancelLoss?.();
    this.#cancelEnd?.();
    this.#fences.stop();
    this.#asking.stop();
    this.#redialing?.stop();
    for (const { resolve } of this.#downWaiters.splice(0)) resolve();
  }
}
