// When the service looks again, and when it sleeps.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SpinRest } from '../os/spin-rest.js';
import { Pump, type Pumped } from './pump.js';

const SPIN_US = 100;

/** A client, a clock that every turn moves by a microsecond, and a core that others may want. */
class World implements Pumped {
  nowUs = 1_000_000;
  /** What the next yield costs. */
  lossUs = 0;
  turns = 0;
  readonly #pump: Pump;
  #onAsleep: () => void = () => undefined;

  constructor() {
    const clock = { nowUs: () => this.nowUs };
    const rest = new SpinRest(clock, () => {
      this.nowUs += this.lossUs;
    });
    this.#pump = new Pump(new Set([this]), SPIN_US, clock, rest);
  }

  turn(): boolean {
    this.turns++;
    this.nowUs++;
    return false;
  }

  sleep(): boolean {
    this.#onAsleep();
    return true;
  }

  wake(): void {
    // The client's side of it is tried elsewhere.
  }

  /** Something came just now; how many turns it has until it sleeps again. */
  async turnsOfWake(): Promise<number> {
    this.turns = 0;
    const asleep = new Promise<void>((resolve) => (this.#onAsleep = resolve));
    this.#pump.wake();
    await asleep;
    return this.turns;
  }
}

test('pump: after something came it looks for as long as it may, then sleeps', async () => {
  const world = new World();
  await world.turnsOfWake();
  assert.ok((await world.turnsOfWake()) >= SPIN_US / 2);
});

test('pump: one that loses its core in a yield sleeps at once for a while', async () => {
  const world = new World();
  world.lossUs = 3000;
  assert.equal(await world.turnsOfWake(), 2, 'before the loss and before the sleep');
  world.lossUs = 0;
  assert.equal(await world.turnsOfWake(), 1, 'it still rests');
  world.nowUs += 5000;
  for (let count = 0; count < 4; count++) await world.turnsOfWake();
  assert.ok((await world.turnsOfWake()) >= SPIN_US / 2, 'it looks again');
});
