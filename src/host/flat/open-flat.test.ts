// A flat bundle read as a host: what it says is read, what it does not say stays unknown, with
// every one of its files missing in turn.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { a3HighTree } from '../../../test/support/a3-high-host.js';
import { readFixtureHost } from '../../../test/support/fixture-host.js';
import { FLAT_NICS, type FlatBundle, flatBundle } from '../../../test/support/flat-bundle.js';
import { encodeTar } from '../capture/tar.js';
import type { TreeEntry } from '../read/file-tree.js';
import type { HostModel } from '../read/model.js';
import { openHost } from '../read/open-host.js';
import { readHost } from '../read/read-host.js';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tcpx-flat-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function read(bundle: FlatBundle): HostModel {
  const path = join(folder, 'bundle.tgz');
  const entries = [...bundle].map(([name, text]): [string, TreeEntry] => {
    return [`/nccl_1/${name}`, { kind: 'file', text }];
  });
  writeFileSync(path, gzipSync(encodeTar(new Map(entries), 0)));
  return readHost(openHost(path));
}

test('flat bundle: NICs, nodes, vectors and affinity as the machine itself tells them', () => {
  const flat = read(flatBundle());
  const real = readFixtureHost(a3HighTree());
  assert.deepEqual(
    flat.nodes.map(({ cpus }) => cpus),
    real.nodes.map(({ cpus }) => cpus),
  );
  assert.deepEqual(flat.cpus.online, real.cpus.online);
  assert.deepEqual(flat.cpus.cpus[17]?.siblings, [17, 121]);
  assert.deepEqual(
    flat.nics.map(({ name }) => name),
    FLAT_NICS,
  );
  for (const nic of flat.nics) {
    const own = real.nics.find(({ name }) => name === nic.name);
    const { driver, pciAddress, node, vectors } = nic;
    const expected = { driver: own?.driver, pciAddress: own?.pciAddress, node: own?.node };
    assert.deepEqual({ driver, pciAddress, node }, expected);
    assert.deepEqual(vectors, own?.vectors, nic.name);
    for (const { irq } of vectors) {
      const line = (model: HostModel) => model.irqs.find((candidate) => candidate.irq === irq);
      assert.deepEqual(line(flat)?.requested, line(real)?.requested);
    }
  }
  assert.deepEqual(
    flat.gpus.map((gpu) => gpu.pciAddress),
    real.gpus.map((gpu) => gpu.pciAddress),
  );
});

test('flat bundle: what it does not say is unknown', () => {
  const { nics, irqs, gpus, ...host } = read(flatBundle());
  assert.equal(host.hostname, undefined);
  assert.equal(host.kernelRelease, undefined);
  for (const nic of nics) {
    const { operState, hasCarrier, speedMbps, mtu, rxQueueCount, ifindex } = nic;
    const facts = { operState, hasCarrier, speedMbps, mtu, rxQueueCount, ifindex };
    for (const [name, value] of Object.entries(facts)) assert.equal(value, undefined, name);
    assert.equal(nic.isVirtual, false);
    assert.equal(nic.ethtool?.rings, undefined);
  }
  assert.ok(irqs.every((irq) => irq.effective === undefined && irq.isWritable === undefined));
  assert.ok(gpus.every((gpu) => gpu.node === undefined && gpu.driverVersion === undefined));
  assert.ok(host.gaps.some(({ reason }) => reason.includes('lscpu does not say')));
});

test('flat bundle: the later end counts, unless the earlier is asked for', () => {
  const bundle = flatBundle();
  for (const [name, text] of bundle) writeFileSync(join(folder, name), text);
  const bytes = (model: HostModel) => model.nics[0]?.ethtool?.statistics['rx_bytes'];
  const latest = readHost(openHost(folder));
  const before = readHost(openHost(folder, { phase: 'before', isAlone: true }));
  assert.equal(bytes(before), 265_000_000_000);
  assert.equal(bytes(latest), 265_000_000_000 + 128_000_000_000);
});

// eslint-disable-next-line complexity -- a list of claims
test('flat bundle: with any file missing or empty nothing is claimed that was not there', () => {
  const whole = read(flatBundle());
  for (const gone of flatBundle().keys()) {
    for (const isEmpty of [false, true]) {
      const bundle = new Map(flatBundle());
      if (isEmpty) bundle.set(gone, 'bash: tool: command not found\n');
      else bundle.delete(gone);
      const holed = read(bundle);
      for (const irq of holed.irqs) {
        const full = whole.irqs.find((candidate) => candidate.irq === irq.irq);
        if (irq.requested !== undefined) assert.deepEqual(irq.requested, full?.requested, gone);
      }
      for (const nic of holed.nics) {
        const full = whole.nics.find(({ name }) => name === nic.name);
        if (nic.node !== undefined) assert.equal(nic.node, full?.node, gone);
        if (nic.pciAddress !== undefined) assert.equal(nic.pciAddress, full?.pciAddress, gone);
      }
      for (const node of holed.nodes) {
        const full = whole.nodes.find(({ id }) => id === node.id);
        assert.deepEqual(node.cpus ?? full?.cpus, full?.cpus, gone);
      }
      if (holed.cpus.online.length > 0) assert.deepEqual(holed.cpus.online, whole.cpus.online);
    }
  }
  const noTable = new Map(flatBundle());
  for (const name of noTable.keys()) if (name.startsWith('irq_snapshot')) noTable.delete(name);
  assert.ok(read(noTable).nics.every(({ vectors }) => vectors.length === 0));
});

test('flat bundle: a series stands in for the ends that have no snapshot of their own', () => {
  const bundle = flatBundle();
  const samples = ['irq_snapshot_before.txt', 'irq_snapshot_after.txt'].map((name, index) => {
    return `2025-10-07T12:00:0${index}Z\n${bundle.get(name) ?? ''}`;
  });
  writeFileSync(join(folder, 'irq_during.txt'), samples.join(''));
  const sumAt = (phase: 'before' | 'after') => {
    const { irqs } = readHost(openHost(folder, { phase, isAlone: true }));
    const line = irqs.find(({ irq }) => irq === 136);
    return Object.values(line?.countByCpu ?? {}).reduce((sum, count) => sum + count, 0);
  };
  assert.equal(sumAt('after') - sumAt('before'), 230_008);
});
