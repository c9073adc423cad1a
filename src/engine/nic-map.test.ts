import assert from 'node:assert/strict';
import { test } from 'node:test';
import { routeChannels, usableAddresses } from './nic-map.js';

const ETH1 = { name: 'eth1', address: '10.1.0.7', networks: ['10.1.0.7/16'] };
const ETH2 = { name: 'eth2', address: '10.2.0.7', networks: ['10.2.0.7/32', '10.2.0.0/20'] };

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

test('addresses: those of the server itself and near our own NICs are used, others are not', () => {
  const named = ['192.0.2.1', '10.1.9.9', '10.2.15.1', '10.2.16.1', '10.3.0.9', '127.0.0.1'];
  assert.deepEqual(usableAddresses(named, [ETH1, ETH2], '192.0.2.1'), {
    usable: ['192.0.2.1', '10.1.9.9', '10.2.15.1'],
    foreign: ['10.2.16.1', '10.3.0.9', '127.0.0.1'],
  });
  const { foreign } = usableAddresses(named, [], '192.0.2.1');
  assert.deepEqual(foreign, named.slice(1), 'without chosen NICs nothing is near');
});

test('addresses: what is no address is none, whatever it says', () => {
  const named = [
    '',
    '10.1',
    '10.1.0.9 ',
    '010.1.0.9',
    'peer.example',
    '0x0a010009',
    '::1',
    '10.1.0.256',
  ];
  assert.deepEqual(usableAddresses(named, [ETH1], '192.0.2.1'), { usable: [], foreign: named });
});

test('routes: the same over IPv6, and a link-local address is nobody’s', () => {
  const eth1 = { name: 'eth1', address: 'fd00:1::7', networks: ['fd00:1::7/64'] };
  const eth2 = { name: 'eth2', address: 'fd00:2::7', networks: ['fd00:2::7/128', 'fd00:2::/48'] };
  const named = ['fd00:2::9', 'fd00:1::9', 'fd00:3::9', 'fe80::9', 'fe80::9%2', '10.1.0.9'];
  const { usable, foreign } = usableAddresses(named, [eth1, eth2], 'fd00:9::1');
  assert.deepEqual(usable, named.slice(0, 2));
  assert.deepEqual(foreign, named.slice(2));
  assert.deepEqual(routeChannels(2, [eth1, eth2], usable, 'fd00:9::1'), [
    { nic: 'eth1', host: 'fd00:1::9' },
    { nic: 'eth2', host: 'fd00:2::9' },
  ]);
});
