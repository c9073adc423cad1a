// Every reason for which an owner refuses an access: its own code at the peer, and a line in the
// owner's log that names the peer, the code and the region.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeEngines, type EnginePair, openPair } from '../../test/support/engine-pair.js';
import { withCode } from '../../test/support/expect-error.js';
import { sleepMs } from '../base/clock.js';
import { type ErrorCode, isTcpxError } from '../base/errors.js';
import type { RegionDescriptor } from '../memory/region.js';

after(closeEngines);

const BYTES = 1000;
const flipped = (key: string): string => (key.startsWith('0') ? '1' : '0') + key.slice(1);

type Case = readonly [
  name: string,
  code: ErrorCode,
  make: (pair: EnginePair) => Promise<{ remote: RegionDescriptor; remoteOffset?: number }>,
];

function grant(pair: EnginePair, rights = { read: true, write: true }) {
  return pair.server.register(new Uint8Array(BYTES), rights);
}

const CASES: readonly Case[] = [
  [
    'a foreign key',
    'ERR_PEER_KEY',
    (pair) => {
      const { descriptor } = grant(pair);
      return Promise.resolve({ remote: { ...descriptor, key: flipped(descriptor.key) } });
    },
  ],
  [
    'an offset out of bounds',
    'ERR_PEER_BOUNDS',
    (pair) => {
      const remote = { ...grant(pair).descriptor, bytes: 2 * BYTES };
      return Promise.resolve({ remote, remoteOffset: 1 });
    },
  ],
  [
    'a generation of before',
    'ERR_PEER_STALE_REGION',
    async (pair) => {
      const old = grant(pair);
      await pair.drive(pair.server.deregister(old, 1000));
      grant(pair);
      return { remote: old.descriptor };
    },
  ],
  [
    'a right that was not granted',
    'ERR_PEER_RIGHTS',
    (pair) => Promise.resolve({ remote: grant(pair, { read: false, write: false }).descriptor }),
  ],
  [
    'a time that is over',
    'ERR_PEER_EXPIRED',
    async (pair) => {
      const source = new Uint8Array(BYTES);
      const region = pair.server.register(source, { expiresMs: 20 });
      await sleepMs(30);
      return { remote: region.descriptor };
    },
  ],
];

for (const progress of ['lanes', 'caller'] as const) {
  for (const [name, code, make] of CASES) {
    test(`refusal: ${name} is ${code}, the owner's log names the peer (${progress})`, async () => {
      const pair = await openPair({ 'lane.progress': progress });
      const local = pair.client.register(new Uint8Array(BYTES));
      const target = await make(pair);
      const blocks = [{ local, localOffset: 0, remoteOffset: 0, bytes: BYTES, ...target }];
      for (const operation of ['write', 'read'] as const) {
        await assert.rejects(pair.drive(pair.session[operation](blocks).done), withCode(code));
      }
      const line = new RegExp(`operation refused.*client \\(127.*code=${code}.*region=\\d`);
      for (let tries = 0; tries < 200 && !pair.serverLog.has(line); tries++) {
        await pair.drive(sleepMs(5));
      }
      assert.ok(pair.serverLog.has(line), pair.serverLog.lines.join(''));
      // The session has not suffered.
      const good = [{ ...blocks[0]!, remote: grant(pair).descriptor, remoteOffset: 0 }];
      await pair.drive(pair.session.write(good).done);
      await pair.close();
    });
  }
}

test('refusal: a descriptor of before a restart reaches nothing in its slot', async () => {
  const before = await openPair({ 'lane.progress': 'lanes' });
  const old = Array.from({ length: 8 }, () => grant(before).descriptor);
  await before.close();
  const pair = await openPair({ 'lane.progress': 'lanes' });
  const memories = old.map(() => new Uint8Array(BYTES));
  const slots = memories.map((memory) => pair.server.register(memory).descriptor.slot);
  const local = pair.client.register(new Uint8Array(BYTES).fill(9));
  for (const remote of old) {
    assert.ok(slots.includes(remote.slot), 'the slot is in use again');
    const blocks = [{ local, localOffset: 0, remote, remoteOffset: 0, bytes: BYTES }];
    const isRefused = (error: unknown): boolean =>
      isTcpxError(error) && ['ERR_PEER_STALE_REGION', 'ERR_PEER_KEY'].includes(error.code);
    await assert.rejects(pair.session.write(blocks).done, isRefused);
    await assert.rejects(pair.session.read(blocks).done, isRefused);
  }
  assert.ok(memories.every((memory) => memory.every((byte) => byte === 0)));
  await pair.close();
});

test('refusal: a region that expires is granted until then, and then renewed', async () => {
  const pair = await openPair({ 'lane.progress': 'lanes' });
  const local = pair.client.register(new Uint8Array(BYTES).fill(3));
  const memory = new Uint8Array(BYTES);
  const write = (remote: RegionDescriptor) =>
    pair.session.write([{ local, localOffset: 0, remote, remoteOffset: 0, bytes: BYTES }]).done;
  const brief = pair.server.register(memory, { expiresMs: 400 });
  await write(brief.descriptor);
  assert.ok(memory.every((byte) => byte === 3));
  await sleepMs(450);
  memory.fill(0);
  await assert.rejects(write(brief.descriptor), withCode('ERR_PEER_EXPIRED'));
  assert.ok(
    memory.every((byte) => byte === 0),
    'not a byte has landed',
  );
  await write(pair.server.register(memory, { expiresMs: 60_000 }).descriptor);
  assert.ok(memory.every((byte) => byte === 3));
  await pair.close();
});

test('trust: network is logged at every start, and shown in the receipt', async () => {
  const pair = await openPair({ 'trust.mode': 'network' });
  assert.ok(pair.serverLog.has(/warn "?trust\.mode is network/), pair.serverLog.lines.join(''));
  const local = pair.client.register(new Uint8Array(8));
  const remote = pair.server.register(new Uint8Array(8)).descriptor;
  const blocks = [{ local, localOffset: 0, remote, remoteOffset: 0, bytes: 8 }];
  assert.equal((await pair.session.write(blocks).done).trust, 'network');
  await pair.close();
});

test('trust: without a secret a listener says that it accepts loopback alone', async () => {
  const pair = await openPair();
  assert.ok(pair.serverLog.has(/warn .*no shared secret.*loopback alone/));
  assert.equal(pair.server.connInfo().hosts[0], '127.0.0.1');
  await pair.close();
});
