import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { sleepMs } from '../../base/clock.js';
import { FFI_WAIT_MS_MAX } from './epoll.js';
import { EAGAIN, ETIMEDOUT } from './errno.js';
import { waitFutex, wakeFutex } from './futex.js';
import { mapMemory, viewMapping } from './mapping.js';

const mapping = mapMemory(4096);
const words = new Int32Array(viewMapping(mapping));

test('futex: a word that differs already is EAGAIN, at once', () => {
  words[0] = 5;
  const startMs = performance.now();
  assert.equal(waitFutex(mapping.addr, 4, 100), -EAGAIN);
  assert.ok(performance.now() - startMs < 50);
});

test('futex: nobody wakes: ETIMEDOUT after the time, never beyond the limit', () => {
  words[0] = 5;
  let startMs = performance.now();
  assert.equal(waitFutex(mapping.addr, 5, 20), -ETIMEDOUT);
  assert.ok(performance.now() - startMs >= 19);
  startMs = performance.now();
  assert.equal(waitFutex(mapping.addr, 5, 60_000), -ETIMEDOUT);
  const tookMs = performance.now() - startMs;
  assert.ok(tookMs >= FFI_WAIT_MS_MAX - 5 && tookMs < 2000, `${tookMs} ms`);
});

test('futex: a wake without sleepers wakes none', () => {
  assert.equal(wakeFutex(mapping.addr, 10), 0);
});

test('futex: a sleeping thread is woken by another', async () => {
  words[0] = 0;
  words[1] = 0;
  const worker = new Worker(new URL('../../../test/support/futex-worker.js', import.meta.url), {
    workerData: { addr: mapping.addr },
  });
  while (Atomics.load(words, 1) === 0) await sleepMs(1);
  const answered = once(worker, 'message');
  let woken = 0;
  for (let tries = 0; tries < 1000 && woken === 0; tries++) {
    woken = wakeFutex(mapping.addr, 1);
    if (woken === 0) await sleepMs(1);
  }
  assert.equal(woken, 1);
  Atomics.store(words, 0, 1);
  wakeFutex(mapping.addr, 1);
  const [outcome] = (await answered) as [number];
  assert.ok(outcome === 0 || outcome === -EAGAIN, `wait returned ${outcome}`);
  await worker.terminate();
});
