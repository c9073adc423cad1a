import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  comparePciAddresses,
  normalisePciAddress,
  parseLinkSpeed,
  pciDistance,
  pciPath,
} from './pci.js';

const on = (node: number | undefined, path: string) => ({ path: path.split(' '), node });
const place = (path: string) => on(0, path);

test('pci: distance classes from the chain of bridges', () => {
  const gpu = place('pci0000:00 0000:00:10.0 0000:02:00.0 0000:03:00.0 0000:04:00.0');
  const cases = [
    [gpu, 'X'],
    [place('pci0000:00 0000:00:10.0 0000:02:00.0 0000:03:02.0 0000:06:00.0'), 'PIX'],
    [place('pci0000:00 0000:00:10.0 0000:02:00.0 0000:03:00.0 0000:04:00.1'), 'PIX'],
    [
      place(
        'pci0000:00 0000:00:10.0 0000:02:00.0 0000:03:03.0 0000:20:00.0 0000:21:00.0 0000:22:00.0',
      ),
      'PXB',
    ],
    [place('pci0000:00 0000:00:10.0 0000:02:00.0 0000:03:03.0 0000:20:00.0 0000:21:00.0'), 'PXB'],
    [place('pci0000:00 0000:00:11.0 0000:08:00.0 0000:09:02.0 0000:0c:00.0'), 'PHB'],
    [place('pci0000:00 0000:00:0c.0'), 'PHB'],
    [place('pci0000:40 0000:40:00.0'), 'NODE'],
    [on(1, 'pci0000:80 0000:80:10.0'), 'SYS'],
    [on(undefined, 'pci0000:80 0000:80:10.0'), '?'],
    [{ path: [], node: 0 }, '?'],
  ] as const;
  for (const [other, expected] of cases) {
    assert.equal(pciDistance(gpu, other, 2), expected, other.path.join(' '));
    assert.equal(pciDistance(other, gpu, 2), expected, 'the other way round');
  }
});

test('pci: unknown nodes are one node on a host that has one', () => {
  const a = on(undefined, 'pci0000:00 0000:00:01.0');
  const b = on(undefined, 'pci0000:80 0000:80:01.0');
  assert.equal(pciDistance(a, b, 1), 'NODE');
  assert.equal(pciDistance(a, b, 2), '?');
});

test('pci: addresses are ordered as hexadecimal numbers', () => {
  const addresses = [
    '0001:01:00.0',
    '0000:0a:00.0',
    '0000:04:00.0',
    '0000:8c:00.0',
    '0000:86:00.0',
  ];
  const ordered = ['0000:04:00.0', '0000:0a:00.0', '0000:86:00.0', '0000:8c:00.0', '0001:01:00.0'];
  assert.deepEqual(addresses.sort(comparePciAddresses), ordered);
  assert.ok(comparePciAddresses('10000:00:00.0', 'ffff:00:00.0') > 0);
});

test('pci: the path ends where PCI ends', () => {
  const folder = '/sys/devices/pci0000:00/0000:00:03.0/virtio2';
  assert.deepEqual(pciPath(folder), ['pci0000:00', '0000:00:03.0']);
  assert.deepEqual(pciPath('/sys/devices/virtual/net/lo'), []);
});

test('pci: addresses of different tools become equal', () => {
  assert.equal(normalisePciAddress('00000000:8A:00.0'), '0000:8a:00.0');
  assert.equal(normalisePciAddress('0000:8a:00.0'), '0000:8a:00.0');
  assert.equal(normalisePciAddress('00010000:01:00.0'), '10000:01:00.0');
  assert.equal(parseLinkSpeed('32.0 GT/s PCIe'), 32);
  assert.equal(parseLinkSpeed('Unknown'), undefined);
});
