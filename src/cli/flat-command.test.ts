// The host commands on a flat bundle, as a person would run them on files that somebody sent.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { flatBundle } from '../../test/support/flat-bundle.js';
import { runTcpx } from '../../test/support/run-tcpx.js';
import type { Diagnosis } from '../diag/doctor.js';
import type { IrqPlan } from '../host/irq/plan.js';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tcpx-flat-'));
  for (const [name, text] of flatBundle()) writeFileSync(join(folder, name), text);
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A plan that asks for the CPUs that the bundle shows, or for the ones given. */
function writePlan(cores?: string, isWanted: (irq: number) => boolean = () => true): string {
  const path = join(folder, 'plan.json');
  const words = ['irq', 'plan', '--root', folder, '--nic', 'eth1', '--cores', cores ?? '17-32'];
  const { status, stderr } = runTcpx([...words, '--output', path]);
  assert.equal(status, 0, stderr);
  if (cores !== undefined) return path;
  const plan = JSON.parse(readFileSync(path, 'utf8')) as IrqPlan;
  const lines = plan.lines
    .filter(({ irq }) => isWanted(irq))
    .map((line) => {
      const cpus = line.before ?? [];
      return { ...line, cpus, value: cpus.join(',') };
    });
  writeFileSync(path, JSON.stringify({ ...plan, lines }));
  return path;
}

test('topo --root BUNDLE: NICs with node and interrupt cores; distances are not claimed', () => {
  const { status, stdout, stderr } = runTcpx(['topo', '--root', folder]);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /208 CPUs on 104 cores in 2 sockets, 2 NUMA nodes/);
  assert.match(stdout, /^eth3 +(\? +){10}X +\? +1 +- +52-67 \(requested\)$/m);
  assert.match(stdout, /GPU0 +none +how near GPU and NICs are is not known/);
  assert.match(stdout, /hardware threads of a core: lscpu does not say/);
});

test('irq show and plan --root BUNDLE: vectors by PCI address, thread cores of the bundle', () => {
  const show = runTcpx(['irq', 'show', '--root', folder]);
  assert.equal(show.status, 0, show.stderr);
  assert.match(show.stdout, /^eth1 +0 +112-144 +17-32 .* 22-35,126-139$/m);
  const plan = runTcpx(['irq', 'plan', '--root', folder, '--policy', 'numa-local', '--json']);
  const { lines } = JSON.parse(plan.stdout) as IrqPlan;
  assert.equal(lines.length, 4 * 32);
  const ofEth1 = lines.filter(({ nic }) => nic === 'eth1').flatMap(({ cpus }) => cpus);
  assert.ok(
    ofEth1.every((cpu) => cpu % 104 < 52),
    'CPUs of node 0 only',
  );
});

test('irq verify --before --after: the two ends of a bundle; counters prove or convict', () => {
  const both = ['--before', folder, '--after', folder];
  const busy = writePlan(undefined, (irq) => irq >= 136 && irq <= 139);
  const good = runTcpx(['irq', 'verify', '--plan', busy, ...both]);
  assert.equal(good.status, 0, good.stderr);
  assert.match(good.stdout, /^136 +eth1 +RX queue 8 .* 230008 +0 +proven$/m);
  const idle = runTcpx(['irq', 'verify', '--plan', writePlan(), ...both]);
  assert.equal(idle.status, 3, 'a bundle does not tell where idle lines would go');
  assert.match(idle.stdout, /28 requested: .* cannot be read/);
  const bad = runTcpx(['irq', 'verify', '--plan', writePlan('40-43'), ...both]);
  assert.equal(bad.status, 1);
  assert.match(bad.stdout, /NOT as planned/);
});

test('irq verify --before --after: samples in between tell when a line strayed', () => {
  const before = readFileSync(join(folder, 'irq_snapshot_before.txt'), 'utf8');
  const after = readFileSync(join(folder, 'irq_snapshot_after.txt'), 'utf8');
  const series = `2025-10-07T12:00:00Z\n${before}2025-10-07T12:00:05Z\n${before}`;
  writeFileSync(join(folder, 'irq_during.txt'), `${series}2025-10-07T12:00:10Z\n${after}`);
  const words = ['irq', 'verify', '--plan', writePlan('40-43')];
  const { stdout } = runTcpx([...words, '--before', folder, '--after', folder]);
  assert.match(stdout, /3 samples in between: 4 lines strayed/);
  assert.match(stdout, /IRQ 136 \(eth1 RX queue 8\): first between 2025-10-07T12:00:05.000Z and /);
  assert.match(stdout, /2025-10-07T12:00:10.000Z, 230008 on CPUs 25$/m);
});

test('irq verify --before --after: refusals are one line, exit 2', () => {
  const plan = writePlan();
  const verify = ['irq', 'verify', '--plan', plan];
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [[...verify, '--before', folder], /--before and --after belong together/],
    [['irq', 'verify', '--before', folder, '--after', folder], /need --plan FILE/],
    [[...verify, '--before', folder, '--after', folder, '--watch'], /--watch asks a host/],
    [[...verify, '--before', folder, '--after', join(folder, 'none')], /no such folder/],
  ];
  for (const [words, expected] of cases) {
    const { status, stderr } = runTcpx(words);
    assert.equal(status, 2, stderr);
    assert.match(stderr, expected);
  }
  const after = readFileSync(join(folder, 'irq_snapshot_after.txt'), 'utf8');
  const other = mkdtempSync(join(tmpdir(), 'tcpx-flat-'));
  writeFileSync(join(other, 'irq_snapshot.txt'), after);
  const reversed = runTcpx([...verify, '--before', other, '--after', join(folder)]);
  assert.equal(reversed.status, 3, 'equal counters are no reversal');
  rmSync(join(folder, 'irq_snapshot_after.txt'));
  const { status, stderr } = runTcpx([...verify, '--before', other, '--after', folder]);
  assert.equal(status, 2);
  assert.match(stderr, /the second is the earlier one/);
  rmSync(other, { recursive: true });
});

test('doctor --root BUNDLE: no rule fails on what the bundle does not say', () => {
  const words = ['doctor', '--root', folder, '--provider', 'tcpx', '--json'];
  const { findings } = JSON.parse(runTcpx(words).stdout) as Diagnosis;
  const of = (id: string) => findings.find((finding) => finding.id === id);
  assert.equal(of('devmem.counter')?.status, 'pass');
  assert.equal(of('irq.node')?.status, 'pass');
  const failed = findings.filter(({ status }) => status === 'fail').map(({ id }) => id);
  assert.deepEqual(failed, []);
});

test('irq apply and rollback --root BUNDLE: nothing to write to, exit 2', () => {
  for (const words of [
    ['irq', 'apply', '--no-baseline'],
    ['irq', 'rollback'],
  ]) {
    const { status, stderr } = runTcpx([...words, '--root', folder]);
    assert.equal(status, 2, stderr);
    assert.match(stderr, /a bundle cannot be written to/);
  }
});

test('doctor --measure --root BUNDLE: files cannot be timed, exit 2', () => {
  const { status, stderr } = runTcpx(['doctor', '--measure', '--root', folder]);
  assert.equal(status, 2);
  assert.match(stderr, /times this machine/);
});

test('doctor --root BUNDLE: this shell’s variables are not those of the run', () => {
  rmSync(join(folder, 'env_vars.txt'));
  const words = ['doctor', '--root', folder, '--provider', 'tcpx', '--json'];
  const wrong = { NCCL_GPUDIRECTTCPX_RX_BINDINGS: 'eth1:8' };
  const { findings } = JSON.parse(runTcpx(words, wrong).stdout) as Diagnosis;
  for (const id of ['run.variables', 'run.bindings']) {
    assert.equal(findings.find((finding) => finding.id === id)?.status, 'skip', id);
  }
});
