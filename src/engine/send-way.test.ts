// A session finds out by itself how its payload leaves, in both directions; by hand it does not.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeEngines, openPair } from '../../test/support/engine-pair.js';
import type { ZeroCopyStats } from '../provider/tcp/zero-copy-stats.js';

after(closeEngines);

const BYTES = 256 * 1024;
const TRANSFERS = 12;

function spliced(stats: readonly ZeroCopyStats[]): number {
  return stats.reduce((sum, { sends }) => sum + sends, 0);
}

async function run(operation: 'write' | 'read', settings: Parameters<typeof openPair>[0]) {
  const pair = await openPair(settings);
  const far = new Uint8Array(BYTES).fill(operation === 'read' ? 7 : 0);
  const near = new Uint8Array(BYTES).fill(operation === 'write' ? 7 : 0);
  pair.server.register(far, { name: 'far' });
  const remote = await pair.drive(pair.session.lookup('far'));
  const request = pair.session.prepare(operation, [
    { local: pair.client.register(near), remote, bytes: BYTES },
  ]);
  const sender = operation === 'write' ? pair.client : pair.server;
  const ways: string[] = [];
  for (let transfer = 0; transfer < TRANSFERS; transfer++) {
    const before = spliced(sender.zeroCopyStats());
    const { choices } = await pair.drive(request.post().done);
    const told = choices.find(({ name }) => name === 'socket.sendBy');
    const isSpliced = spliced(sender.zeroCopyStats()) > before;
    ways.push(`${told?.value}, ${isSpliced ? 'by reference' : 'copied'}`);
  }
  assert.ok((operation === 'write' ? far : near).every((byte) => byte === 7));
  await pair.close();
  return ways;
}

for (const operation of ['write', 'read'] as const) {
  test(`way of sending: every fifth ${operation} tries a copy, and the receipt tells`, async () => {
    const ways = await run(operation, {});
    assert.equal(ways[0], 'splice, by reference');
    assert.equal(ways[4], 'copy, copied');
    assert.equal(ways[9], 'copy, copied');
    assert.equal(ways.filter((way) => way === 'splice, by reference').length, TRANSFERS - 2);
  });

  test(`way of sending: by hand a ${operation} goes as the setting says`, async () => {
    const ways = await run(operation, { 'socket.sendBy': 'splice' });
    assert.deepEqual(new Set(ways), new Set(['splice, by reference']));
  });
}

test('way of sending: a target whose setting is by hand is not asked to copy', async () => {
  const pair = await openPair({ 'socket.sendBy': 'splice' }, {});
  const far = new Uint8Array(BYTES).fill(7);
  const near = new Uint8Array(BYTES);
  pair.server.register(far, { name: 'far' });
  const remote = await pair.drive(pair.session.lookup('far'));
  const request = pair.session.prepare('read', [
    { local: pair.client.register(near), remote, bytes: BYTES },
  ]);
  for (let transfer = 0; transfer < 6; transfer++) {
    const before = spliced(pair.server.zeroCopyStats());
    await pair.drive(request.post().done);
    assert.ok(spliced(pair.server.zeroCopyStats()) > before);
  }
  await pair.close();
});
