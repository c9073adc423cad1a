// `tcpx doctor` as a child process: exit codes, JSON, and the reference bundle.

import assert from 'node:assert/strict';
import { chmodSync, cpSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import {
  emulatorPath,
  emulatorVariables,
  requireNative,
} from '../../test/native/plugin-environment.js';
import { a3HighTree } from '../../test/support/a3-high-host.js';
import { runTcpx } from '../../test/support/run-tcpx.js';
import { removeTreeFolder, writeTreeFolder } from '../../test/support/tree-folder.js';
import type { Diagnosis } from '../diag/doctor.js';
import { RULES } from '../diag/rules.js';
import { COMMANDS } from './commands.js';
import { parseInvocation } from './invocation.js';

let root = '';
beforeEach(() => {
  root = writeTreeFolder(a3HighTree());
});
afterEach(() => removeTreeFolder(root));

/** Before and after a run in which every data NIC received that many device-memory packets. */
function writeBundle(packets: number): string {
  const folder = join(root, 'nccl_1');
  mkdirSync(folder, { recursive: true });
  const text = (count: number) =>
    ['eth1', 'eth2', 'eth3', 'eth4']
      .map((nic) => `=== ${nic} ===\n     rx_devmem_pkts: ${count}\n`)
      .join('\n');
  writeFileSync(join(folder, 'hostname.txt'), 'a3-high-fixture\n');
  writeFileSync(join(folder, 'nic_stats_before.txt'), text(1000));
  writeFileSync(join(folder, 'nic_stats_after.txt'), text(1000 + packets));
  return folder;
}

test('doctor: exits 1 when a rule fails, with evidence, remedy and proof', () => {
  mkdirSync(join(root, 'usr/local/tcpx/lib64'), { recursive: true });
  const { status, stdout } = runTcpx(['doctor', '--root', root, '--provider', 'tcpx']);
  assert.equal(status, 1);
  assert.match(stdout, /devmem\.plugin/);
  assert.match(stdout, /remedy: Install the plugin/);
  assert.match(stdout, /proof: {2}tcpx devices/);
});

test('doctor: failures first, titles say the finding, what is not known is folded', () => {
  const carrier = 'sys/class/net/eth3/carrier';
  chmodSync(join(root, carrier), 0o644);
  writeFileSync(join(root, carrier), '0\n');
  writeFileSync(join(root, 'proc/sys/net/ipv4/tcp_slow_start_after_idle'), '1\n');
  const { stdout } = runTcpx(['doctor', '--root', root, '--nics', 'eth1,eth3']);
  const [first = '', ...lines] = stdout.split('\n');
  assert.equal(first, 'fail  eth3 has no link (nic.link)');
  const order = lines.map((line) => /^(fail|warn|pass|skip) /.exec(line)?.[1]).filter(Boolean);
  assert.deepEqual(
    order,
    [...order].sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b)),
  );
  assert.match(stdout, /^warn {2}tcp_slow_start_after_idle is 1 \(tcp\.congestion\)$/m);
  assert.equal(order.filter((status) => status === 'skip').length, 1);
  assert.match(stdout, /^skip {2}.*devmem\.plugin, .*$/m);
  const long = runTcpx(['doctor', '--root', root, '--all']).stdout;
  assert.match(long, /^skip {2}only asked with --provider tcpx \(devmem\.plugin\)$/m);
});

const ORDER: readonly (string | undefined)[] = ['fail', 'warn', 'pass', 'skip'];

test('doctor: exits 0 for plain TCP on the same machine, as JSON', () => {
  const { status, stdout } = runTcpx(['doctor', '--root', root, '--json']);
  const diagnosis = JSON.parse(stdout) as Diagnosis;
  assert.equal(status, 0, stdout);
  assert.equal(diagnosis.schema, 'tcpx.doctor/1');
  assert.equal(diagnosis.ok, true);
});

test('doctor: a bundle whose counters grew proves the environment', () => {
  const words = ['doctor', '--root', root, '--provider', 'tcpx', '--reference'];
  const proven = runTcpx([...words, writeBundle(30_000_000)]);
  assert.match(proven.stdout, /^environment proven by .*nccl_1/);
  const idle = runTcpx([...words, writeBundle(0)]);
  assert.match(idle.stdout, /^fail {2}the reference run in .* moved none \(reference\.devmem\)$/m);
});

test('doctor: a bundle lying about is not taken unasked, nor one of others believed', () => {
  const bundle = writeBundle(30_000_000);
  const folder = join(root, 'work/diagnostics');
  mkdirSync(folder, { recursive: true });
  renameSync(bundle, join(folder, 'nccl_1'));
  const words = ['doctor', '--root', root, '--provider', 'tcpx', '--all'];
  const unasked = runTcpx(words, {}, join(root, 'work'));
  assert.match(unasked.stdout, /no reference bundle was named/);
  writeFileSync(join(folder, 'nccl_1/hostname.txt'), 'elsewhere\n');
  const other = runTcpx([...words, '--reference', join(folder, 'nccl_1')]);
  assert.doesNotMatch(other.stdout, /environment proven/);
  assert.match(other.stdout, /not of this host: it was taken on elsewhere/);
});

test('doctor: a peer on this host is told that loopback never exercises devmem', () => {
  const words = ['doctor', '--root', root, '--provider', 'tcpx', '--peer', '127.0.0.1'];
  assert.match(runTcpx(words).stdout, /loopback never exercises devmem/);
});

test('doctor: over the emulator everything is green, and its wrong list is found', () => {
  requireNative();
  const tree = join(root, 'emulator');
  mkdirSync(tree);
  mkdirSync(join(root, 'run/systemd/timesync'), { recursive: true });
  writeFileSync(join(root, 'run/systemd/timesync/synchronized'), '');
  cpSync(emulatorPath, join(tree, 'libnccl-net.so'));
  const words = ['doctor', '--provider', 'tcpx', '--root', root, '--all', '--json'];
  const variables = { ...emulatorVariables, UCCL_TCPX_PLUGIN_PATH: '/emulator/libnccl-net.so' };
  const findings = (list: string) => {
    const environment = { ...variables, NCCL_GPUDIRECTTCPX_SOCKET_IFNAME: list };
    const diagnosis = JSON.parse(runTcpx(words, environment).stdout) as Diagnosis;
    return diagnosis.findings.filter(({ status }) => status === 'fail' || status === 'warn');
  };
  assert.deepEqual(findings('eth1,eth2,eth3,eth4'), []);
  assert.deepEqual(
    findings('ens1').map(({ id, status }) => `${id} ${status}`),
    ['run.list fail'],
  );
});

test('doctor: the emulator by its word, on this machine', () => {
  requireNative();
  const { status, stdout } = runTcpx(['doctor', '--plugin', 'emulator', '--json']);
  const { findings, provider } = JSON.parse(stdout) as Diagnosis;
  assert.equal(provider, 'tcpx');
  assert.equal(findings.find(({ id }) => id === 'devmem.plugin')?.status, 'pass');
  const judged = findings.filter(({ status: one }) => one === 'fail').map(({ id }) => id);
  assert.deepEqual(judged, []);
  assert.equal(status, 0);
});

test('doctor: a plugin by its flag is the one that is judged', () => {
  const flags = ['--plugin', '/absent/libnccl-net.so', '--json'];
  const { stdout } = runTcpx(['doctor', '--root', root, '--provider', 'tcpx', ...flags]);
  const { findings } = JSON.parse(stdout) as Diagnosis;
  const found = findings.find(({ id }) => id === 'devmem.plugin');
  assert.match(String(found?.evidence), /\/absent\/libnccl-net\.so/);
});

test('doctor: every proof that is a tcpx command exists with its flags', () => {
  for (const { id, proof } of RULES) {
    if (!proof.startsWith('tcpx ')) continue;
    const words = proof.split(' ').slice(1);
    const [command] = COMMANDS.filter(({ name }) =>
      `${words.join(' ')} `.startsWith(`${name} `),
    ).sort((a, b) => b.name.length - a.name.length);
    assert.ok(command !== undefined, `${id}: ${proof}`);
    const rest = words.slice(command.name.split(' ').length);
    assert.doesNotThrow(() => parseInvocation(command, rest), `${id}: ${proof}`);
  }
});
