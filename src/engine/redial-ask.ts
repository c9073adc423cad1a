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
  #next:
    | { readonly channel: ChannelIndex; readonly atUs: number; readonly cancel: () => void }
    | undefined;

  constructor(host: RedialAskHost) {
    this.#host = host;
  }

  /** After this time, unless it is asked earlier anyway; then again and again. */
  askSoon(channel: ChannelIndex, delayMs: number): void {
    const atUs = this.#host.nowUs() + delayMs * 1000;
    if (this.#next !== undefined && this.#next.atUs <= atUs) return;
    this.#next?.cancel();
    const cancel = this.#host.after(delayMs, () => {
      this.#next = undefined;
      if (!this.#host.isNeeded()) return;
      this.#host.ask(channel);
      this.askSoon(channel, RETRY_LAST_MS);
    });
    this.#next = { channel, atUs, cancel };
  }

  /** What would be asked later is asked now. */
  askNow(): void {
    if (this.#next !== undefined) this.askSoon(this.#next.channel, 0);
  }

  stop(): void {
    this.#next?.cancel();
  }
}
