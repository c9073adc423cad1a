// A session that comes back by itself: after a loss the same peer is called again, at growing
// intervals, a bounded number of times. The next session has the listeners of the lost one.

import { randomInt } from 'node:crypto';
import { checkFlag, checkOptions, checkTime, checkWhole } from '../base/argument.js';
import { TcpxError, toTcpxError } from '../base/errors.js';
import type { LiveSession } from './live-session.js';

/** How a lost session is made anew; see `ConnectOptions.reconnect`. */
export interface ReconnectOptions {
  /** Attempts after a loss before it is given up; 10 by default. */
  readonly attempts?: number;
  /** Time before the first attempt in ms; doubled after each that failed; 100 by default. */
  readonly delayMs?: number;
  /** The longest time between two attempts, in ms; 5000 by default. */
  readonly delayMsMax?: number;
  /** Also where the peer has closed the session in order; false by default. */
  readonly afterGoodbye?: boolean;
}

const DEFAULTS: Required<ReconnectOptions> = {
  attempts: 10,
  delayMs: 100,
  delayMsMax: 5000,
  afterGoodbye: false,
};

/** Undefined where it was not asked for. */
export function reconnectOptionsOf(
  given: boolean | ReconnectOptions | undefined,
): Required<ReconnectOptions> | undefined {
  if (given === undefined || given === false) return undefined;
  if (given === true) return DEFAULTS;
  checkOptions('connect: reconnect', given, {
    attempts: (what, value) => checkWhole(what, value, 1),
    delayMs: checkTime,
    delayMsMax: checkTime,
    afterGoodbye: checkFlag,
  });
  return { ...DEFAULTS, ...given };
}

/** Watches a session and those that follow it. `after` calls after a time, unless taken back. */
export class Reconnection {
  readonly #options: Required<ReconnectOptions>;
  readonly #after: (delayMs: number, act: () => void) => () => void;
  #takeBack: (() => void) | undefined;
  /** The lost session whose successor is tried for. */
  #lost: LiveSession | undefined;

  constructor(
    options: Required<ReconnectOptions>,
    after: (delayMs: number, act: () => void) => () => void,
  ) {
    this.#options = options;
    this.#after = after;
  }

  keep(session: LiveSession): void {
    const connect = session.reconnect;
    if (connect === undefined) return;
    session.stopReopening = () => this.#stop();
    session.reconnect = async (wait) => {
      this.#stop();
      const next = await connect(wait);
      this.#follow(session, next);
      return next;
    };
    void session.closed.then(() => {
      if (!this.#isWorthIt(session.error)) return;
      this.#lost = session;
      this.#schedule(session, () => connect({ isPatient: false }), 1);
    });
  }

  #stop(): void {
    this.#takeBack?.();
    this.#lost = undefined;
  }

  #isWorthIt(error: TcpxError | undefined): boolean {
    if (error?.code === 'ERR_PEER_GOODBYE') return this.#options.afterGoodbye;
    return error?.isRetryable === true;
  }

  // Somewhat early, each by another part: many clients of one server do not come at once.
  #schedule(session: LiveSession, connect: () => Promise<LiveSession>, attempt: number): void {
    const { delayMs, delayMsMax } = this.#options;
    const longestMs = Math.min(delayMs * 2 ** (attempt - 1), delayMsMax);
    const waitMs = (longestMs * (50 + randomInt(51))) / 100;
    this.#takeBack = this.#after(waitMs, () => void this.#try(session, connect, attempt));
  }

  async #try(
    session: LiveSession,
    connect: () => Promise<LiveSession>,
    attempt: number,
  ): Promise<void> {
    try {
      const next = await connect();
      if (this.#lost !== session) {
        // Its owner has closed it meanwhile, or made another by itself.
        await next.close();
        return;
      }
      this.#follow(session, next);
      next.events.tell('reopen', next.face);
    } catch (error) {
      if (this.#lost !== session) return;
      this.#onFailed(session, connect, attempt, toTcpxError(error, 'ERR_SYS_CALL', 'reconnect'));
    }
  }

  #onFailed(
    session: LiveSession,
    connect: () => Promise<LiveSession>,
    attempt: number,
    error: TcpxError,
  ): void {
    if (error.isRetryable && attempt < this.#options.attempts) {
      this.#schedule(session, connect, attempt + 1);
      return;
    }
    this.#lost = undefined;
    const what = `reconnect to ${session.peer}: given up after ${attempt} attempts`;
    const { code, facts } = error;
    session.events.tell(
      'reopenFailed',
      new TcpxError(code, `${what}: ${error.message}`, { cause: error, facts }),
    );
  }

  #follow(session: LiveSession, next: LiveSession): void {
    this.#lost = undefined;
    session.events.copyTo(next.events);
    this.keep(next);
  }
}
