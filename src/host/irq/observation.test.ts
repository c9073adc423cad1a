// Bundles, thread files and baselines as they lie on disk.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { encodeTar } from '../capture/tar.js';
import { openFolderFiles } from '../read/host-files.js';
import { baselineRuns } from './baseline.js';
import { devmemGrowth, interruptDelta, parseCpuUse, readBundle } from './observation.js';
import { allowedCpus, lastCpu, readThreads } from './threads.js';

const BEFORE = `           CPU0       CPU2
 28:          5          7  PCI-MSIX-0000:06:00.0   0-edge      gve-ntfy-blk0@pci:0000:06:00.0
LOC:        100        100   Local timer interrupts
`;
const AFTER = BEFORE.replace('5          7', '5         19');

const MPSTAT = `Linux 6.6.0 (host)  10/07/2025  _x86_64_  (2 CPU)

12:00:01 AM  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
12:00:02 AM  all   10.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00   90.00
12:00:02 AM    0   10.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00   90.00

Average:     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
Average:     all   12.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00   88.00
Average:       0   25.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00    0.00   75.00
Average:       2    0.00    0.00    0.00    0.00    0.00   60.00    0.00    0.00    0.00   40.00
`;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tcpx-bundle-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('bundle: interrupts between two snapshots, by line and CPU, columns by header', () => {
  const { interrupts } = interruptDelta(BEFORE, AFTER);
  assert.deepEqual([...(interrupts.get(28) ?? [])], [[2, 12]]);
  assert.equal(interruptDelta(BEFORE, undefined).interrupts.size, 0);
});

test('bundle: a line whose counter fell was reset, what it did is unknown', () => {
  const { interrupts, resetIrqs } = interruptDelta(AFTER, BEFORE);
  assert.deepEqual(resetIrqs, [28]);
  assert.equal(interrupts.has(28), false);
});

test('bundle: mpstat’s averages win over its samples; the sum line is left out', () => {
  assert.deepEqual(
    [...parseCpuUse(MPSTAT)],
    [
      [0, 25],
      [2, 60],
    ],
  );
  assert.deepEqual([...parseCpuUse('mpstat: command not found')], []);
});

test('bundle: devmem packets by NIC section', () => {
  const text = (count: number) =>
    `=== eth1 ===\n  rx_devmem_pkts: ${count}\n\n=== eth2 ===\n  x: 1\n`;
  assert.equal(devmemGrowth(text(10), text(25)).get('eth1')?.grown, 15);
  assert.equal(devmemGrowth(text(100), text(5)).get('eth1')?.grown, undefined, 'a reset');
  const fresh = devmemGrowth('=== eth2 ===\n', text(5)).get('eth1');
  assert.deepEqual(fresh, { before: undefined, after: 5, grown: undefined });
});

test('bundle: host by mpstat’s first line or a file, length by stamps in the names', () => {
  writeFileSync(join(folder, 'irq_before_20251007_120000.txt'), BEFORE);
  writeFileSync(join(folder, 'irq_after_20251007_120130.txt'), AFTER);
  writeFileSync(join(folder, 'cpu_usage_during.txt'), MPSTAT);
  assert.equal(readBundle(folder).hostname, 'host');
  assert.equal(readBundle(folder).seconds, 90);
  writeFileSync(join(folder, 'hostname.txt'), 'node-7\n');
  assert.equal(readBundle(folder).hostname, 'node-7');
});

test('bundle: files copied at once do not tell how long the run was', () => {
  for (const [name, text] of [
    ['irq_before.txt', BEFORE],
    ['irq_after.txt', AFTER],
  ] as const) {
    writeFileSync(join(folder, name), text);
    utimesSync(join(folder, name), 1000, 1000);
  }
  assert.equal(readBundle(folder).seconds, undefined);
  utimesSync(join(folder, 'irq_after.txt'), 1012, 1012);
  assert.equal(readBundle(folder).seconds, 12);
});

test('bundle: snapshots in the wrong order are noticed; a folder without any is refused', () => {
  assert.throws(() => readBundle(folder), /not a diagnostics bundle/);
  writeFileSync(join(folder, 'irq_before.txt'), AFTER);
  writeFileSync(join(folder, 'irq_after.txt'), BEFORE);
  assert.equal(readBundle(folder).isReversed, true);
  assert.throws(() => readBundle(join(folder, 'irq_after.txt')), /neither a folder nor a \.tgz/);
});

for (const [before, after] of [
  ['irq_before.txt', 'irq_after.txt'],
  ['irq_snapshot_before.txt', 'irq_snapshot_after.txt'],
  ['before/proc/interrupts', 'after/proc/interrupts'],
] as const) {
  test(`bundle: found as ${before}, and what is missing is named`, () => {
    for (const phase of ['before/proc', 'after/proc']) {
      mkdirSync(join(folder, phase), { recursive: true });
    }
    writeFileSync(join(folder, before), BEFORE);
    writeFileSync(join(folder, after), AFTER);
    const bundle = readBundle(folder);
    assert.equal(bundle.interrupts.get(28)?.get(2), 12);
    assert.equal(bundle.missing.length, 3);
  });
}

test('threads: a name with parentheses and spaces does not shift the fields', () => {
  const fields = Array.from({ length: 50 }, (_, index) => String(index + 3));
  assert.equal(lastCpu(`7 (odd) name (x) ${fields.join(' ')}`), 39);
  assert.equal(lastCpu('7 (short) S 1 2'), undefined);
  assert.deepEqual(allowedCpus('Name:\tx\nCpus_allowed_list:\t0-1,4\n'), [0, 1, 4]);
});

test('threads: of this very process, each with its allowed CPUs and time on CPU', () => {
  const threads = readThreads(openFolderFiles('/'), process.pid);
  assert.ok(threads.length > 1);
  assert.ok(threads.some(({ tid }) => tid === process.pid));
  assert.ok(threads.every(({ cpu, allowed }) => cpu !== undefined && (allowed?.length ?? 0) > 0));
});

test('bundle: as a .tgz, and from samples where the ends have no snapshots', () => {
  const series = `2025-10-07T12:00:00Z\n${BEFORE}2025-10-07T12:00:30Z\n${AFTER}`;
  const path = join(folder, 'bundle.tgz');
  const tree = new Map([['/nccl_1/irq_during.txt', { kind: 'file', text: series } as const]]);
  writeFileSync(path, gzipSync(encodeTar(tree, 0)));
  const bundle = readBundle(path);
  assert.equal(bundle.interrupts.get(28)?.get(2), 12);
  assert.equal(bundle.seconds, 30);
});

test('baseline: a run that failed or was cut short is refused by name', () => {
  const file = join(folder, 'run.json');
  const runsOf = (over: object) => {
    writeFileSync(file, JSON.stringify({ schema: 'tcpx.bench/1', ok: true, ...over }));
    return baselineRuns([file]);
  };
  assert.equal(runsOf({}).length, 1);
  assert.throws(() => runsOf({ ok: false }), /not a successful result/);
  assert.throws(
    () => runsOf({ partial: 'stopped by the user' }),
    /cut short \("stopped by the user"\)/,
  );
});
