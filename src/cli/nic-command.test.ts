// `tcpx nic` and `tcpx nic diff` as child processes, on this machine and on a flat bundle.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { a3HighTree } from '../../test/support/a3-high-host.js';
import { flatBundle } from '../../test/support/flat-bundle.js';
import { runTcpx } from '../../test/support/run-tcpx.js';
import { removeTreeFolder, writeTreeFolder } from '../../test/support/tree-folder.js';
import type { NicDiff } from '../host/nic/nic-diff.js';
import type { NicReport } from '../host/nic/nic-report.js';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tcpx-nic-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function writeBundle(): void {
  for (const [name, text] of flatBundle()) writeFileSync(join(folder, name), text);
}

test('nic: every interface of this machine in a line, with rates', () => {
  const { status, stderr, stdout } = runTcpx(['nic', '--seconds', '0.05']);
  assert.equal(status, 0, stderr);
  assert.match(
    stdout,
    /^NIC +driver +PCI +NUMA +PCIe +link +speed +MTU +rings +RX B\/s +TX B\/s$/m,
  );
  assert.match(stdout, /^lo +.* 65536 +\? +\d/m);
});

test('nic NAME: in full, from a captured tree; rates of files are unknown', () => {
  const root = writeTreeFolder(a3HighTree());
  const { status, stderr, stdout } = runTcpx(['nic', 'eth1', '--root', root]);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^ {2}rings +RX 1024 of 4096, TX 1024 of 4096/m);
  assert.match(stdout, /^ {2}coalescing +RX 20 µs/m);
  assert.match(stdout, /enable-strict-header-split on/);
  assert.match(stdout, /^RX 8 +65\.0G +\? +136 +25 /m);
  assert.match(stdout, /^rx_devmem_pkts +32000000 +\? +driver$/m);
  const json = runTcpx(['nic', 'eth1', '--root', root, '--json']);
  const { schema, nics } = JSON.parse(json.stdout) as { schema: string; nics: NicReport[] };
  assert.equal(schema, 'tcpx.nic/1');
  assert.equal(nics[0]?.rings?.rx, 1024);
  const unknown = runTcpx(['nic', 'eth9', '--root', root]);
  assert.equal(unknown.status, 2);
  assert.match(unknown.stderr, /eth9/);
  removeTreeFolder(root);
});

test('nic --save and nic diff: two snapshots of this machine, with their seconds', () => {
  const [first, second] = [join(folder, 'a.tgz'), join(folder, 'b.tgz')];
  assert.equal(runTcpx(['nic', '--save', first]).status, 0);
  assert.equal(runTcpx(['nic', '--save', second]).status, 0);
  const { status, stdout, stderr } = runTcpx([
    'nic',
    'diff',
    first,
    second,
    '--nics',
    'lo',
    '--json',
  ]);
  assert.equal(status, 0, stderr);
  const document = JSON.parse(stdout) as { seconds: number; nics: NicDiff[] };
  assert.ok(document.seconds > 0 && document.seconds < 60);
  assert.ok((document.nics[0]?.rx.bytes ?? -1) >= 0);
  const reversed = runTcpx(['nic', 'diff', second, first]);
  assert.equal(reversed.status, 2);
  assert.match(reversed.stderr, /the second was taken before the first/);
});

test('nic diff BUNDLE BUNDLE: one table, the busiest marked', () => {
  writeBundle();
  const { status, stderr, stdout } = runTcpx(['nic', 'diff', folder, folder]);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^eth1 +RX total +128G +\? +15\.0M +14\.0M +0 +920k +4 CPUs$/m);
  assert.match(stdout, /^eth1 +RX 11 \* +32\.0G .* 230k +28\*: 230k$/m, 'queue and core');
  assert.match(stdout, /^eth4 +RX 11 \* .* 230k +79: 230k$/m);
  assert.doesNotMatch(stdout, /RX 12/);
  assert.match(stdout, /queues and vectors did not move/);
});

test('nic diff: without counters of one end it says so, exit 2', () => {
  writeBundle();
  rmSync(join(folder, 'irq_snapshot_after.txt'));
  rmSync(join(folder, 'nic_info_after.txt'));
  const { status, stderr } = runTcpx(['nic', 'diff', folder, folder]);
  assert.equal(status, 2);
  assert.match(stderr, /no counters from after the run/);
  assert.equal(runTcpx(['nic', 'diff', folder]).status, 2);
});
