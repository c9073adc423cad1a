// Connections to a peer on this host that are paced pull by turns, and the receipt says so.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { closeEngines, openPair } from '../../test/support/engine-pair.js';

after(closeEngines);

const BYTES = 1024 * 1024;
const TRANSFERS = 6;
const SETTINGS = { 'flow.channels': 3, 'lane.count': 1, 'flow.chunkBytes': 64 * 1024 } as const;
/** Root may choose whatever the kernel has; others what is allowed. */
const which = process.getuid?.() === 0 ? 'available' : 'allowed';
const choices = readFileSync(`/proc/sys/net/ipv4/tcp_${which}_congestion_control`, 'utf8');
const skip = choices.split(/\s/).includes('bbr') ? false : 'bbr cannot be chosen here';

/** By transfer: the channels that carried bytes, and what its receipt says of them. */
async function run(congestion: string, local: 'tcp' | 'shm' = 'tcp') {
  const paths = { 'socket.congestion': congestion, 'session.local': local } as const;
  const pair = await openPair({ ...SETTINGS, ...paths });
  const far = new Uint8Array(BYTES);
  const near = new Uint8Array(BYTES).fill(7);
  pair.server.register(far, { name: 'far' });
  const remote = await pair.drive(pair.session.lookup('far'));
  const request = pair.session.prepare('write', [
    { local: pair.client.register(near), remote, bytes: BYTES },
  ]);
  const used: number[][] = [];
  const told: (string | undefined)[] = [];
  for (let transfer = 0; transfer < TRANSFERS; transfer++) {
    const { channels, choices, path } = await pair.drive(request.post().done);
    assert.ok(path.startsWith(local), path);
    used.push(channels.filter(({ bytes }) => bytes > 0).map(({ channel }) => channel));
    told.push(choices.find(({ name }) => name === 'channels')?.value);
  }
  assert.ok(far.every((byte) => byte === 7));
  await pair.close();
  return { used, told };
}

test('pull turns: paced connections carry a transfer each, one after another', {
  skip,
}, async () => {
  const { used, told } = await run('bbr');
  assert.ok(
    used.every((channels) => channels.length === 1),
    JSON.stringify(used),
  );
  assert.deepEqual(new Set(used.flat()), new Set([0, 1, 2]));
  assert.deepEqual(new Set(told), new Set(['1']));
});

test('pull turns: connections that are not paced all pull, and no receipt tells', async () => {
  const { used, told } = await run('reno');
  assert.ok(
    used.some((channels) => channels.length > 1),
    JSON.stringify(used),
  );
  assert.deepEqual(new Set(told), new Set([undefined]));
});

test('pull turns: shared memory is not paced, whatever sockets are', { skip }, async () => {
  const { used, told } = await run('bbr', 'shm');
  assert.ok(
    used.some((channels) => channels.length > 1),
    JSON.stringify(used),
  );
  assert.deepEqual(new Set(told), new Set([undefined]));
});
