// `tcpx diag run` as a person runs it: what it leaves behind, and what cannot stop it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runTcpx, type TcpxRun } from '../../test/support/run-tcpx.js';
import { at } from '../base/assert.js';
import type { BenchResult } from '../bench/bench-result.js';
import { openRunView } from '../diag/view/run-view.js';
import { readBundle } from '../host/irq/observation.js';
import { openSnapshotPair } from '../host/nic/snapshot-pair.js';
import { openHost } from '../host/read/open-host.js';
import { readHost } from '../host/read/read-host.js';

const folders: string[] = [];
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tcpx-diag-'));
  folders.push(folder);
});
after(() => {
  for (const one of folders) rmSync(one, { recursive: true, force: true });
});

function diagRun(
  words: readonly string[],
  flags: readonly string[] = [],
  environment = {},
): TcpxRun {
  return runTcpx(['diag', 'run', ...flags, '--', ...words], environment, folder);
}

function bundleOf(): string {
  const { status, stdout } = runTcpx(['diag', 'latest'], {}, folder);
  assert.equal(status, 0);
  return join(folder, stdout.trim());
}

function read(name: string): string {
  return readFileSync(join(bundleOf(), name), 'utf8');
}

const NAMES = [
  ...['irq_before.txt', 'irq_affinity.txt', 'nic_irq_mapping.txt', 'nic_numa_topology.txt'],
  ...['cpu_topology.txt', 'gpu_topology.txt', 'nic_stats_before.txt', 'environment.txt'],
  ...['dp_manager.txt', 'cpu_usage_during.txt', 'irq_during.txt', 'nccl_test_output.log'],
  ...['irq_after.txt', 'irq_delta.txt', 'nic_stats_after.txt', 'nic_stats_delta.txt'],
  ...['thread_affinity.txt', 'nccl_metrics_summary.txt', 'SUMMARY.txt', 'bundle.jsonl'],
];

test('diag run: every file under its name, 0600, in three phases, with its command’s end', () => {
  const line = '# Avg bus bandwidth    : 18.7';
  const { status, stdout } = diagRun(
    ['sh', '-c', `sleep 2.3; echo '${line}'; echo oops >&2; exit 3`],
    ['--label', 'nccl'],
    { NCCL_ALGO: 'Ring', NIXL_TCPX_TRUST_SECRET: 'tell-nobody', MY_PASSWORD: 'tell-nobody' },
  );
  assert.equal(status, 3);
  assert.equal(stdout, `${line}\n`);
  const bundle = bundleOf();
  assert.match(bundle, /\/diagnostics\/nccl_\d{8}_\d{6}$/);
  const names = readdirSync(bundle);
  assert.deepEqual(
    NAMES.filter((name) => !names.includes(name)),
    [],
  );
  const host = hostname().replace(/[^\w.-]/g, '_');
  for (const kind of ['irq_snapshot', 'irq_affinity', 'nic_irq_mapping', 'nic_numa_topology']) {
    const pattern = new RegExp(`^${kind}_${host}_\\d{8}_\\d{6}\\.txt$`);
    assert.ok(
      names.some((name) => pattern.test(name)),
      kind,
    );
  }
  for (const name of names) {
    assert.equal(statSync(join(bundle, name)).mode & 0o777, 0o600, name);
    assert.ok(!readFileSync(join(bundle, name), 'utf8').includes('tell-nobody'), name);
  }
  assert.match(read('environment.txt'), /^NCCL_ALGO=Ring$/m);
  assert.equal(read('nccl_test_output.log'), `${line}\noops\n`);
  assert.match(read('SUMMARY.txt'), /^ended +with status 3$/m);
});

test('diag run: samples each second, and its own cost is stored', () => {
  assert.equal(diagRun(['sleep', '3.2']).status, 0);
  const { end, busyPercent, hostname: name } = openRunView(bundleOf());
  assert.ok((end.samples ?? 0) >= 2);
  assert.ok(end.overheadPercent !== undefined && end.overheadPercent < 10);
  assert.ok(busyPercent.size > 0);
  assert.equal(name, hostname());
  assert.ok(end.threads.some((thread) => thread.name === 'sleep'));
  const records = read('bundle.jsonl').trim().split('\n');
  const kinds = records.map((record) => (JSON.parse(record) as { record: string }).record);
  assert.equal(kinds[0], 'begin');
  assert.equal(kinds.at(-1), 'end');
  assert.ok(kinds.filter((kind) => kind === 'sample').length >= 2);
});

test('diag run: the host tools read what it wrote', () => {
  assert.equal(diagRun(['sleep', '1.2']).status, 0);
  const bundle = bundleOf();
  const here = readHost(openHost());
  const there = readHost(openHost(bundle));
  assert.equal(there.hostname, here.hostname);
  assert.deepEqual(there.cpus.online, here.cpus.online);
  assert.equal(there.kernelRelease, here.kernelRelease);
  const physical = here.nics.filter(({ isVirtual }) => !isVirtual);
  assert.deepEqual(
    there.nics.map(({ name, pciAddress, node }) => [name, pciAddress, node]),
    physical.map(({ name, pciAddress, node }) => [name, pciAddress, node]),
  );
  assert.deepEqual(readBundle(bundle).missing, []);
  const pair = openSnapshotPair(bundle, bundle);
  assert.equal(pair.after.model.hostname, here.hostname);
  for (const nic of there.nics) {
    for (const { irq } of nic.vectors) {
      const line = (model: typeof here) => model.irqs.find((one) => one.irq === irq)?.requested;
      assert.deepEqual(line(there), line(here));
    }
  }
});

test('diag run: a missing command, a signal and a deadline give the status of a shell', () => {
  const missing = diagRun(['/no/such/program']);
  assert.equal(missing.status, 127);
  assert.match(missing.stderr, /did not start: ENOENT/);
  assert.match(read('SUMMARY.txt'), /never started: ENOENT/);
  assert.equal(diagRun(['sh', '-c', 'kill -9 $$']).status, 137);
  const started = performance.now();
  const late = diagRun(['sh', '-c', 'trap "" HUP; sleep 60'], ['--deadline', '1']);
  assert.equal(late.status, 143);
  assert.match(late.stderr, /ended at the deadline/);
  assert.ok(performance.now() - started < 20_000);
});

test('diag run: what the command leaves behind does not keep it', () => {
  const started = performance.now();
  assert.equal(diagRun(['sh', '-c', 'sleep 20 & echo done']).status, 0);
  assert.ok(performance.now() - started < 15_000);
});

test('diag run: a command that the limit is too small for goes on, and the bundle says so', () => {
  const flood = 'i=0; while [ $i -lt 90 ]; do head -c 10000 /dev/zero; i=$((i+1)); done; echo END';
  const { status, stdout } = diagRun(['sh', '-c', flood], ['--size-max', '1MiB']);
  assert.equal(status, 0);
  assert.ok(stdout.endsWith('END\n'));
  const log = read('nccl_test_output.log');
  assert.ok(log.length < 700_000);
  assert.match(log, /bytes are left out here/);
  assert.ok(log.endsWith('END\n'));
});

const PROGRAM = fileURLToPath(new URL('../../../bin/tcpx.js', import.meta.url));

test('diag run: a reader that goes away does not end the command', () => {
  const own = `"${process.execPath}" "${PROGRAM}"`;
  const words = `${own} diag run -- sh -c 'seq 100000; exit 5' | head -1`;
  const { stdout, status } = spawnSync('bash', ['-c', `set -o pipefail; ${words}`], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.equal(stdout, '1\n');
  assert.equal(status, 5);
  assert.match(read('nccl_test_output.log'), /\n100000\n$/);
});

test('diag run: its bytes are those of TCP_INFO, and of the interface within a percent', () => {
  const store = join(folder, 'store');
  const bench = ['bench', 'loopback', '--size', '16M', '--iters', '10', '--warmup-seconds', '0'];
  // As a script would start it: the program is known by what it says.
  const own = [process.execPath, PROGRAM];
  const words = ['diag', 'run', '--', ...own, ...bench, '--nics', 'lo', '--store', store];
  // Other tests move bytes over the loopback of this host.
  const alone = ['--net', 'sh', '-c', 'ip link set lo up; exec "$@"', 'sh'];
  const { status, stdout, stderr } = spawnSync(
    'unshare',
    [...alone, process.execPath, PROGRAM, ...words],
    { cwd: folder, encoding: 'utf8' },
  );
  assert.equal(status, 0, stderr);
  assert.match(stdout, /bandwidth GB\/s/);
  const kept = at(readdirSync(store), 0);
  const document = JSON.parse(readFileSync(join(store, kept), 'utf8')) as BenchResult;
  const channels = document.kernel?.channels ?? [];
  const acked = channels.reduce((sum, { bytesAcked }) => sum + bytesAcked, 0);
  assert.ok(acked > 10 * 16 * 2 ** 20);
  assert.ok(readdirSync(bundleOf()).length >= 13);
  const summary = read('SUMMARY.txt');
  const told = /data sockets +(\d+) bytes acknowledged/.exec(summary)?.[1];
  assert.equal(Number(told), acked);
  const share = /lo sent \d+ bytes less headers \((-?[\d.]+) %\)/.exec(summary)?.[1];
  assert.ok(Math.abs(Number(share)) < 1, summary);
});

test('diag latest: nothing there is an error that says what to do', () => {
  const { status, stderr } = runTcpx(['diag', 'latest'], {}, folder);
  assert.equal(status, 2);
  assert.match(stderr, /tcpx diag run -- COMMAND makes one/);
});
