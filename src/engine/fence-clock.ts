// How long a peer may leave a fence of ours without an answer. Until it has said what landed, what
// was in flight on that channel, and what it had read there, keeps memory in use.

import type { ChannelIndex, Epoch } from '../base/quantity.js';

export class FenceClock {
  readonly #after: (act: () => void) => () => void;
  readonly #onLate: (fence: string) => void;
  readonly #running = new Map<string, () => void>();

  /** `after` calls when the time of one fence is over; it returns what takes that back. */
  constructor(after: (act: () => void) => () => void, onLate: (fence: string) => void) {
    this.#after = after;
    this.#onLate = onLate;
  }

  start(channel: ChannelIndex, epoch: Epoch): void {
    const fence = `${channel}.${epoch}`;
    this.#running.set(
      fence,
      this.#after(() => {
        this.#running.delete(fence);
        this.#onLate(fence);
      }),
    );
  }

  answered(channel: ChannelIndex, epoch: Epoch): void {
    const fence = `${channel}.${epoch}`;
    this.#running.get(fence)?.();
    this.#running.delete(fence);
  }

  stop(): void {
    for (const cancel of this.#running.values()) cancel();
    this.#running.clear();
  }
}
