import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nicNetworks, parseNetworks, parseNetworks6 } from './nic-networks.js';

const HEAD = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT';
const line = (nic: string, destination: string, flags: string, mask: string): string =>
  `${nic}\t${destination}\t00000000\t${flags}\t0\t0\t0\t${mask}\t0\t0\t0   `;

test('nic networks: routes of the interface, without default ones, rejects and other NICs', () => {
  const text = [
    HEAD,
    line('eth0', '00000000', '0003', '00000000'),
    line('eth0', '000200C0', '0001', '00FFFFFF'),
    line('eth1', '0000810A', '0003', '00F0FFFF'),
    line('eth1', '0100810A', '0005', 'FFFFFFFF'),
    line('eth1', '00000000', '0003', '00000080'),
    line('eth1', '0000000A', '0201', '000000FF'),
    line('eth1', '0000000A', '0000', '000000FF'),
    line('eth1', '0000000A', '0001', '00FF00FF'),
    '',
  ].join('\n');
  assert.deepEqual(parseNetworks(text, 'eth0'), ['192.0.2.0/24']);
  // As on a cloud whose interfaces have /32 addresses: the subnet by its gateway, and the gateway.
  assert.deepEqual(parseNetworks(text, 'eth1'), ['10.129.0.0/20', '10.129.0.1/32']);
  assert.deepEqual(parseNetworks(text, 'eth2'), []);
  assert.deepEqual(parseNetworks('', 'eth0'), []);
});

test('nic networks: an absent interface has none', () => {
  assert.deepEqual(nicNetworks('absent9', 'IPv4'), []);
});

test('nic networks: IPv6 routes of the interface, without default ones and rejects', () => {
  const line6 = (destination: string, prefix: string, flags: string, nic: string): string =>
    `${destination.padEnd(32, '0')} ${prefix} ${'0'.repeat(32)} 00 ${'0'.repeat(32)} ` +
    `00000400 00000001 00000000 ${flags}     ${nic}`;
  const text = [
    line6('fd770000', '40', '00000001', 'eth1'),
    line6('', '00', '00000003', 'eth1'),
    line6('ff', '08', '00000001', 'eth1'),
    line6('fd780000', '40', '00200200', 'eth1'),
    line6('fd790000', '40', '00000001', 'eth2'),
    'not a line',
  ].join('\n');
  const zeros = ':0000'.repeat(6);
  assert.deepEqual(parseNetworks6(text, 'eth1'), [`fd77:0000${zeros}/64`]);
  assert.deepEqual(parseNetworks6('', 'eth1'), []);
  assert.deepEqual(nicNetworks('absent9', 'IPv6'), []);
});
