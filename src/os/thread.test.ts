import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';

// In a thread of its own: what it prefers it keeps.
const SOURCE = `
  const { parentPort, workerData } = require('node:worker_threads');
  import(workerData).then(({ preferNode }) => {
    parentPort.postMessage([preferNode(0), preferNode(1000)]);
  });
`;

test('thread: what it touches lies on the node that it prefers, where there is one', async (t) => {
  if (!existsSync('/sys/devices/system/node/node0')) {
    t.skip('this kernel knows no NUMA nodes');
    return;
  }
  const workerData = new URL('./thread.js', import.meta.url).href;
  const worker = new Worker(SOURCE, { eval: true, workerData });
  const [nodes] = (await once(worker, 'message')) as [(number | undefined)[]];
  assert.deepEqual(nodes, [0, undefined]);
  await worker.terminate();
});
