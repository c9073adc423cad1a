import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  decodeProperties,
  netDeviceName,
  pointerSupportName,
  propertyDifferences,
} from './properties.js';
import { TABLE_LAYOUTS } from './table-layout.js';

test('properties: v7 is read at the offsets of the interface', () => {
  const view = new DataView(new ArrayBuffer(56));
  view.setBigUint64(0, 0x1000n, true);
  view.setBigUint64(16, 2n ** 64n - 1n, true);
  view.setInt32(24, 3, true);
  view.setInt32(28, 200_000, true);
  view.setFloat32(36, 0.5, true);
  view.setInt32(52, 7, true);
  const v7 = TABLE_LAYOUTS.find(({ version }) => version === 7);
  assert.ok(v7 !== undefined);
  const decoded = decodeProperties(v7.properties, view, (addr) => `at ${addr}`);
  assert.deepEqual(decoded, {
    name: 'at 4096',
    pciPath: null,
    guid: '0xffffffffffffffff',
    ptrSupport: 3,
    speedMbps: 200_000,
    port: 0,
    latencyUs: 0.5,
    maxComms: 0,
    maxRecvs: 0,
    netDeviceType: 0,
    netDeviceVersion: 7,
  });
});

test('properties: differences name the property and every value, not what identifies', () => {
  const devices = [
    { name: 'eth1', guid: '0x0', speedMbps: 1, port: 0 },
    { name: 'eth2', guid: '0x1', speedMbps: 2, port: 0 },
  ];
  assert.deepEqual(propertyDifferences(devices), [{ property: 'speedMbps', values: [1, 2] }]);
  assert.deepEqual(propertyDifferences([]), []);
});

test('properties: masks and types have names', () => {
  assert.equal(pointerSupportName(3), 'host+cuda');
  assert.equal(pointerSupportName(0), 'none');
  assert.equal(netDeviceName(1), 'unpack');
  assert.equal(netDeviceName(9), 'type 9');
});
