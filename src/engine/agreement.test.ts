import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { withCode } from '../../test/support/expect-error.js';
import { loadConfig } from '../base/config.js';
import type { Agreement } from '../wire/control-frame.js';
import { agree, checkAgreement, type Wish, wishOf } from './agreement.js';

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
