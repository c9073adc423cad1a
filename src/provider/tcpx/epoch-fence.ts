// The word of the other end that nothing of an epoch lands there any more: FENCED, once from each
// end, on the connection of the epoch. Whoever waits for it waits for a limited time.

import { encodeMatch, encodeReason, MatchKind } from '../../wire/match-frame.js';
import type { MatchConnection } from './match-connection.js';

const FENCE_MS = 2000;
/** After this time nobody waits for a word on a connection whose epoch is over. */
export const LAST_WORDS_MS = 2 * FENCE_MS;

export class EpochFences {
  readonly #after: (delayMs: number, act: () => void) => unknown;
  readonly #waiting = new WeakMap<MatchConnection, (detail: string) => void>();

  constructor(after: (delayMs: number, act: () => void) => unknown) {
    this.#after = after;
  }

  /** What the peer says with it; undefined where it does not say it in time. */
  wait(stream: MatchConnection): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#waiting.set(stream, resolve);
      this.#after(FENCE_MS, () => resolve(undefined));
    });
  }

  onFenced(stream: MatchConnection, detail: string): void {
    this.#waiting.get(stream)?.(detail);
  }

  /** Nothing lands here any more; and what this end knows of the end of the epoch. */
  say(stream: MatchConnection, known: readonly string[]): void {
    if (!stream.isOpen) return;
    const reason = known.filter((text) => text !== '').join('; ');
    try {
      stream.send(encodeMatch({ kind: MatchKind.Fenced }, encodeReason({ code: '', reason })));
    } catch {
      // A peer that takes no frames has to do without.
    }
  }
}
