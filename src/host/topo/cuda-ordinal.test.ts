// CUDA ordinals against PCI addresses, under the variables that renumber them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a3HighTree } from '../../../test/support/a3-high-host.js';
import { readFixtureHost } from '../../../test/support/fixture-host.js';
import { gpuOfOrdinal, visibleGpus } from './cuda-ordinal.js';

const HOST = readFixtureHost(a3HighTree());

function addresses(environment: Readonly<Record<string, string>>): string[] {
  return visibleGpus(HOST, environment).map(({ pciAddress }) => pciAddress.slice(5, 7));
}

test('cuda ordinals: PCI order, hexadecimal, where all GPUs are alike', () => {
  assert.deepEqual(addresses({}), ['04', '05', '0a', '0b', '84', '85', '8a', '8b']);
  assert.equal(gpuOfOrdinal(HOST, 2, {}).pciAddress, '0000:0a:00.0');
});

test('cuda ordinals: without nvidia-smi the order is the same', () => {
  const tree = new Map([...a3HighTree()].filter(([path]) => !path.endsWith('nvidia-smi.csv')));
  const host = readFixtureHost(tree);
  assert.ok(host.gpus.every(({ indexSource }) => indexSource === 'pci order'));
  assert.deepEqual(
    host.gpus.map(({ pciAddress }) => pciAddress),
    HOST.gpus.map(({ pciAddress }) => pciAddress),
  );
});

const VISIBLE = [
  ['0', ['04']],
  ['6,0', ['8a', '04']],
  ['GPU-00000000-0000-4000-8000-000000000003', ['0b']],
  ['1,-1,2', ['05']],
  ['1,99,2', ['05']],
  ['', []],
  ['GPU-0000', []],
] as const;

for (const [list, expected] of VISIBLE) {
  test(`cuda ordinals: CUDA_VISIBLE_DEVICES=${list}`, () => {
    assert.deepEqual(addresses({ CUDA_VISIBLE_DEVICES: list }), expected);
  });
}

test('cuda ordinals: one that is not visible, and a GPU named twice, are usage errors', () => {
  const hidden = { CUDA_VISIBLE_DEVICES: '3' };
  assert.throws(() => gpuOfOrdinal(HOST, 1, hidden), /CUDA sees 1 GPUs here .*DEVICES=3/);
  assert.throws(() => addresses({ CUDA_VISIBLE_DEVICES: '3,3' }), /named twice/);
});

test('cuda ordinals: unequal GPUs are numbered only with CUDA_DEVICE_ORDER=PCI_BUS_ID', () => {
  const pci = HOST.pci.map((device) =>
    device.address === '0000:84:00.0' ? { ...device, deviceId: 'ffff' } : device,
  );
  const mixed = { ...HOST, pci };
  assert.throws(() => visibleGpus(mixed, {}), /not known to be alike/);
  assert.equal(visibleGpus(mixed, { CUDA_DEVICE_ORDER: 'PCI_BUS_ID' }).length, 8);
});
