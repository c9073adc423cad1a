import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LineProgram } from '../../test/service/line-program.js';
import { nextRestUs, REST_US_MAX, REST_US_MIN, SpinRest, YIELD_US_MAX } from './spin-rest.js';

interface Case {
  readonly what: string;
  readonly restUs: number;
  readonly soundUs: number;
  readonly yieldUs: number;
  readonly nextUs: number;
}

const CASES: readonly Case[] = [
  { what: 'yield of nothing', restUs: 0, soundUs: 0, yieldUs: 0, nextUs: 0 },
  { what: 'longest that is no loss', restUs: 0, soundUs: 0, yieldUs: 500, nextUs: 0 },
  { what: 'first loss', restUs: 0, soundUs: 0, yieldUs: 501, nextUs: 1000 },
  { what: 'first loss after long peace', restUs: 0, soundUs: 9e6, yieldUs: 4000, nextUs: 1000 },
  { what: 'no loss after a rest', restUs: 80_000, soundUs: 0, yieldUs: 500, nextUs: 0 },
  { what: 'loss right after a rest', restUs: 5000, soundUs: 0, yieldUs: 4000, nextUs: 10_000 },
  { what: 'loss soon after', restUs: 5000, soundUs: 4999, yieldUs: 4000, nextUs: 10_000 },
  { what: 'loss long after', restUs: 5000, soundUs: 5000, yieldUs: 4000, nextUs: 1000 },
  { what: 'loss long after many', restUs: 500_000, soundUs: 5e5, yieldUs: 4000, nextUs: 1000 },
  { what: 'worth its loss', restUs: 500_000, soundUs: 32_000, yieldUs: 4000, nextUs: 1000 },
  { what: 'not worth it', restUs: 80_000, soundUs: 31_999, yieldUs: 4000, nextUs: 160_000 },
  { what: 'last doubling', restUs: 320_000, soundUs: 0, yieldUs: 4000, nextUs: 500_000 },
  { what: 'never longer', restUs: 500_000, soundUs: 0, yieldUs: 1e7, nextUs: 500_000 },
];

/** A thread whose clock moves by what its yields take. */
class Looking {
  #nowUs = 1_000_000;
  #yieldUs = 1;
  readonly #rest = new SpinRest({ nowUs: () => this.#nowUs }, () => {
    this.#nowUs += this.#yieldUs;
  });

  /** Another thread takes the core for so long; how long this one rests afterwards. */
  lose(yieldUs: number): number {
    this.#yieldUs = yieldUs;
    this.#rest.yield();
    const lostUs = this.#nowUs;
    while (this.#rest.isResting(this.#nowUs)) this.#nowUs += 1000;
    return this.#nowUs - lostUs;
  }

  /** Looks for so long, and every yield takes a microsecond of ten. */
  look(durationUs: number): void {
    this.#yieldUs = 1;
    for (let us = 0; us < durationUs; us += 10) {
      this.#nowUs += 9;
      this.#rest.yield();
      assert.equal(this.#rest.isResting(this.#nowUs), false);
    }
  }

  idle(durationUs: number): void {
    this.#nowUs += durationUs;
  }
}

for (const { what, restUs, soundUs, yieldUs, nextUs } of CASES) {
  test(`spin rest: ${what}`, () => {
    assert.equal(nextRestUs(restUs, soundUs, yieldUs), nextUs);
  });
}

test('spin rest: the C library has the same rule', async () => {
  const program = new LineProgram();
  try {
    for (const { what, ...times } of CASES) {
      const [rest, sound, yielded, next] = [
        times.restUs,
        times.soundUs,
        times.yieldUs,
        times.nextUs,
      ].map((us) => us * 1000);
      assert.equal(await program.do(`rest ${rest} ${sound} ${yielded}`), `${next}`, what);
    }
  } finally {
    await program.kill();
  }
});

test('spin rest: one that loses its core again and again rests longer each time', () => {
  const looking = new Looking();
  const rests = Array.from({ length: 11 }, () => looking.lose(3000));
  const doubled = [1, 2, 4, 8, 16, 32, 64, 128, 256, 500, 500].map((ms) => ms * 1000);
  assert.deepEqual(rests, doubled);
});

test('spin rest: idle time after a loss is no peace, looking for as long as it rested is', () => {
  const looking = new Looking();
  looking.lose(3000);
  looking.idle(10_000_000);
  assert.equal(looking.lose(3000), 2 * REST_US_MIN);
  looking.look(2 * REST_US_MIN + 100);
  assert.equal(looking.lose(3000), REST_US_MIN);
});

test('spin rest: threads that take turns on a core never rest', () => {
  const looking = new Looking();
  for (let count = 0; count < 1000; count++) assert.equal(looking.lose(YIELD_US_MAX), 0);
  assert.ok(looking.lose(YIELD_US_MAX + 1) < REST_US_MAX);
});
