// How far a transfer through the plugin has come, before its end.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeProviders, makeMemory, openPair, wholeBlock } from './tcpx-pair.js';

after(closeProviders);

const BYTES = 64 * 1024 * 1024;

async function stepsOf(operation: 'read' | 'write') {
  const settings = { 'flow.chunkBytes': 65_536, 'session.nics': 'eth1,eth2', 'flow.channels': 2 };
  const pair = await openPair({ settings });
  const blocks = wholeBlock(makeMemory(pair.initiator, BYTES), makeMemory(pair.target, BYTES));
  await pair.session[operation](blocks);
  const transfer = pair.session[operation](blocks);
  const seen = new Set<number>();
  while (transfer.poll() === 'active') {
    seen.add(transfer.progress().bytesConfirmed);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(transfer.receipt().provider, 'tcpx');
  assert.deepEqual(transfer.progress(), { bytesConfirmed: BYTES, bytes: BYTES });
  await pair.close();
  return [...seen];
}

test('tcpx progress: a read grows by chunks, also on its second post', async () => {
  const steps = await stepsOf('read');
  assert.deepEqual(
    steps,
    [...steps].sort((a, b) => a - b),
  );
  const between = steps.filter((bytes) => bytes > 0 && bytes < BYTES);
  assert.ok(between.length > 2, `${steps.length} steps: ${steps.slice(0, 9).join(' ')}`);
  assert.ok(between.every((bytes) => bytes % 65_536 === 0));
});

test('tcpx progress: a write is confirmed as a whole', async () => {
  assert.deepEqual(await stepsOf('write'), [0]);
});
