import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { afterMs, sleepMs, systemClock, withinMs } from './clock.js';

test('clock: never goes back', () => {
  let last = systemClock.nowUs();
  for (let count = 0; count < 1000; count++) {
    const now = systemClock.nowUs();
    assert.ok(now >= last);
    last = now;
  }
});

test('clock: counts microseconds, and a sleep lasts at least its time', async () => {
  const startUs = systemClock.nowUs();
  await sleepMs(20);
  const elapsedUs = systemClock.nowUs() - startUs;
  // A timer may fire up to a millisecond early; the upper bound only catches a wrong unit.
  assert.ok(elapsedUs >= 19_000, `${elapsedUs} µs`);
  assert.ok(elapsedUs < 10_000_000, `${elapsedUs} µs`);
});

test('clock: another thread sees the same time', async () => {
  const url = new URL('./clock.js', import.meta.url).href;
  const code = `import('${url}').then(({ systemClock }) => {
    require('node:worker_threads').parentPort.postMessage(systemClock.nowUs());
  });`;
  await sleepMs(20);
  const beforeUs = systemClock.nowUs();
  const worker = new Worker(code, { eval: true });
  const [thereUs] = (await once(worker, 'message')) as [number];
  assert.ok(thereUs > beforeUs && thereUs < systemClock.nowUs(), `${thereUs - beforeUs} µs`);
  await worker.terminate();
});

test('clock: a promise within its time wins, and its timer does not stay', async () => {
  const timersBefore = activeTimers();
  assert.equal(await withinMs(Promise.resolve(7), 60_000), 7);
  await assert.rejects(withinMs(Promise.reject(new Error('no')), 60_000), /no/);
  assert.equal(activeTimers(), timersBefore);
  assert.equal(await withinMs(new Promise(() => undefined), 1), undefined);
});

test('clock: a time longer than Node can wait for is waited for, Infinity too', async () => {
  const acted: number[] = [];
  const stops = [2 ** 31, 2 ** 40, Number.POSITIVE_INFINITY].map((delayMs) =>
    afterMs(delayMs, () => acted.push(delayMs)),
  );
  const stop = afterMs(1, () => acted.push(1));
  await sleepMs(30);
  assert.deepEqual(acted, [1]);
  for (const end of [...stops, stop]) end();
  assert.equal(
    await withinMs(
      sleepMs(5).then(() => 'done'),
      Number.POSITIVE_INFINITY,
    ),
    'done',
  );
});

function activeTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}
