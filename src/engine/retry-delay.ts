// How long to wait before the next attempt: not at all after a connection that has lasted, then
// ever longer, so that one that dies at once, again and again, costs little. Pure.

const FIRST_MS = 100;
export const RETRY_LAST_MS = 2000;
/** Within the time after which a session is lost there are this many attempts at least. */
const ATTEMPTS_MIN = 4;

export class RetryDelay {
  readonly #lastMs: number;
  #nextMs = 0;
  #madeUs: number;

  constructor(reconnectMs: number, nowUs: number) {
    this.#lastMs = Math.min(RETRY_LAST_MS, reconnectMs / ATTEMPTS_MIN);
    this.#madeUs = nowUs;
  }

  /** A connection stands. */
  onMade(nowUs: number): void {
    this.#madeUs = nowUs;
  }

  /** Milliseconds until the next attempt, after a connection was lost. */
  afterLoss(nowUs: number): number {
    // Only one that has lasted longer than the longest wait shows that all is well again.
    if (nowUs - this.#madeUs >= RETRY_LAST_MS * 1000) this.#nextMs = 0;
    return this.#take(this.#nextMs);
  }

  /** Milliseconds until the next attempt, after one that came to nothing. */
  afterFailure(): number {
    return this.#take(this.#longer(this.#nextMs / 2));
  }

  #take(delayMs: number): number {
    this.#nextMs = this.#longer(delayMs);
    return delayMs;
  }

  #longer(delayMs: number): number {
    return Math.min(this.#lastMs, Math.max(FIRST_MS, 2 * delayMs));
  }
}
