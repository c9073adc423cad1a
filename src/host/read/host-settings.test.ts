// Limits, IOMMU, GPUs and writers of affinity, each from the text that the kernel or tool prints.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readIrqWriters } from '../irq/irq-writers.js';
import type { TreeEntry } from './file-tree.js';
import { isGpuDevice, parseDriverVersion, parseGpuInformation, parseNvidiaSmi } from './gpus.js';
import { parseResourceLimits, readIommu } from './limits.js';
import type { PciDevice } from './model.js';
import { openTreeFiles } from './tree-files.js';

const filesOf = (texts: Readonly<Record<string, string>>) =>
  openTreeFiles(
    new Map(
      Object.entries(texts).map(([path, text]): [string, TreeEntry] => [
        path,
        { kind: 'file', text },
      ]),
    ),
    'test',
  );

const DEVICE: PciDevice = {
  address: '0000:04:00.0',
  path: ['pci0000:00', '0000:04:00.0'],
  classCode: '030200',
  vendorId: '10de',
  deviceId: '2330',
  driver: 'nvidia',
  node: 0,
  localCpus: undefined,
  linkSpeedGTps: undefined,
  linkWidth: undefined,
  iommuGroup: undefined,
  msiIrqs: [],
};

test('limits: soft and hard, with unlimited', () => {
  const limits = parseResourceLimits(
    'Limit                     Soft Limit           Hard Limit           Units     \n' +
      'Max open files            1024                 1048576              files     \n' +
      'Max locked memory         8388608              unlimited            bytes     \n',
  );
  assert.deepEqual(limits['Max open files'], { soft: 1024, hard: 1048576 });
  assert.deepEqual(limits['Max locked memory'], { soft: 8388608, hard: 'unlimited' });
});

test('iommu: groups from the devices, arguments from the command line', () => {
  const files = filesOf({ '/sys/kernel/iommu_groups/12/type': 'DMA-FQ\n' });
  const grouped = { ...DEVICE, iommuGroup: 12 };
  const iommu = readIommu(files, [DEVICE, grouped], 'ro intel_iommu=on iommu=pt quiet');
  assert.deepEqual(iommu, {
    isActive: true,
    groups: [{ id: 12, type: 'DMA-FQ', devices: ['0000:04:00.0'] }],
    kernelArguments: ['intel_iommu=on', 'iommu=pt'],
  });
  assert.equal(readIommu(files, [DEVICE], '').isActive, false);
});

test('gpus: class tells a GPU from an NVSwitch', () => {
  assert.equal(isGpuDevice(DEVICE), true);
  assert.equal(isGpuDevice({ ...DEVICE, classCode: '068000' }), false);
  assert.equal(isGpuDevice({ ...DEVICE, vendorId: '1002' }), false);
});

test('gpus: padded information lines and the driver version', () => {
  const facts = parseGpuInformation(
    'Model: \t\t NVIDIA H200\nIRQ:   \t\t 33\nGPU UUID: \t GPU-1-2\n',
  );
  assert.deepEqual(facts, { Model: 'NVIDIA H200', IRQ: '33', 'GPU UUID': 'GPU-1-2' });
  const version = 'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release\n';
  assert.equal(parseDriverVersion(version), '580.65.06');
});

test('gpus: query rows, with an eight-digit domain and missing fields', () => {
  const rows = parseNvidiaSmi(
    '1, GPU-b, NVIDIA H200, 00000000:8A:00.0, 580.65.06, [N/A], 5, 16, [N/A]\nerror line\n',
  );
  assert.equal(rows.length, 1);
  assert.equal(rows[0]?.pciAddress, '0000:8a:00.0');
  assert.equal(rows[0].memoryBytes, undefined);
});

test('writers: a running irqbalance with its bans', () => {
  const files = filesOf({
    '/proc/55/comm': 'irqbalance\n',
    '/proc/55/cmdline': '/usr/sbin/irqbalance\0--foreground\0--banmod=gve\0',
    '/etc/default/irqbalance': '# comment\nIRQBALANCE_BANNED_CPULIST=8-21\nIRQBALANCE_ARGS=\n',
  });
  const writers = readIrqWriters(files, '');
  assert.equal(writers.length, 1);
  assert.deepEqual(
    [writers[0]?.kind, writers[0]?.isActive, writers[0]?.pid],
    ['irqbalance', true, 55],
  );
  assert.deepEqual(writers[0]?.options, [
    '--foreground',
    '--banmod=gve',
    'IRQBALANCE_BANNED_CPULIST=8-21',
  ]);
});

test('writers: a unit without a visible process, an installed script, kernel arguments', () => {
  const files = filesOf({
    '/sys/fs/cgroup/system.slice/irqbalance.service/cgroup.procs': '55\n',
    '/usr/bin/google_set_multiqueue': '',
  });
  const writers = readIrqWriters(files, 'irqaffinity=0-7 isolcpus=managed_irq,8-21 quiet');
  assert.deepEqual(
    writers.map(({ kind, isActive, options }) => [kind, isActive, options]),
    [
      ['irqbalance', true, undefined],
      ['google_set_multiqueue', false, []],
      ['kernel argument', true, ['irqaffinity=0-7']],
      ['kernel argument', true, ['isolcpus=managed_irq,8-21']],
    ],
  );
});

test('writers: none on a quiet host', () => {
  assert.deepEqual(readIrqWriters(filesOf({ '/proc/1/comm': 'init\n' }), 'quiet'), []);
});
