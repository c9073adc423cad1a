// The irq and env commands by their words, on a generated A3-high tree below --root.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { a3HighSpec } from '../../test/support/a3-high-host.js';
import { buildHostTree } from '../../test/support/host-tree.js';
import { runResident } from '../../test/support/resident-tcpx.js';
import { removeTreeFolder, writeTreeFolder } from '../../test/support/tree-folder.js';
import type { IrqPlan } from '../host/irq/plan.js';
import { A3_HIGH_RX_BINDINGS, A3_HIGH_TX_BINDINGS } from '../host/irq/policy.js';

const TCPX = fileURLToPath(new URL('../../../bin/tcpx.js', import.meta.url));
const NICS = 'eth1,eth2,eth3,eth4';
const NOBODY = 65534;

let root = '';
beforeEach(() => {
  root = writeTreeFolder(buildHostTree(a3HighSpec()));
});
afterEach(() => removeTreeFolder(root));

interface RunOptions {
  readonly uid?: number;
  readonly env?: Readonly<Record<string, string>>;
}

function tcpx(words: readonly string[], options: RunOptions = {}) {
  const { uid } = options;
  const env = { PATH: process.env['PATH'] ?? '', ...options.env };
  const all = [...words, '--root', root];
  if (uid === undefined) return runResident({ words: all, environment: env });
  return spawnSync(process.execPath, [TCPX, ...all], { encoding: 'utf8', env, uid, gid: uid });
}

function affinity(irq: number): string {
  return readFileSync(join(root, `proc/irq/${irq}/smp_affinity_list`), 'utf8').trim();
}

function allAffinities(): string {
  const irqs = readdirSync(join(root, 'proc/irq')).filter((name) => /^\d+$/.test(name));
  return irqs.map((irq) => `${irq} ${affinity(Number(irq))}`).join('\n');
}

test('irq show: seven columns, NICs by PCI address, thread cores from the environment', () => {
  const env = {
    NCCL_GPUDIRECTTCPX_TX_BINDINGS: A3_HIGH_TX_BINDINGS,
    NCCL_GPUDIRECTTCPX_RX_BINDINGS: A3_HIGH_RX_BINDINGS,
  };
  const { status, stdout } = tcpx(['irq', 'show'], { env });
  assert.equal(status, 0);
  const [heading = '', eth0 = '', eth1 = '', , , eth4 = ''] = stdout.split('\n');
  const cells = (line: string) => line.trim().split(/ {2,}/);
  assert.deepEqual(cells(heading), [
    ...['NIC', 'NUMA', 'IRQs', 'affinity', 'observed CPUs (since boot)', 'TX cores', 'RX cores'],
  ]);
  assert.deepEqual(cells(eth0).slice(0, 4), ['eth0', '0', '79-111', '1-16']);
  assert.deepEqual(cells(eth1).slice(0, 4), ['eth1', '0', '112-144', '17-32']);
  assert.deepEqual(cells(eth1).slice(5), ['8-21,112-125', '22-35,126-139']);
  assert.deepEqual(cells(eth4).slice(0, 4), ['eth4', '1', '211-243', '68-83']);
  const threads = '28 CPUs, 14 cores, local';
  assert.match(
    stdout,
    new RegExp(`^eth3 +effective +52-67 +- +${threads} +${threads} +60-67 +- +- +eth4$`, 'm'),
  );
  assert.match(stdout, /effective: where interrupts are delivered/);
});

test('irq show: interrupts are requested where the effective CPU is not readable', () => {
  rmSync(join(root, 'proc/irq/120/effective_affinity_list'));
  rmSync(join(root, 'proc/irq/150'), { recursive: true });
  const { stdout } = tcpx(['irq', 'show']);
  assert.match(stdout, /^eth1 +requested +17-32 /m);
  assert.match(stdout, /^eth2 +unknown +33-48 /m);
  assert.match(stdout, /^eth3 +effective +52-67 /m);
});

test('irq show: an unreadable affinity is N/A, and snapshots are named with host and time', () => {
  rmSync(join(root, 'proc/irq'), { recursive: true });
  const folder = join(root, 'snapshots');
  const { status, stdout } = tcpx(['irq', 'show', '--nics', 'eth1', '--save', folder]);
  assert.equal(status, 0);
  assert.match(stdout, /eth1 .* N\/A /);
  const names = readdirSync(folder).sort();
  assert.match(names[0] ?? '', /^irq_affinity_a3-high-fixture_\d{8}_\d{6}\.txt$/);
  assert.match(names[1] ?? '', /^irq_snapshot_a3-high-fixture_\d{8}_\d{6}\.txt$/);
  assert.match(readFileSync(join(folder, names[0] ?? ''), 'utf8'), /^IRQ 112: eth1 N\/A$/m);
  assert.match(
    readFileSync(join(folder, names[1] ?? ''), 'utf8'),
    /gve-ntfy-blk0@pci:0000:06:00.0/,
  );
});

test('irq plan, env: without a flag the NICs of the GPUs, never the control NIC', () => {
  const plan = JSON.parse(tcpx(['irq', 'plan', '--json']).stdout) as IrqPlan;
  assert.equal(plan.allocations.map(({ nic }) => nic).join(), NICS);
  const { stdout } = tcpx(['env']);
  assert.match(stdout, /SOCKET_IFNAME='?eth1,eth2,eth3,eth4'?$/m);
  assert.match(stdout, /CTRL_DEV='?eth0'?$/m);
  assert.doesNotMatch(stdout, /NUM_CHANNELS/);
  assert.match(tcpx(['env', '--channels', '2']).stdout, /^export UCCL_TCPX_NUM_CHANNELS=2$/m);
  const env = { NCCL_GPUDIRECTTCPX_SOCKET_IFNAME: 'eth', NCCL_GPUDIRECTTCPX_CTRL_DEV: 'eth0' };
  const { allocations } = JSON.parse(tcpx(['irq', 'plan', '--json'], { env }).stdout) as IrqPlan;
  assert.equal(allocations.map(({ nic }) => nic).join(), NICS);
});

test('irq plan: prints what would be written and writes nothing', () => {
  const before = allAffinities();
  const { status, stdout } = tcpx(['irq', 'plan', '--policy', 'nccl', '--vectors']);
  assert.equal(status, 0);
  assert.match(stdout, /echo 22-35,126-139 > \/proc\/irq\/136\/smp_affinity_list/);
  assert.equal(allAffinities(), before);
});

test('irq plan --explain: policies and the options A, B, C, with A recommended', () => {
  const { stdout } = tcpx(['irq', 'plan', '--explain']);
  assert.match(stdout, /Option A: .*recommended/);
  assert.match(stdout, /Option B: /);
  assert.match(stdout, /Option C: /);
});

test('irq plan: one line per NIC, with what it is now and would be', () => {
  const { stdout } = tcpx(['irq', 'plan', '--policy', 'nccl']);
  assert.doesNotMatch(stdout, /echo /);
  assert.match(stdout, /^eth1 +0 +32 +32 +17-32 +8-35,112-139 +8-21,112-125 +22-35,126-139/m);
  assert.ok(stdout.split('\n').length < 40, `${stdout.split('\n').length} lines`);
});

/** Two snapshots of this host; between them row 140 (RX queue 12 of eth1) fires on CPU 29. */
function writeBundle(): string {
  const bundle = join(root, 'bundle');
  mkdirSync(bundle);
  const table = readFileSync(join(root, 'proc/interrupts'), 'utf8');
  const row = (text: string) => text.split('\n').find((line) => line.startsWith('140:')) ?? '';
  const cells = row(table).split(/(?<=\d)(?= )/);
  cells[29] = cells[29]?.replace(/\d+$/, '9999') ?? '';
  writeFileSync(join(bundle, 'irq_before_20251007_120000.txt'), table);
  writeFileSync(
    join(bundle, 'irq_after_20251007_120015.txt'),
    table.replace(row(table), cells.join('')),
  );
  return bundle;
}

test('irq plan --from: placed by the load of the run, shown per CPU now and planned', () => {
  const words = ['irq', 'plan', '--policy', 'split', '--nics', 'eth1', '--from', writeBundle()];
  const plan = JSON.parse(tcpx([...words, '--json']).stdout) as IrqPlan;
  const line = plan.lines.find(({ irq }) => irq === 140);
  assert.match(line?.reason ?? '', /by load \(9999 interrupts\)/);
  assert.deepEqual(plan.warnings, []);
  const { stdout } = tcpx(words);
  assert.match(stdout, /interrupts of these NICs per CPU \(in the run, 15\.0 s; /);
  assert.match(stdout, /^CPU 29 +9999 +0 +0$/m);
  assert.match(stdout, new RegExp(`^CPU ${line?.value} +0 +9999 +0$`, 'm'));
});

test('irq show --from: deltas of the run with its seconds, never counts since boot', () => {
  const show = tcpx(['irq', 'show', '--nics', 'eth1', '--vectors', '--from', writeBundle()]);
  assert.match(show.stdout, /observed CPUs \(in the run, 15\.0 s\)/);
  assert.match(show.stdout, /29 \(most 29: 9999\)/);
  assert.match(show.stdout, /the bundle lacks CPU use/);
  assert.match(show.stdout, /count \(in the run, 15\.0 s\)/);
  assert.match(show.stdout, /^140 +eth1 +RX queue 12 .* 9999 +gve rule$/m);
  // 230008 interrupts since boot, none in the run.
  assert.match(show.stdout, /^136 +eth1 +RX queue 8 .* 0 +gve rule$/m);
});

test('irq show --from: a bundle with one snapshot tells no run, and says so', () => {
  const bundle = writeBundle();
  rmSync(join(bundle, 'irq_before_20251007_120000.txt'));
  const show = tcpx(['irq', 'show', '--nics', 'eth1', '--vectors', '--from', bundle]);
  assert.match(show.stdout, /^eth1 +0 +112-144 +17-32 +N\/A/m);
  assert.match(show.stdout, /^136 +eth1 +RX queue 8 .* N\/A +gve rule$/m);
  assert.match(show.stdout, /the bundle lacks interrupts before/);
  const plan = tcpx(['irq', 'plan', '--from', bundle]);
  assert.equal(plan.status, 2);
  assert.match(plan.stderr, /^ERR_USAGE_ARGUMENT: --from .*lacks interrupts before/);
});

test('irq plan --from: a bundle of another machine or in the wrong order is refused', () => {
  const bundle = writeBundle();
  writeFileSync(join(bundle, 'hostname.txt'), 'elsewhere\n');
  const other = tcpx(['irq', 'plan', '--from', bundle]);
  assert.equal(other.status, 2);
  assert.match(other.stderr, /^ERR_USAGE_ARGUMENT: --from .*taken on elsewhere, this host is a3/);
  rmSync(join(bundle, 'hostname.txt'));
  const names = ['irq_before_20251007_120000.txt', 'irq_after_20251007_120015.txt'] as const;
  const [before, after] = names.map((name) => readFileSync(join(bundle, name)));
  writeFileSync(join(bundle, names[0]), after ?? '');
  writeFileSync(join(bundle, names[1]), before ?? '');
  const swapped = tcpx(['irq', 'plan', '--from', bundle]);
  assert.equal(swapped.status, 2);
  assert.match(swapped.stderr, /wrong order, or a reboot/);
});

test('irq plan --from: interrupt lines of another machine type are noticed without a name', () => {
  const bundle = writeBundle();
  for (const name of readdirSync(bundle)) {
    const text = readFileSync(join(bundle, name), 'utf8');
    writeFileSync(join(bundle, name), text.replaceAll('0000:06:00.0', '0000:07:00.0'));
  }
  const { status, stderr } = tcpx(['irq', 'plan', '--from', bundle]);
  assert.equal(status, 2);
  assert.match(stderr, /IRQ 112 \(eth1\) is vector 0 of 0000:07:00\.0 there/);
});

test('irq apply: unprivileged, exit 3 with guidance and nothing written', {
  skip: process.geteuid?.() !== 0,
}, () => {
  const before = allAffinities();
  for (const name of ['proc', 'sys', 'tcpx-capture']) openForReading(join(root, name));
  chmodSync(root, 0o755);
  const words = ['irq', 'apply', '--nics', NICS, '--no-baseline'];
  const { status, stderr } = tcpx(words, { uid: NOBODY });
  assert.equal(status, 3, stderr);
  assert.match(stderr, /ERR_CAP_PERMISSION: .*EACCES; nothing was written.*sudo/);
  assert.doesNotMatch(stderr, /\n\s+at /);
  assert.equal(allAffinities(), before);
  assert.equal(existsSync(join(root, 'var/lib/nixl-tcpx')), false);
});

test('irq apply: wants a baseline of this host, which irq baseline records', () => {
  const apply = ['irq', 'apply', '--nics', NICS];
  const first = tcpx(apply);
  assert.equal(first.status, 3);
  assert.match(first.stderr, /ERR_CAP_BASELINE/);
  const result = join(root, 'run.json');
  writeFileSync(result, JSON.stringify({ schema: 'tcpx.bench/1', ok: false }));
  assert.equal(tcpx(['irq', 'baseline', result]).status, 2);
  writeFileSync(result, JSON.stringify({ schema: 'tcpx.bench/1', ok: true }));
  assert.equal(tcpx(['irq', 'baseline', result, result, result]).status, 0);
  assert.equal(tcpx(apply).status, 0);
  writeFileSync(join(root, 'proc/sys/kernel/hostname'), 'elsewhere\n');
  assert.match(tcpx(apply).stderr, /recorded on a3-high-fixture/);
});

test('irq apply, verify, rollback: a choice by hand, with masks, log and proof', () => {
  const before = allAffinities();
  const hand = ['--nic', 'eth1', '--cores', '8-21,112-125', '--no-baseline'];
  const applied = tcpx(['irq', 'apply', ...hand]);
  assert.equal(applied.status, 0, applied.stderr);
  assert.equal(affinity(112), '8-21,112-125');
  assert.equal(affinity(145), '33');
  const state = join(root, 'var/lib/nixl-tcpx');
  const log = readdirSync(state).find((name) => name.endsWith('.log')) ?? '';
  assert.match(log, /^irq-apply_a3-high-fixture_\d{8}_\d{6}\.log$/);
  assert.match(readFileSync(join(state, log), 'utf8'), /112 +eth1 +TX queue 0 +17 +8-21,112-125/);
  const verify = ['irq', 'verify', '--irqs-only', '--seconds', '0', '--json'];
  const held = JSON.parse(tcpx(verify).stdout) as { verdicts: { state: string }[] };
  assert.deepEqual([...new Set(held.verdicts.map((v) => v.state))].sort(), ['bound', 'pending']);
  writeFileSync(join(root, 'proc/irq/112/smp_affinity_list'), '3\n');
  const lost = tcpx(['irq', 'verify', '--irqs-only', '--seconds', '0']);
  assert.equal(lost.status, 1);
  assert.match(lost.stdout, /1 lost: /);
  const back = tcpx(['irq', 'rollback']);
  assert.equal(back.status, 0, back.stderr);
  assert.match(back.stdout, /somebody else had set 3/);
  assert.match(back.stdout, /rolled-back: 32 of 32 lines read back/);
  assert.equal(allAffinities(), before);
  assert.equal(tcpx(['irq', 'rollback']).status, 1);
});

test('irq apply: refuses after an apply that died midway, until it is rolled back', () => {
  const before = allAffinities();
  const hand = ['irq', 'apply', '--nic', 'eth1', '--cores', '8-9', '--no-baseline'];
  assert.equal(tcpx(hand).status, 0);
  const state = join(root, 'var/lib/nixl-tcpx');
  const name = readdirSync(state).find((file) => file.startsWith('irq-journal-')) ?? '';
  const journal = readFileSync(join(state, name), 'utf8');
  writeFileSync(join(state, name), journal.replace('"applied"', '"applying"'));
  const again = tcpx(hand);
  assert.equal(again.status, 2);
  assert.match(again.stderr, /ERR_USAGE_STATE: .*irq rollback first/);
  assert.equal(tcpx(['irq', 'rollback']).status, 0);
  assert.equal(allAffinities(), before);
  assert.equal(tcpx(hand).status, 0);
});

test('irq rollback --all: undoes several applies back to the first state', () => {
  const before = allAffinities();
  for (const cores of ['8-9', '10-11', '12-13']) {
    const hand = ['--nic', 'eth1', '--cores', cores, '--no-baseline'];
    assert.equal(tcpx(['irq', 'apply', ...hand]).status, 0);
  }
  assert.equal(affinity(112), '12-13');
  assert.equal(tcpx(['irq', 'rollback']).status, 0);
  assert.equal(affinity(112), '10-11');
  assert.equal(tcpx(['irq', 'rollback', '--all']).status, 0);
  assert.equal(allAffinities(), before);
});

test('irq apply: refuses while irqbalance runs, unless it bans the driver', () => {
  const processes = [
    { pid: 77, comm: 'irqbalance', cmdline: ['/usr/sbin/irqbalance', '--foreground'] },
  ];
  removeTreeFolder(root);
  root = writeTreeFolder(buildHostTree({ ...a3HighSpec(), processes }));
  const before = allAffinities();
  const words = ['irq', 'apply', '--nics', NICS, '--no-baseline'];
  const refused = tcpx(words);
  assert.equal(refused.status, 3);
  assert.match(refused.stderr, /ERR_CAP_IRQBALANCE: .*--banmod=gve/);
  assert.equal(allAffinities(), before);
  writeFileSync(join(root, 'proc/77/cmdline'), '/usr/sbin/irqbalance\0--banmod=gve\0');
  assert.equal(tcpx(words).status, 0);
});

test('irq verify: variables and inherited affinity, three ways to fail and one to pass', () => {
  assert.equal(tcpx(['irq', 'apply', '--policy', 'nccl', '--no-baseline']).status, 0);
  const task = join(root, 'proc/4242');
  mkdirSync(task);
  const environ = (tx: string, rx: string) =>
    writeFileSync(
      join(task, 'environ'),
      `NCCL_GPUDIRECTTCPX_TX_BINDINGS=${tx}\0NCCL_GPUDIRECTTCPX_RX_BINDINGS=${rx}\0`,
    );
  const allow = (list: string) =>
    writeFileSync(join(task, 'status'), `Name:\tx\nCpus_allowed_list:\t${list}\n`);
  const verify = () => tcpx(['irq', 'verify', '--pid', '4242', '--seconds', '0']);
  environ(A3_HIGH_TX_BINDINGS, A3_HIGH_RX_BINDINGS);
  allow('0-207');
  assert.equal(verify().status, 0);
  environ(A3_HIGH_TX_BINDINGS, A3_HIGH_RX_BINDINGS.replace('126-139', '124-139'));
  assert.match(verify().stdout, /eth1 planned 22-35,126-139, is 22-35,124-139/);
  assert.equal(verify().status, 1);
  environ(A3_HIGH_TX_BINDINGS, A3_HIGH_RX_BINDINGS);
  allow('0-15');
  assert.match(verify().stdout, /taskset, numactl or a cpuset/);
  assert.equal(verify().status, 1);
  allow('0-207');
  writeFileSync(join(root, 'proc/irq/112/smp_affinity_list'), '17\n');
  assert.equal(verify().status, 1);
});

test('irq verify: an effective mask that cannot be read is not verified, exit 3', () => {
  assert.equal(tcpx(['irq', 'apply', '--nics', 'eth1', '--no-baseline']).status, 0);
  rmSync(join(root, 'proc/irq/136/effective_affinity_list'));
  const { stderr, status, stdout } = tcpx(['irq', 'verify', '--irqs-only', '--seconds', '0']);
  assert.equal(status, 3, stderr);
  assert.match(stdout, /^NOT verified: some of it could not be read$/m);
  assert.match(stdout, /1 requested: /);
  rmSync(join(root, 'proc/irq'), { recursive: true });
  rmSync(join(root, 'proc/interrupts'));
  const blind = tcpx(['irq', 'verify', '--irqs-only', '--seconds', '0']);
  assert.equal(blind.status, 3, 'not "gone"');
  const watch = tcpx(['irq', 'verify', '--watch', '--seconds', '0', '--json']);
  assert.equal(watch.status, 3, 'not "lost"');
});

test('irq verify --watch: names a lost binding as a JSON line and exits 1', () => {
  assert.equal(tcpx(['irq', 'apply', '--nics', 'eth1', '--no-baseline']).status, 0);
  const watch = ['irq', 'verify', '--watch', '--seconds', '0', '--json'];
  assert.equal(tcpx(watch).status, 0);
  writeFileSync(join(root, 'proc/irq/112/smp_affinity_list'), '17\n');
  const { stdout, status } = tcpx(watch);
  assert.equal(status, 1);
  const event = JSON.parse(stdout.trim()) as { event: string; irq: number };
  assert.deepEqual([event.event, event.irq], ['lost', 112]);
});

test('irq apply --plan: a saved plan follows renumbered vectors; another host’s is refused', () => {
  const file = join(root, 'plan.json');
  tcpx(['irq', 'plan', '--nic', 'eth1', '--cores', '8-9', '--output', file]);
  const spec = a3HighSpec();
  const nics = spec.nics.map((nic) => {
    const shift = nic.name === 'eth1' ? 33 : nic.name === 'eth2' ? -33 : 0;
    return { ...nic, vectors: nic.vectors.map((v) => ({ ...v, irq: v.irq + shift })) };
  });
  const saved = readFileSync(file);
  removeTreeFolder(root);
  root = writeTreeFolder(buildHostTree({ ...spec, nics }));
  writeFileSync(join(root, 'plan.json'), saved);
  const apply = ['irq', 'apply', '--plan', join(root, 'plan.json'), '--no-baseline'];
  assert.equal(tcpx(apply).status, 0);
  assert.equal(affinity(145), '8-9');
  assert.equal(affinity(112), '33');
  writeFileSync(join(root, 'proc/sys/kernel/hostname'), 'elsewhere\n');
  assert.equal(tcpx(apply).status, 2);
});

function openForReading(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) chmodSync(path, 0o755);
  }
  chmodSync(folder, 0o755);
}
