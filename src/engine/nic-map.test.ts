import assert from 'node:assert/strict';
import { test } from 'node:test';
import { routeChannels } from './nic-map.js';

const ETH1 = { name: 'eth1', address: '10.1.0.7', prefix: 16 };
const ETH2 = { name: 'eth2', address: '10.2.0.7', prefix: 16 };

test('routes: without NICs every channel goes to the control address', () => {
  assert.deepEqual(routeChannels(2, [], [], '192.0.2.1'), [
    { nic: '', host: '192.0.2.1' },
    { nic: '', host: '192.0.2.1' },
  ]);
});

test('routes: channels go round the NICs, each to the peer address in its network', () => {
  const routes = routeChannels(3, [ETH1, ETH2], ['10.2.0.9', '10.1.0.9'], '192.0.2.1');
  assert.deepEqual(routes, [
    { nic: 'eth1', host: '10.1.0.9' },
    { nic: 'eth2', host: '10.2.0.9' },
    { nic: 'eth1', host: '10.1.0.9' },
  ]);
});

test('routes: a NIC without a near peer address takes the peer addresses in turn', () => {
  const routes = routeChannels(2, [ETH1], ['10.8.0.1', '10.9.0.1'], '192.0.2.1');
  assert.deepEqual(
    routes.map((route) => route.host),
    ['10.8.0.1', '10.9.0.1'],
  );
});

test('routes: several peer addresses without own NICs are used in turn', () => {
  const hosts = routeChannels(3, [], ['10.8.0.1', '10.9.0.1'], '192.0.2.1').map(({ host }) => host);
  assert.deepEqual(hosts, ['10.8.0.1', '10.9.0.1', '10.8.0.1']);
});
