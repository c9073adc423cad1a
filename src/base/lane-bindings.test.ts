import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTcpxError } from './errors.js';
import { parseLaneBindings } from './lane-bindings.js';

test('lane bindings: the grammar of NIC:CORES;… gives cores by NIC', () => {
  const bindings = parseLaneBindings('eth1:8-10,112;eth2:60-61');
  assert.deepEqual(bindings.get('eth1'), [8, 9, 10, 112]);
  assert.deepEqual(bindings.get('eth2'), [60, 61]);
  assert.equal(parseLaneBindings('').size, 0);
});

test('lane bindings: no cores, no NIC, no NIC twice, no other grammar', () => {
  for (const text of ['eth1', 'eth1:', 'eth1:x', 'eth1:3-1', 'eth1:1;eth1:2', 'eth1:1:2', ':1']) {
    assert.throws(
      () => parseLaneBindings(text),
      (error) => isTcpxError(error, 'ERR_CONFIG_VALUE'),
      text,
    );
  }
});
