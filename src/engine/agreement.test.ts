import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { withCode } from '../../test/support/expect-error.js';
import { loadConfig } from '../base/config.js';
import type { Agreement } from '../wire/control-frame.js';
import {
  agree,
  checkAgreement,
  isLateWished,
  WISH_LATE,
  WISH_NO_FEWER,
  type Wish,
  wishAmid,
  wishOf,
} from './agreement.js';

const BASE: Wish = { channels: 1, windowChunks: 16, chunkBytes: 524288, explicit: 0 };

test('agreement: what was set by hand is marked, defaults are not', () => {
  assert.deepEqual(wishOf(loadConfig({ environment: {} })), BASE);
  const options = { 'flow.channels': 4, 'flow.chunkBytes': 8192 };
  const wish = wishOf(loadConfig({ options, environment: {} }));
  assert.deepEqual(wish, { channels: 4, windowChunks: 16, chunkBytes: 8192, explicit: 5 });
});

test('agreement: for each setting a value set by hand wins, and two must be equal', () => {
  const value = fc.constantFrom(4096, 8192);
  fc.assert(
    fc.property(value, value, fc.boolean(), fc.boolean(), (server, client, isServer, isClient) => {
      const serverWish = { ...BASE, chunkBytes: server, explicit: isServer ? 4 : 0 };
      const clientWish = { ...BASE, chunkBytes: client, explicit: isClient ? 4 : 0 };
      if (isServer && isClient && server !== client) {
        const attempt = () => agree(serverWish, clientWish);
        assert.throws(attempt, withCode('ERR_CONFIG_MISMATCH', /flow\.chunkBytes/));
        return;
      }
      assert.equal(agree(serverWish, clientWish).chunkBytes, isServer ? server : client);
    }),
  );
});

test('agreement: nothing outside of the settings table passes, from whichever end', () => {
  const outside: Partial<Wish>[] = [
    { channels: 0 },
    { channels: 17 },
    { windowChunks: 0 },
    { windowChunks: 257 },
    { chunkBytes: 4095 },
    { chunkBytes: 16 * 1024 * 1024 + 1 },
  ];
  for (const change of outside) {
    const attempt = () => agree(BASE, { ...BASE, ...change });
    assert.throws(attempt, withCode('ERR_WIRE_LIMIT'), JSON.stringify(change));
    const check = () => checkAgreement({ ...BASE, ...change }, BASE, 'x');
    assert.throws(check, withCode('ERR_WIRE_LIMIT'));
  }
  checkAgreement(BASE, BASE, 'x');
});

test('agreement: a server cannot change what the client has set by hand', () => {
  const own = { ...BASE, explicit: 0b111 };
  checkAgreement(BASE, own, 'there');
  const changes: [Partial<Agreement>, string][] = [
    [{ channels: BASE.channels + 1 }, 'flow.channels'],
    [{ windowChunks: BASE.windowChunks + 1 }, 'flow.windowChunks'],
    [{ chunkBytes: BASE.chunkBytes + 1 }, 'flow.chunkBytes'],
  ];
  for (const [index, [change, name]] of changes.entries()) {
    const check = (explicit: number) => (): void =>
      checkAgreement({ ...BASE, ...change }, { ...BASE, explicit }, 'there');
    assert.throws(check(1 << index), withCode('ERR_CONFIG_MISMATCH', new RegExp(`there: ${name}`)));
    check(0b111 ^ (1 << index))();
  }
});

test('agreement: channels that nobody has set follow the weaker end, and cover every NIC', () => {
  const cases = [
    // Server, client (negative: one for each of its NICs), agreed.
    [8, 1, 1],
    [1, 8, 1],
    [8, 8, 8],
    [1, -4, 4],
    [-2, 8, 2],
    [-4, -2, 4],
    [8, -4, 4],
  ] as const;
  const wish = (channels: number) => ({
    ...BASE,
    channels: Math.abs(channels),
    explicit: channels < 0 ? WISH_NO_FEWER : 0,
  });
  for (const [server, client, agreed] of cases) {
    assert.equal(agree(wish(server), wish(client)).channels, agreed, `${server}, ${client}`);
  }
  const firm = { ...BASE, channels: 6, explicit: 1 };
  assert.equal(agree(firm, wish(2)).channels, 6);
  assert.equal(agree(wish(2), firm).channels, 6);
});

test('agreement: a wish says when its channels are one for each NIC', () => {
  const nics = { 'session.nics': 'eth1,eth2' };
  const explicitOf = (options: object) => wishOf(loadConfig({ options })).explicit;
  assert.equal(explicitOf({ ...nics, 'flow.channels': 2 }), 1 | WISH_NO_FEWER);
  assert.equal(explicitOf({ ...nics, 'flow.channels': 4 }), 1);
});

test('agreement: sessions of an engine that has many begin with one channel, unless asked', () => {
  const isLate = (options: object, sessions: number) =>
    isLateWished(wishAmid(wishOf(loadConfig({ options, environment: {} })), sessions));
  assert.deepEqual(
    [isLate({}, 0), isLate({}, 3), isLate({}, 4), isLate({}, 1000)],
    [...[false, false, true, true]],
  );
  assert.equal(isLate({ 'flow.channels': 4 }, 1000), false);
  const far = { channels: 8, windowChunks: 16, chunkBytes: 8192, explicit: WISH_NO_FEWER };
  assert.equal(isLateWished(wishAmid(far, 1000)), false);
  // Of a node service, whose wish is late from the start, to a path that wants them all.
  const served = { ...far, explicit: WISH_NO_FEWER | WISH_LATE };
  assert.equal(isLateWished(wishAmid(served, 0)), false);
  assert.equal(isLateWished(wishAmid({ ...BASE, explicit: WISH_LATE }, 0)), true);
});
