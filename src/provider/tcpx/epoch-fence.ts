// The word of the other end that nothing of an epoch lands there any more: FENCED, once from each
// end, on the connection of the epoch, or the set-up of a later epoch, before which each end has
// taken down what was. Whoever waits for it waits for a limited time.

import type { TcpxError } from '../../base/errors.js';
import { encodeMatch, encodeReason, MatchKind } from '../../wire/match-frame.js';
import type { MatchConnection } from './match-connection.js';

/** How long the peer's words are waited for before a transfer is told of the end. */
const FENCE_MS = 2000;
/** After this time nobody waits for a word on a connection whose epoch is over. */
const LAST_WORDS_MS = 2 * FENCE_MS;
/** Between two attempts to have a later epoch. */
const ASK_MS = 250;

type After = (delayMs: number, act: () => void) => () => void;

/** The fence of one epoch at the peer. */
export class PeerFence {
  readonly #after: After;
  readonly #waiting = new Set<(detail: string | undefined) => void>();
  #detail: string | undefined;
  #isGivenUp = false;

  constructor(after: After) {
    this.#after = after;
  }

  /** It stands. */
  confirm(detail: string): void {
    this.#detail ??= detail;
    for (const end of [...this.#waiting]) end(this.#detail);
  }

  /** The session ends, and nobody waits any more. */
  giveUp(): void {
    this.#isGivenUp = true;
    for (const end of [...this.#waiting]) end(undefined);
  }

  /** What the peer says with it, in a moment where it can; undefined where it says nothing. */
  hear(canSay: boolean): Promise<string | undefined> {
    return this.#wait(canSay ? FENCE_MS : 0);
  }

  /** The same, while the peer is asked again and again for a later epoch. */
  async seek(limitMs: number, ask: () => void): Promise<string | undefined> {
    let stopClock = (): void => undefined;
    const askOn = (): void => {
      stopClock = this.#after(ASK_MS, askOn);
      ask();
    };
    const heard = this.#wait(limitMs);
    askOn();
    void heard.then(() => stopClock());
    return await heard;
  }

  #wait(limitMs: number): Promise<string | undefined> {
    if (this.#detail !== undefined || this.#isGivenUp) return Promise.resolve(this.#detail);
    return new Promise((resolve) => {
      const end = (detail: string | undefined): void => {
        this.#waiting.delete(end);
        stopClock();
        resolve(detail);
      };
      const stopClock = this.#after(limitMs, () => end(undefined));
      this.#waiting.add(end);
    });
  }
}

export class EpochFences {
  readonly #after: After;
  readonly #byStream = new WeakMap<MatchConnection, PeerFence>();
  /** Of epochs that are over, and whose peer has not confirmed it. */
  readonly #open = new Set<PeerFence>();
  /** Connections with last words, and what stops the clock of each. */
  readonly #closing = new Map<MatchConnection, () => void>();

  constructor(after: After) {
    this.#after = after;
  }

  /** Of an epoch that ends now; without a connection the peer has had no part in it. */
  begin(stream: MatchConnection | undefined): PeerFence {
    const fence = new PeerFence(this.#after);
    if (stream === undefined) {
      fence.confirm('');
    } else {
      this.#byStream.set(stream, fence);
      this.#open.add(fence);
    }
    return fence;
  }

  /** False where the peer cannot be told. */
  tellDown(stream: MatchConnection | undefined, { code, message }: TcpxError): boolean {
    if (stream?.isOpen !== true) return false;
    try {
      const body = encodeReason({ code, reason: message });
      stream.send(encodeMatch({ kind: MatchKind.Down }, body));
      return true;
    } catch {
      // A peer that takes no frames confirms nothing either.
      return false;
    }
  }

  onFenced(stream: MatchConnection, detail: string): void {
    const fence = this.#byStream.get(stream);
    if (fence === undefined) return;
    this.#open.delete(fence);
    fence.confirm(detail);
  }

  /** The peer has set up a later epoch: nothing of those before lands there any more. */
  onLaterEpoch(): void {
    for (const fence of this.#open) fence.confirm('');
    this.#open.clear();
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
    const stopClock = this.#after(LAST_WORDS_MS, () => this.#close(stream));
    this.#closing.set(stream, stopClock);
  }

  /** Clocks that went on would keep a process that has nothing else to do. */
  closeAll(): void {
    for (const fence of this.#open) fence.giveUp();
    this.#open.clear();
    for (const stream of [...this.#closing.keys()]) this.#close(stream);
  }

  #close(stream: MatchConnection): void {
    this.#closing.get(stream)?.();
    this.#closing.delete(stream);
    stream.close();
  }
}
