// `tcpx irq run`, `mask`, `threads` and `tcpx env` as child processes, on a generated A3-high tree.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { a3HighTree } from '../../test/support/a3-high-host.js';
import { runTcpx } from '../../test/support/run-tcpx.js';
import { removeTreeFolder, writeTreeFolder } from '../../test/support/tree-folder.js';
import { intersectionOf } from '../host/irq/cpu-choice.js';
import type { IrqPlan } from '../host/irq/plan.js';
import { A3_HIGH_RX_BINDINGS, A3_HIGH_TX_BINDINGS } from '../host/irq/policy.js';

const TCPX = fileURLToPath(new URL('../../../bin/tcpx.js', import.meta.url));

let root = '';
beforeEach(() => {
  root = writeTreeFolder(a3HighTree());
});
afterEach(() => removeTreeFolder(root));

function tcpx(words: readonly string[]) {
  return runTcpx([...words, '--root', root]);
}

function allAffinities(): string {
  const irqs = readdirSync(join(root, 'proc/irq')).filter((name) => /^\d+$/.test(name));
  const read = (irq: string) =>
    readFileSync(join(root, 'proc/irq', irq, 'smp_affinity_list'), 'utf8').trim();
  return irqs.map((irq) => `${irq} ${read(irq)}`).join('\n');
}

const PRINT_RUN =
  'echo "tx=$NCCL_GPUDIRECTTCPX_TX_BINDINGS"; echo "rx=$NCCL_GPUDIRECTTCPX_RX_BINDINGS"; ' +
  'echo "irq=$(cat "$0")"';

function irqRun(words: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const file = join(root, 'proc/irq/112/smp_affinity_list');
  const child = ['--', 'sh', '-c', PRINT_RUN, file];
  const all = [TCPX, 'irq', 'run', '--root', root, '--policy', 'nccl', ...words, ...child];
  return spawnSync(process.execPath, all, {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] ?? '', ...env },
  });
}

test('irq run: the child gets both binding variables, interrupts stay without the switch', () => {
  const { stderr, status, stdout } = irqRun([], { NCCL_GPUDIRECTTCPX_TX_BINDINGS: 'eth1:1-2' });
  assert.equal(status, 0, stderr);
  assert.ok(stdout.includes(`tx=${A3_HIGH_TX_BINDINGS}\n`));
  assert.ok(stdout.includes(`rx=${A3_HIGH_RX_BINDINGS}\n`));
  assert.match(stdout, /^irq=17$/m);
  assert.match(stdout, /interrupts during the run/);
});

test('irq run: SETUP_IRQ_AFFINITY=1 binds before and puts back after', () => {
  const before = allAffinities();
  assert.equal(irqRun([], { SETUP_IRQ_AFFINITY: '1' }).status, 3);
  const { stderr, status, stdout } = irqRun(['--no-baseline'], { SETUP_IRQ_AFFINITY: '1' });
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^irq=8-21,112-125$/m);
  assert.match(stderr, /put back 128 interrupts/);
  assert.equal(allAffinities(), before);
});

test('irq run: exits with the status of the command, and says it', () => {
  const run = (...words: string[]) => runTcpx(['irq', 'run', '--root', root, ...words]);
  const plain = run('--policy', 'nccl', '--', 'sh', '-c', 'exit 7');
  assert.equal(plain.status, 7);
  assert.match(plain.stderr, /^sh: exit status 7$/m);
  const killed = run('--policy', 'nccl', '--', 'sh', '-c', 'kill -TERM $$');
  assert.equal(killed.status, 128 + 15);
  assert.match(killed.stderr, /^sh: ended by SIGTERM$/m);
});

test('irq run --setup: a state folder that cannot be made, exit 3 and nothing is bound', () => {
  const before = allAffinities();
  const state = join(root, 'proc/interrupts/state');
  const { stderr, status } = irqRun(['--setup', '--no-baseline', '--state', state]);
  assert.equal(status, 3, stderr);
  assert.match(stderr, /ERR_CAP_PERMISSION/);
  assert.doesNotMatch(stderr, /^irq=/m, 'the command did not run');
  assert.equal(allAffinities(), before);
});

for (const name of ['VERBOSE', 'UCCL_TCPX_VERBOSE']) {
  test(`irq run: ${name}=1 prints variables, ranges, NIC to channel and GPU, affinity`, () => {
    const { stderr } = irqRun(['--channels', '8'], { [name]: '1' });
    assert.match(stderr, /^NCCL_GPUDIRECTTCPX_RX_BINDINGS=eth1:22-35/m);
    assert.match(stderr, /^eth2 +8-21,112-125 +22-35,126-139 +8-35,112-139 +1,5 +2-3$/m);
    assert.match(stderr, /^136 +eth1 +RX queue 8 +25 +25$/m);
  });
}

test('irq mask: arithmetic both ways for any CPU, with a hint at the width', () => {
  const mask = '0000,00000000,00000000,3fff0000,00000000,00000000,003fff00';
  const forth = runTcpx(['irq', 'mask', '8-21,112-125', '--cpus', '208']);
  assert.match(forth.stdout, new RegExp(`mask {4}${mask}`));
  assert.match(forth.stdout, /28 of 208 CPUs$/m);
  assert.match(runTcpx(['irq', 'mask', '--mask', mask]).stdout, /list {4}8-21,112-125/);
  assert.match(runTcpx(['irq', 'mask', mask]).stdout, /list {4}8-21,112-125/, 'known by its look');
  assert.match(runTcpx(['irq', 'mask', '0x30000']).stdout, /list {4}16-17/);
  const far = runTcpx(['irq', 'mask', '4000']);
  assert.equal(far.status, 0, far.stderr);
  assert.match(far.stdout, /--cpus N gives the width/);
  const narrow = runTcpx(['irq', 'mask', '208', '--cpus', '208']);
  assert.equal(narrow.status, 2);
  assert.match(narrow.stderr, /CPU 208 does not exist among 208 .*--cpus/);
  for (const cpus of ['0', '1.5', 'x']) {
    const { stderr, status } = runTcpx(['irq', 'mask', '0', '--cpus', cpus]);
    assert.equal(status, 2);
    assert.match(stderr, /^ERR_USAGE_ARGUMENT: --cpus: .* whole number from 1 on/);
  }
});

test('irq threads: this very process, its threads and allowed CPUs', () => {
  const words = [TCPX, 'irq', 'threads', String(process.pid), '--json'];
  const { stdout } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  const { threads } = JSON.parse(stdout) as { threads: { tid: number; allowed: number[] }[] };
  const main = threads.find((thread) => thread.tid === process.pid);
  assert.ok(main !== undefined && main.allowed.length > 0);
});

test('env diff: a file that holds no variable is a usage error, an empty one is not', () => {
  const file = join(root, 'notes.txt');
  writeFileSync(file, 'not an environment\n');
  const { stderr, status } = tcpx(['env', 'diff', file, file]);
  assert.equal(status, 2);
  assert.match(stderr, /^ERR_USAGE_ARGUMENT: .*notes\.txt: holds no line NAME=value/);
  writeFileSync(file, '');
  assert.equal(tcpx(['env', 'diff', file, file]).status, 0);
});

test('env: export lines for the policy; env diff finds what a process has otherwise', () => {
  const { stdout, status } = tcpx(['env', '--policy', 'nccl']);
  assert.equal(status, 0);
  assert.match(stdout, /^export NCCL_GPUDIRECTTCPX_TX_BINDINGS='eth1:8-21,112-125;/m);
  assert.match(stdout, /^export NCCL_GPUDIRECTTCPX_SOCKET_IFNAME=eth1,eth2,eth3,eth4$/m);
  assert.match(stdout, /^export NCCL_SOCKET_IFNAME=eth0$/m);
  const file = join(root, 'env.sh');
  writeFileSync(file, stdout);
  assert.equal(tcpx(['env', 'diff', file, file]).status, 0);
  mkdirSync(join(root, 'proc/4242'));
  const environ = stdout.replaceAll("'", '').replaceAll('export ', '').replaceAll('\n', '\0');
  writeFileSync(
    join(root, 'proc/4242/environ'),
    environ.replace('CLIENT_PREFIX=/run/tcpx', 'CLIENT_PREFIX=/tmp'),
  );
  const diff = tcpx(['env', 'diff', file, 'pid:4242']);
  assert.equal(diff.status, 1);
  assert.match(diff.stdout, /UNIX_CLIENT_PREFIX \(path\)[\s\S]*no flow rule/);
  assert.match(diff.stdout, /1 difference/);
});

test('--gpu: the NIC of a CUDA ordinal alone, by PCI address, in env, irq plan and irq run', () => {
  const ifname = (words: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const { stdout, stderr } = runTcpx(['env', '--root', root, ...words], env);
    return /SOCKET_IFNAME=(\S+)/.exec(stdout)?.[1] ?? stderr;
  };
  assert.equal(ifname(['--gpu', '0']), 'eth1');
  assert.equal(ifname(['--gpu', '7']), 'eth4');
  assert.equal(ifname(['--gpu', '0'], { CUDA_VISIBLE_DEVICES: '5,2' }), 'eth3');
  assert.equal(ifname(['--gpu', '1'], { CUDA_VISIBLE_DEVICES: '5,2' }), 'eth2');
  assert.match(ifname(['--gpu', '2'], { CUDA_VISIBLE_DEVICES: '5,2' }), /CUDA sees 2 GPUs/);
  const plan = JSON.parse(tcpx(['irq', 'plan', '--gpu', '2', '--json']).stdout) as IrqPlan;
  assert.deepEqual([...new Set(plan.lines.map(({ nic }) => nic))], ['eth2']);
  // The other NIC of the node keeps its own cores.
  const other = JSON.parse(tcpx(['irq', 'plan', '--gpu', '0', '--json']).stdout) as IrqPlan;
  const cores = (document: IrqPlan) => document.lines.flatMap(({ cpus }) => cpus);
  assert.deepEqual(intersectionOf(cores(plan), cores(other)), []);
  const words = ['irq', 'run', '--root', root, '--gpu', '6', '--', 'sh', '-c'];
  const run = runTcpx([...words, 'echo "nic=$NCCL_GPUDIRECTTCPX_SOCKET_IFNAME"']);
  assert.match(run.stdout, /^nic=eth4$/m);
});

test('env, irq run: without a policy the variables of the plan that is applied', () => {
  const applied = tcpx(['irq', 'apply', '--policy', 'numa-local', '--no-baseline']);
  assert.equal(applied.status, 0, applied.stderr);
  const bindings = (words: readonly string[]) => {
    const { stdout, stderr, status } = tcpx(['env', ...words, '--json']);
    assert.equal(status, 0, stderr);
    const { policy, variables } = JSON.parse(stdout) as {
      readonly policy: string;
      readonly variables: Readonly<Record<string, string>>;
    };
    return [policy, variables['NCCL_GPUDIRECTTCPX_TX_BINDINGS']] as const;
  };
  const named = bindings(['--policy', 'numa-local']);
  assert.deepEqual(bindings([]), named);
  assert.equal(bindings(['--policy', 'split'])[0], 'split');
  assert.match(bindings(['--gpu', '0'])[1] ?? '', /^eth1:[^;]+$/);
  const words = ['irq', 'run', '--root', root, '--', 'sh', '-c'];
  const run = runTcpx([...words, 'echo "tx=$NCCL_GPUDIRECTTCPX_TX_BINDINGS"']);
  assert.ok(run.stdout.includes(`tx=${named[1] ?? ''}\n`), run.stderr);
  assert.match(run.stderr, /^policy numa-local: it is applied$/m);
  assert.equal(tcpx(['irq', 'rollback']).status, 0);
  assert.notEqual(bindings([])[0], 'numa-local');
});

test('irq apply: send queues that refuse are named with --no-xps, also for a saved plan', () => {
  const file = join(root, 'plan.json');
  assert.equal(tcpx(['irq', 'plan', '--policy', 'split', '--output', file]).status, 0);
  rmSync(join(root, 'sys/class/net/eth1/queues/tx-7/xps_cpus'));
  const before = allAffinities();
  const apply = ['irq', 'apply', '--plan', file, '--no-baseline'];
  const refused = tcpx(apply);
  assert.equal(refused.status, 4);
  assert.match(refused.stdout + refused.stderr, /^XPS eth1 TX queue 7: ENOENT/m);
  assert.match(refused.stdout + refused.stderr, /pass --no-xps/);
  assert.doesNotMatch(refused.stdout + refused.stderr, /--skip-refused/);
  assert.equal(allAffinities(), before);
  const applied = tcpx([...apply, '--no-xps']);
  assert.equal(applied.status, 0, applied.stderr);
  assert.notEqual(allAffinities(), before);
});

test('irq plan: a vector without a core shows no command to write', () => {
  const ranges = ['--tx-bindings', 'eth1:8-9', '--nics', 'eth1', '--vectors'];
  const { stdout } = tcpx(['irq', 'plan', ...ranges]);
  assert.match(stdout, /^policy nccl /m, 'ranges that are given are used');
  assert.doesNotMatch(stdout, /echo {2}>/);
});
