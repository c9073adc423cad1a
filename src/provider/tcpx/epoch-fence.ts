// The word of the other end that nothing of an epoch lands there any more: FENCED, once from each
// end, on the connection of the epoch. Whoever waits for it waits for a limited time.

import { encodeMatch, encodeReason, MatchKind } from '../../wire/match-frame.js';
import type { MatchConnection } from './match-connection.js';

const FENCE_MS = 2000;
/** After this time nobody waits for a word on a connection whose epoch is over. */
const LAST_WORDS_MS = 2 * FENCE_MS;

export class EpochFences {
  readonly #after: (delayMs: number, act: () => void) => () => void;
  readonly #waiting = new WeakMap<MatchConnection, (detail: string) => void>();
  /** What stops the clock of its last words. */
  readonly #closing = new WeakMap<MatchConnection, () => void>();

  constructor(after: (delayMs: number, act: () => void) => () => void) {
    this.#after = after;
  }

  /** What the peer says with it; undefined where it does not say it in time. */
  wait(stream: MatchConnection): Promise<string | undefined> {
    return new Promise((resolve) => {
      const stopClock = this.#after(FENCE_MS, () => resolve(undefined));
      this.#waiting.set(stream, (detail) => {
        stopClock();
        resolve(detail);
      });
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

  closeLater(stream: MatchConnection): void {
    this.#closing.set(
      stream,
      this.#after(LAST_WORDS_MS, () => stream.close()),
    );
  }

  /** A clock that went on would keep a process that has nothing else to do. */
  closeNow(stream: MatchConnection): void {
    this.#closing.get(stream)?.();
    stream.close();
  }
}
