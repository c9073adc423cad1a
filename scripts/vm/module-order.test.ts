import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dependenciesOf, loadingOrder } from './module-order.js';

test('module order: what a module needs comes before it; what is built in is passed over', () => {
  const dependencies = new Map([
    ['virtio_net', ['virtio_ring', 'virtio', 'net_failover']],
    ['virtio', ['virtio_ring']],
    ['virtio_ring', []],
    ['net_failover', ['failover']],
  ]);
  const order = loadingOrder(dependencies);
  assert.deepEqual(order, ['virtio_ring', 'virtio', 'net_failover', 'virtio_net']);
  const circle = new Map([
    ['a', ['b']],
    ['b', ['a']],
  ]);
  assert.throws(() => loadingOrder(circle), /a b a/);
});

test('module order: dependencies are read from the module', () => {
  const module = (text: string) => dependenciesOf(Buffer.from(text, 'latin1'));
  assert.deepEqual(module('ELF\0license=GPL\0depends=virtio_ring,virtio\0name=x\0'), [
    'virtio_ring',
    'virtio',
  ]);
  assert.deepEqual(module('ELF\0depends=\0'), []);
  assert.deepEqual(module('ELF'), []);
});
