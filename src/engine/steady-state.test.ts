// Steady state: no allocation per chunk. The collector's runs are counted from inside the thread
// that moves the chunks, after warm-up.

import assert from 'node:assert/strict';
import { PerformanceObserver } from 'node:perf_hooks';
import { after, test } from 'node:test';
import { closeEngines, openPair } from '../../test/support/engine-pair.js';
import { sleepMs } from '../base/clock.js';

after(closeEngines);

const CHUNK_BYTES = 4096;
const CHUNKS_PER_POST = 2000;
/**
 * Both ends run in this thread, and each chunk of the smallest kind is copied out of staging: the
 * address it goes to is boxed for that call, and little else is.
 */
const RUNS_PER_MILLION_MAX = 5;

// What survives makes V8 give new objects all the room that it may. It is a matter of chance
// otherwise whether they have that or half of it, and the collector then runs twice as often.
// They are kept for as long as is counted: to clear them away would be counted too.
function makeRoomForNewObjects(): number[][] {
  const survivors: number[][] = [];
  for (let index = 0; index < 500_000; index++) survivors.push([index, index, index, index]);
  return survivors;
}

for (const operation of ['write', 'read'] as const) {
  test(`steady state: the collector hardly runs during ${operation}s`, async (t) => {
    const pair = await openPair({ 'lane.progress': 'caller', 'flow.chunkBytes': CHUNK_BYTES });
    const bytes = CHUNK_BYTES * CHUNKS_PER_POST;
    const local = pair.client.register(new Uint8Array(bytes));
    const remote = pair.server.register(new Uint8Array(bytes)).descriptor;
    const blocks = [{ local, localOffset: 0, remote, remoteOffset: 0, bytes }];
    const request = pair.session.prepare(operation, blocks);
    assert.equal(request.chunkCount, CHUNKS_PER_POST);
    const post = (count: number): void => {
      for (let index = 0; index < count; index++) {
        const transfer = request.post();
        while (transfer.poll() === 'active') pair.server.poll();
        assert.equal(transfer.status, 'done');
      }
    };
    post(300);
    const survivors = makeRoomForNewObjects();
    await sleepMs(0);
    let runs = 0;
    const observer = new PerformanceObserver((list) => (runs += list.getEntries().length));
    observer.observe({ entryTypes: ['gc'] });
    const posts = 1000;
    post(posts);
    await sleepMs(20); // entries are delivered from the event loop
    observer.disconnect();
    survivors.length = 0;
    const chunks = posts * CHUNKS_PER_POST;
    const perMillion = (runs * 1e6) / chunks;
    t.diagnostic(`${runs} collections in ${chunks} chunks: ${perMillion} per million`);
    assert.ok(perMillion <= RUNS_PER_MILLION_MAX, `${perMillion} per million chunks`);
    await pair.close();
  });
}
