// Virtual time: a queue of what happens when, and clocks of nodes that may jump.

import type { Clock } from '../../../src/base/clock.js';

interface Due {
  readonly atUs: number;
  readonly order: number;
  readonly act: () => void;
}

export class SimTime {
  nowUs = 1_000_000;
  readonly #due: Due[] = [];
  #order = 0;

  at(atUs: number, act: () => void): void {
    const due = { atUs: Math.max(atUs, this.nowUs), order: this.#order++, act };
    let index = this.#due.length;
    while (index > 0 && isBefore(due, this.#due[index - 1])) index--;
    this.#due.splice(index, 0, due);
  }

  after(delayUs: number, act: () => void): void {
    this.at(this.nowUs + delayUs, act);
  }

  get nextUs(): number {
    return this.#due[0]?.atUs ?? Number.POSITIVE_INFINITY;
  }

  /** Does what is due; returns how much that was. */
  run(): number {
    let count = 0;
    for (let due = this.#due[0]; due !== undefined && due.atUs <= this.nowUs; due = this.#due[0]) {
      this.#due.shift();
      due.act();
      count++;
    }
    return count;
  }
}

function isBefore(a: Due, b: Due | undefined): boolean {
  if (b === undefined) return false;
  return a.atUs < b.atUs || (a.atUs === b.atUs && a.order < b.order);
}

/** The monotonic clock of one machine: it may run ahead of others, and jump forward. */
export class NodeClock implements Clock {
  readonly #time: SimTime;
  aheadUs = 0;

  constructor(time: SimTime) {
    this.#time = time;
  }

  nowUs(): number {
    return this.#time.nowUs + this.aheadUs;
  }
}
