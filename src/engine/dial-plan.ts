// In which order ways to a peer are tried, for how long each, and when to give up. Pure: the time
// and the outcome of each attempt go in.

import { assert } from '../base/assert.js';
import type { TcpxError } from '../base/errors.js';
import { type ChannelRoute, distinctRoutes } from './nic-map.js';

/** All ways have refused: a peer that starts just now listens soon. */
const RETRY_MS = 50;
/** A lost connection is tried again and again: one attempt is short. */
const REDIAL_MS = 1000;
/** One of several ways to the peer: another may carry. */
const ALTERNATIVE_MS = 300;

export type DialStep =
  | { readonly kind: 'dial'; readonly way: ChannelRoute; readonly timeoutMs: number }
  | { readonly kind: 'rest'; readonly untilUs: number }
  | { readonly kind: 'give up'; readonly error: TcpxError };

interface DialRules {
  readonly ways: readonly ChannelRoute[];
  /** Of an attempt behind which there is another way, and of the last. */
  readonly attemptMs: number;
  readonly lastMs: number;
  /** What takes the next way: any failure, or a refusal alone. */
  readonly goesOn: 'after any failure' | 'after a refusal';
  /** Whether all ways are tried again when each has refused. */
  readonly isPatient: boolean;
  readonly endUs: number;
}

/** Each way once; whoever wants more makes another plan. */
const ONCE = {
  goesOn: 'after any failure',
  isPatient: false,
  endUs: Number.POSITIVE_INFINITY,
} as const;

export class DialPlan {
  readonly #rules: DialRules;
  #attempts = 0;
  #isDialling = false;
  #restUntilUs = Number.NEGATIVE_INFINITY;
  #failure: TcpxError | undefined;

  private constructor(rules: DialRules) {
    assert(rules.ways.length > 0, 'there is a way, if only that of the routing table');
    this.#rules = rules;
  }

  /**
   * The first connection to a peer, by every address of its name. One that refuses may not listen
   * yet: with patience, all are tried again until the time is over.
   */
  static first(hosts: readonly string[], nic: string, limit: FirstLimit): DialPlan {
    const { nowUs, timeoutMs, isPatient } = limit;
    return new DialPlan({
      ways: hosts.map((host) => ({ nic, host })),
      attemptMs: timeoutMs,
      lastMs: timeoutMs,
      goesOn: 'after a refusal',
      isPatient,
      endUs: nowUs + timeoutMs * 1000,
    });
  }

  /** A connection of a channel: by its own way alone, again and again where it was lost. */
  static channel(way: ChannelRoute, timeoutMs = REDIAL_MS): DialPlan {
    return new DialPlan({ ...ONCE, ways: [way], attemptMs: timeoutMs, lastMs: timeoutMs });
  }

  /** A control connection in place of a lost one: where it was, then by the ways of channels. */
  static alternatives(ways: readonly ChannelRoute[]): DialPlan {
    return new DialPlan({ ...ONCE, ways, attemptMs: ALTERNATIVE_MS, lastMs: REDIAL_MS });
  }

  next(nowUs: number): DialStep {
    assert(!this.#isDialling, 'an attempt is over before the next');
    const { ways } = this.#rules;
    if (this.#failure !== undefined) return { kind: 'give up', error: this.#failure };
    if (nowUs < this.#restUntilUs) return { kind: 'rest', untilUs: this.#restUntilUs };
    const way = ways[this.#attempts % ways.length];
    assert(way !== undefined, 'an attempt has a way');
    this.#isDialling = true;
    return { kind: 'dial', way, timeoutMs: this.#timeoutMs(nowUs) };
  }

  // What is left of all the time; at least something, so that the error is that of the network.
  #timeoutMs(nowUs: number): number {
    const { ways, attemptMs, lastMs, endUs } = this.#rules;
    const limitMs = this.#attempts % ways.length === ways.length - 1 ? lastMs : attemptMs;
    return Math.max(1, Math.min(limitMs, Math.ceil((endUs - nowUs) / 1000)));
  }

  onFailed(error: TcpxError, nowUs: number): void {
    assert(this.#isDialling, 'only an attempt fails');
    this.#isDialling = false;
    this.#attempts++;
    const { ways, goesOn, isPatient, endUs } = this.#rules;
    const isRoundOver = this.#attempts % ways.length === 0;
    const isOver = (isRoundOver && !isPatient) || nowUs + RETRY_MS * 1000 >= endUs;
    if (isOver || (goesOn === 'after a refusal' && error.facts['isRefused'] !== true)) {
      this.#failure = error;
    } else if (isRoundOver) {
      this.#restUntilUs = nowUs + RETRY_MS * 1000;
    }
  }
}

export interface FirstLimit {
  readonly nowUs: number;
  readonly timeoutMs: number;
  readonly isPatient: boolean;
}

/** Where a control connection was before, then by the ways of channels that live. */
export function controlWays(
  own: ChannelRoute,
  channels: readonly ChannelRoute[],
  living: readonly number[],
): ChannelRoute[] {
  return distinctRoutes([own, ...channels.filter((_, channel) => living.includes(channel))]);
}
