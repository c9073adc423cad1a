import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test } from 'node:test';
import { addressesOfName } from './host-name.js';

test('host name: a name has addresses, an address is its own, nonsense has none', () => {
  const local = addressesOfName('localhost');
  assert.ok(local.length > 0 && local.every((host) => isIP(host) !== 0), local.join());
  assert.deepEqual(addressesOfName('127.0.0.1'), ['127.0.0.1']);
  assert.deepEqual(addressesOfName('::1'), ['::1']);
  assert.deepEqual(addressesOfName('no such name'), []);
});
