import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countCollections, type MicroCase, measureCase } from './micro-bench.js';

function spin(us: number): void {
  const endMs = performance.now() + us / 1000;
  while (performance.now() < endMs);
}

test('micro: the figure is time per operation, and the case is closed', async () => {
  const rounds: number[] = [];
  let isClosed = false;
  const one: MicroCase = {
    name: 'spin',
    operations: 40,
    open: () => ({
      run: (operations) => {
        rounds.push(operations);
        for (let index = 0; index < operations; index++) spin(100);
      },
      close: () => {
        isClosed = true;
      },
    }),
  };
  const figure = await measureCase(one, { rounds: 3, scale: 0.5 });
  assert.deepEqual(rounds, [20, 20, 20, 20, 20, 20], 'three for warm-up, three measured');
  assert.ok(figure.nsPerOperation.min >= 100_000, `${figure.nsPerOperation.min} ns`);
  assert.ok(figure.nsPerOperation.p50 <= figure.nsPerOperation.max);
  assert.ok(isClosed);
});

test('micro: a case that allocates shows collector runs, others outside do not count', async () => {
  const kept: object[] = [];
  const work = () => {
    for (let index = 0; index < 2_000_000; index++) kept[index & 1023] = { index };
  };
  const inside = await countCollections(() => {
    const startMs = performance.now();
    work();
    return [{ startMs, endMs: performance.now() }];
  });
  assert.ok(inside.collections > 0);
  const outside = await countCollections(() => {
    work();
    const startMs = performance.now();
    return [{ startMs, endMs: startMs }];
  });
  assert.equal(outside.collections, 0);
});
