// The server cannot dial: it asks the client to attach a channel anew, until something moves. The
// client, with nothing in flight, may not know that its last connection is gone.

import type { ChannelIndex } from '../base/quantity.js';
import { RETRY_LAST_MS } from './retry-delay.js';

interface RedialAskHost {
  nowUs(): number;
  after(delayMs: number, act: () => void): () => void;
  /** False: something moves, or nothing ever will. */
  isNeeded(): boolean;
  ask(channel: ChannelIndex): void;
}

export class RedialAsk {
  readonly #host: RedialAskHost;
  /** By channel, when the client was told last that it is wanted. */
  readonly #wantedUs = new Map<ChannelIndex, number>();
  #next:
    | { readonly channel: ChannelIndex; readonly atUs: number; readonly cancel: () => void }
    | undefined;

  constructor(host: RedialAskHost) {
    this.#host = host;
  }

  /** After this time, unless it is asked earlier anyway; then again and again. */
  soon(channel: ChannelIndex, delayMs: number): void {
    const atUs = this.#host.nowUs() + delayMs * 1000;
    if (this.#next !== undefined && this.#next.atUs <= atUs) return;
    this.#next?.cancel();
    const cancel = this.#host.after(delayMs, () => {
      this.#next = undefined;
      if (!this.#host.isNeeded()) return;
      this.#host.ask(channel);
      this.soon(channel, RETRY_LAST_MS);
    });
    this.#next = { channel, atUs, cancel };
  }

  /** For one that nobody has made yet: posts want the same channel again and again. */
  want(channel: ChannelIndex): void {
    const nowUs = this.#host.nowUs();
    const wantedUs = this.#wantedUs.get(channel) ?? Number.NEGATIVE_INFINITY;
    if (nowUs - wantedUs < RETRY_LAST_MS * 1000) return;
    this.#wantedUs.set(channel, nowUs);
    this.#host.ask(channel);
  }

  /** What would be asked later is asked now. */
  askNow(): void {
    if (this.#next !== undefined) this.soon(this.#next.channel, 0);
  }

  stop(): void {
    this.#next?.cancel();
  }
}
