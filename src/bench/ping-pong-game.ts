// The turns of a ping-pong, in slices: within one the thread polls and nobody else has it, between
// two the event loop hears signals, so that either end can stop the game.

import { setImmediate as turnOfEventLoop } from 'node:timers/promises';
import type { PingPongEnd } from './ping-pong.js';

/** Between two looks at signals: far more than a turn, and no time for who presses Ctrl-C. */
const SLICE_MS = 100;
/** Spins between two looks at the clock, less one; a power of two, less one. */
const SPINS_MASK = 0x3f;

export interface PingPongRules {
  readonly count: number;
  /** The end that begins, and measures. */
  readonly isFirst: boolean;
  /** Without an answer for so long the game is lost. */
  readonly timeoutMs: number;
}

export class PingPongGame {
  readonly #end: PingPongEnd;
  readonly #rules: PingPongRules;
  #turn = 0;
  /** The turn is under way: a slice may end before its answer comes. */
  #isSent = false;
  #startMs = 0;
  #dueMs: number;

  constructor(end: PingPongEnd, rules: PingPongRules) {
    this.#end = end;
    this.#rules = rules;
    this.#dueMs = performance.now() + rules.timeoutMs;
  }

  get turns(): number {
    return this.#turn;
  }

  get isDone(): boolean {
    return this.#turn >= this.#rules.count;
  }

  /** Half round trips in µs, where this end is the first; null when the game is lost. */
  play(sliceMs: number): number[] | null {
    let nowMs = performance.now();
    const untilMs = nowMs + sliceMs;
    const firstTurn = this.#turn;
    const halfTrips: number[] = [];
    if (!this.#isSent) this.#startMs = nowMs;
    while (!this.isDone && nowMs < untilMs) {
      if (!this.#takeTurn(untilMs)) break;
      nowMs = performance.now();
      if (this.#rules.isFirst) halfTrips.push(((nowMs - this.#startMs) * 1000) / 2);
      this.#startMs = nowMs;
    }
    if (this.#turn > firstTurn) this.#dueMs = performance.now() + this.#rules.timeoutMs;
    return !this.isDone && this.#isLost() ? null : halfTrips;
  }

  #takeTurn(untilMs: number): boolean {
    const { isFirst } = this.#rules;
    if (isFirst && !this.#isSent) this.#end.send(this.#turn);
    this.#isSent = isFirst;
    if (!awaitTurn(this.#end, this.#turn, untilMs)) return false;
    if (!isFirst) this.#end.send(this.#turn);
    this.#isSent = false;
    this.#turn++;
    return true;
  }

  // A peer that hung up never comes.
  #isLost(): boolean {
    this.#end.engine.poll();
    return performance.now() > this.#dueMs || !this.#end.session.isReady;
  }
}

export interface PingPongPlay {
  /** Asked between slices: whether to leave the game. */
  isStopped(): boolean;
  /** Half round trips of a slice, from this turn on. */
  onSlice(firstTurn: number, halfTrips: readonly number[]): void;
}

/** Plays to the end, slice by slice; the event loop has its turn between them. */
export async function playOut(
  game: PingPongGame,
  play: PingPongPlay,
): Promise<'done' | 'stopped' | 'lost'> {
  while (!game.isDone) {
    if (play.isStopped()) return 'stopped';
    const firstTurn = game.turns;
    const halfTrips = game.play(SLICE_MS);
    if (halfTrips === null) return 'lost';
    play.onSlice(firstTurn, halfTrips);
    await turnOfEventLoop();
  }
  return 'done';
}

function awaitTurn(end: PingPongEnd, turn: number, untilMs: number): boolean {
  for (let spins = 1; !end.hasCome(turn); spins++) {
    end.rest();
    if ((spins & SPINS_MASK) === 0 && performance.now() > untilMs) return false;
  }
  return true;
}
