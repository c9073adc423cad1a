// The client's connections for channels: again for those that are lost or in doubt, with growing
// delays, and at once for those that somebody wants for the first time.

import { type TcpxError, toTcpxError } from '../base/errors.js';
import type { ChannelIndex, Epoch } from '../base/quantity.js';
import type { ChannelBook } from './channel-book.js';
import type { RedialOutcome } from './recovery-host.js';

interface RedialingHost {
  readonly peer: string;
  readonly book: ChannelBook;
  nowUs(): number;
  after(delayMs: number, act: () => void): () => void;
  isOver(): boolean;
  redial(channel: ChannelIndex, epoch: Epoch): Promise<RedialOutcome>;
  /** How long to wait after an attempt that came to nothing. */
  delayMs(channel: ChannelIndex): number;
  /** A connection that the peer had, and this end never. */
  answer(channel: ChannelIndex, epoch: Epoch): void;
  /** There is no peer that would take it. */
  onGone(outcome: 'refused' | 'unknown'): void;
  lose(error: TcpxError): void;
}

interface Waiting {
  readonly atUs: number;
  readonly cancel: () => void;
}

export class Redialing {
  readonly #host: RedialingHost;
  readonly #dialing = new Set<ChannelIndex>();
  /** Attempts that will be made, by channel. */
  readonly #waiting = new Map<ChannelIndex, Waiting>();

  constructor(host: RedialingHost) {
    this.#host = host;
  }

  /** For one that nobody has made yet. */
  want(channel: ChannelIndex): void {
    if (!this.#dialing.has(channel)) this.#dial(channel);
  }

  /** After this time, unless it is tried earlier anyway. */
  soon(channel: ChannelIndex, delayMs: number): void {
    const atUs = this.#host.nowUs() + delayMs * 1000;
    const waiting = this.#waiting.get(channel);
    if (this.#dialing.has(channel) || (waiting !== undefined && waiting.atUs <= atUs)) return;
    // Patience with one that stands still ends when it is lost, or the peer asks.
    waiting?.cancel();
    const cancel = this.#host.after(delayMs, () => {
      this.#waiting.delete(channel);
      this.#dial(channel);
    });
    this.#waiting.set(channel, { atUs, cancel });
  }

  #dial(channel: ChannelIndex): void {
    this.#dialing.add(channel);
    this.#attempt(channel).catch((error: unknown) => {
      this.#host.lose(toTcpxError(error, 'ERR_SYS_CALL', `${this.#host.peer}: attach anew`));
    });
  }

  async #attempt(channel: ChannelIndex): Promise<void> {
    const { book } = this.#host;
    const isNeeded = !book.isUp(channel) || book.isDoubted(channel) || !book.isMoving;
    if (this.#host.isOver() || !isNeeded) {
      this.#dialing.delete(channel);
      return;
    }
    const epoch = book.nextEpoch(channel);
    const outcome = await this.#host.redial(channel, epoch);
    this.#dialing.delete(channel);
    if (this.#host.isOver()) return;
    if (outcome !== 'attached') this.#onFailed(channel, epoch, outcome);
    else if (book.isDoubted(channel)) this.soon(channel, this.#host.delayMs(channel));
  }

  #onFailed(
    channel: ChannelIndex,
    epoch: Epoch,
    outcome: Exclude<RedialOutcome, 'attached'>,
  ): void {
    const { book } = this.#host;
    if (book.setFailed(channel, epoch).isToAnswer) this.#host.answer(channel, epoch);
    if (outcome === 'unknown' || (outcome === 'refused' && book.living.length === 0)) {
      this.#host.onGone(outcome);
      return;
    }
    this.soon(channel, this.#host.delayMs(channel));
  }

  stop(): void {
    for (const { cancel } of this.#waiting.values()) cancel();
  }
}
