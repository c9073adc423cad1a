import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../base/assert.js';
import { planChunks } from './chunk-plan.js';
import { fairFlight, LINK_FLIGHT, LINK_FLOATS, LINK_RATE, RATE_UNKNOWN } from './link-share.hot.js';

const KIB = 1024;
const MIB = 1024 * KIB;
/** Bytes per µs of 1 Gbit/s. */
const GIGABIT = 125;

class Links {
  readonly floats: Float64Array;
  readonly rates: readonly number[];
  /** By link: bytes of the chunks that it holds, oldest first. */
  readonly #queues: number[][];

  constructor(rates: readonly number[], known: readonly number[] = rates) {
    this.rates = rates;
    this.#queues = rates.map(() => []);
    this.floats = new Float64Array(rates.length * LINK_FLOATS);
    for (const [link, rate] of known.entries()) this.floats[link * LINK_FLOATS + LINK_RATE] = rate;
  }

  share(link: number, unclaimed: number): number {
    return fairFlight(this.floats, 0, this.rates.length, link, unclaimed);
  }

  #flight(link: number): number {
    return at(this.floats, link * LINK_FLOATS + LINK_FLIGHT);
  }

  #add(link: number, bytes: number): void {
    this.floats[link * LINK_FLOATS + LINK_FLIGHT] = this.#flight(link) + bytes;
  }

  /** µs until all of it is delivered: a link claims whenever the rule lets it. */
  transferUs(bytes: number): number {
    const chunks = planChunks(onePair(bytes), {
      chunkBytes: 512 * KIB,
      channels: this.rates.length,
      pairsMax: 1000,
    }).map((chunk) => chunk.bytes);
    const freeAtUs = this.rates.map(() => 0);
    let unclaimed = bytes;
    let nowUs = 0;
    for (;;) {
      for (const link of this.rates.keys()) {
        for (let next = chunks[0]; next !== undefined; next = chunks[0]) {
          const flight = this.#flight(link);
          if (flight > 0 && flight + next / 2 > this.share(link, unclaimed)) break;
          if (flight === 0) freeAtUs[link] = nowUs + next / at(this.rates, link);
          at(this.#queues, link).push(next);
          this.#add(link, next);
          unclaimed -= next;
          chunks.shift();
        }
      }
      const busy = this.#queues.flatMap((queue, link) => (queue.length > 0 ? [link] : []));
      const first = busy.sort((a, b) => at(freeAtUs, a) - at(freeAtUs, b))[0];
      if (first === undefined) return nowUs;
      nowUs = at(freeAtUs, first);
      this.#add(first, -(at(this.#queues, first).shift() ?? 0));
      freeAtUs[first] = nowUs + (at(this.#queues, first)[0] ?? 0) / at(this.rates, first);
    }
  }
}

function onePair(bytes: number) {
  const column = (value: number) => Float64Array.of(value);
  return {
    count: 1,
    localAddr: column(0),
    remoteOffset: column(0),
    bytes: column(bytes),
    remoteIndex: column(0),
  };
}

test('link share: equal links take equal parts, a channel that is not there none', () => {
  const links = new Links([GIGABIT, GIGABIT, GIGABIT, GIGABIT]);
  for (const link of [0, 1, 2, 3]) assert.equal(links.share(link, 2 * MIB), 512 * KIB);
  const three = new Links([GIGABIT, GIGABIT, GIGABIT, GIGABIT], [GIGABIT, 0, GIGABIT, GIGABIT]);
  assert.equal(three.share(0, 3 * MIB), MIB);
});

test('link share: an unknown rate counts as the best that is known', () => {
  const links = new Links([1, 1, 1], [RATE_UNKNOWN, 100, 50]);
  assert.equal(links.share(0, 2500), 1000);
  assert.equal(links.share(2, 2500), 500);
  const none = new Links([1, 1], [RATE_UNKNOWN, RATE_UNKNOWN]);
  assert.equal(none.share(0, 1000), 500);
});

// Measured so before there was a share: 2 MiB went to 93 % over one of four links.
test('link share: a transfer of any size finishes on all links together', () => {
  const cases = [
    [[1, 1, 1, 1], 256 * KIB, 1],
    [[1, 1, 1, 1], MIB, 0.9],
    [[1, 1, 1, 1], 2 * MIB, 0.9],
    [[1, 1, 1, 1], 64 * MIB, 0.98],
    [[1, 1, 0.5, 0.25], 2 * MIB, 0.8],
    [[1, 1, 0.5, 0.25], 64 * MIB, 0.98],
    [[1, 0.1], 2 * MIB, 0.75],
  ] as const;
  for (const [gigabits, bytes, least] of cases) {
    const rates = gigabits.map((rate) => rate * GIGABIT);
    const idealUs = bytes / rates.reduce((sum, rate) => sum + rate, 0);
    const ratio = idealUs / new Links(rates).transferUs(bytes);
    assert.ok(ratio >= least, `${gigabits.join(' ')} Gbit/s, ${bytes}: ${ratio} of the ideal`);
  }
});
