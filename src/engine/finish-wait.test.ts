import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createFixedMemory, destroyFixedMemory } from '../os/fixed-memory.js';
import { SpinRest } from '../os/spin-rest.js';
import { ENGINE_WAITERS } from '../provider/tcp/lane/layout.js';
import { FinishWait } from './finish-wait.js';

const NEVER = Number.POSITIVE_INFINITY;
const shared = createFixedMemory(4096);
after(() => destroyFixedMemory(shared));

/** Every look takes a microsecond; sleeps take none of this clock's time. */
class Waiting {
  readonly #wait: FinishWait;
  #at = NEVER;
  #looks = 0;
  #nowUs = 0;
  /** What a yield costs. */
  lossUs = 0;

  constructor(spinLimitUs: number) {
    const clock = { nowUs: () => this.#nowUs };
    const rest = new SpinRest(clock, () => this.pass(this.lossUs));
    this.#wait = new FinishWait(shared, spinLimitUs, clock, () => this.#look(), rest);
  }

  pass(durationUs: number): void {
    this.#nowUs += durationUs;
  }

  #look(): number {
    this.#nowUs++;
    return ++this.#looks >= this.#at ? 1 : 0;
  }

  /** How often one wait looks, where something comes with the `at`th look. */
  looksOf(at: number, timeoutMs: number): number {
    this.#at = at;
    this.#looks = 0;
    this.#wait.wait(timeoutMs);
    assert.equal(shared.int32[ENGINE_WAITERS], 0, 'lanes need wake nobody any more');
    return this.#looks;
  }

  /** Nothing comes for a while. */
  tire(timeoutMs: number): void {
    for (let count = 0; count < 16; count++) this.looksOf(NEVER, timeoutMs);
  }
}

test('finish wait: what comes at the first look is taken without a sleep', () => {
  assert.equal(new Waiting(200).looksOf(1, 1000), 1);
});

test('finish wait: where nothing comes in time it soon sleeps without looking again', () => {
  const waiting = new Waiting(200);
  assert.equal(waiting.looksOf(NEVER, 1), 201, 'and the look before the sleep');
  waiting.tire(1);
  assert.equal(waiting.looksOf(NEVER, 1), 1);
});

test('finish wait: a limit above the longest sleep tires as well', () => {
  const waiting = new Waiting(20_000);
  assert.equal(waiting.looksOf(NEVER, 50), 10_001, 'not longer at a time than it sleeps');
  waiting.tire(50);
  assert.equal(waiting.looksOf(NEVER, 50), 1);
});

test('finish wait: one that went to sleep and was told at once looks again the next time', () => {
  const waiting = new Waiting(200);
  waiting.tire(1);
  assert.equal(waiting.looksOf(1, 1), 1);
  assert.equal(waiting.looksOf(NEVER, 1), 26);
});

test('finish wait: a wait that its caller cuts short changes nothing', () => {
  const waiting = new Waiting(200);
  for (let count = 0; count < 5; count++) assert.equal(waiting.looksOf(NEVER, 0.1), 101);
});

test('finish wait: one that loses its core in a yield sleeps at once for a while', () => {
  const waiting = new Waiting(20_000);
  waiting.lossUs = 3000;
  assert.equal(waiting.looksOf(NEVER, 50), 2, 'before the loss and before the sleep');
  waiting.lossUs = 0;
  assert.equal(waiting.looksOf(NEVER, 50), 1);
  waiting.pass(5000);
  assert.ok(waiting.looksOf(NEVER, 50) > 1000, 'it looks again');
});
