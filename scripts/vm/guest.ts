// Runs inside the guest as its only program: binds the interrupts of virtio NICs for real and looks
// at the kernel's own files, not only at what the commands say. Prints one line per check.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { checkExperiment } from './guest-experiment.js';
import {
  type Affinities,
  affinities,
  check,
  failureCount,
  isSame,
  json,
  type PlanDocument,
  say,
  tcpx,
} from './guest-host.js';
import { checkPlacement } from './guest-placement.js';

interface VerifyDocument {
  readonly ok: boolean;
  readonly verdicts: readonly { readonly state: string; readonly nic: string }[];
}

interface DiffDocument {
  readonly nics: readonly {
    readonly rx: { readonly packets?: number };
    readonly parts: readonly { readonly interrupts?: Readonly<Record<string, number>> }[];
  }[];
}

interface ShowDocument {
  readonly rows: readonly {
    readonly nic: string;
    readonly node: number;
    readonly irqs: unknown[];
  }[];
}

const UNPRIVILEGED = 65534;
const PLAN_FILE = '/tmp/plan.json';
/** Lines move at their first interrupt after the write. */
const SETTLE_MS = 2000;
const RUN_MS = 6000;

process.exitCode = await main();

async function main(): Promise<number> {
  await checkPlacement();
  // Placement alone takes a quarter of the time.
  if (readFileSync('/proc/cmdline', 'utf8').includes('tcpx.placement')) return verdict();
  const original = affinities();
  checkShow();
  const plan = checkPlan();
  const queues = sendQueues(plan);
  checkRefusals(original);
  checkApply(plan);
  checkSnapshots();
  checkVerify();
  checkRollback(original);
  check('every send queue is as it was before the apply', isSame(sendQueues(plan), queues));
  checkLoad(plan);
  await checkExperiment(original);
  checkImmovable(original);
  checkHotplug();
  return verdict();
}

function verdict(): number {
  return failureCount() === 0 ? 0 : 1;
}

function checkShow(): void {
  const { rows } = json(tcpx(['irq', 'show', '--json'])) as ShowDocument;
  check(
    'show finds four NICs with nine vectors each',
    rows.every((row) => row.irqs.length === 9),
  );
  const nodes = rows.map((row) => row.node).sort();
  check('show finds two NICs on each node', JSON.stringify(nodes) === '[0,0,1,1]');
}

function checkPlan(): PlanDocument {
  const result = tcpx(['irq', 'plan', '--policy', 'physical', '--output', PLAN_FILE, '--json']);
  const plan = json(result) as PlanDocument;
  check('plan has a line for each of 32 queue vectors', plan.lines.length === 32);
  return plan;
}

function checkRefusals(original: Affinities): void {
  const user = tcpx(['irq', 'apply', '--plan', PLAN_FILE, '--no-baseline'], UNPRIVILEGED);
  check('apply without root exits 3 with guidance', user.status === 3 && /root/.test(user.stderr));
  const blind = tcpx(['irq', 'apply', '--plan', PLAN_FILE]);
  check('apply without a baseline exits 3', blind.status === 3 && /BASELINE/.test(blind.stderr));
  check('neither changed an interrupt', isSame(affinities(), original));
}

function checkApply(plan: PlanDocument): void {
  const result = tcpx(['irq', 'apply', '--plan', PLAN_FILE, '--no-baseline']);
  check('apply exits 0', result.status === 0, result.stderr);
  const now = affinities();
  const isWritten = plan.lines.every((line) => now.get(line.irq) === line.value);
  check('the kernel holds every planned affinity', isWritten);
  const queues = sendQueues(plan);
  const isDealt = (plan.xps ?? []).every(({ path, value }) => queues.get(path) === bits(value));
  check('the kernel holds the planned masks of 16 send queues', isDealt && queues.size === 16);
}

/** XPS masks of the plan's send queues, as numbers: kernels pad them differently. */
function sendQueues(plan: PlanDocument): ReadonlyMap<string, bigint> {
  const paths = (plan.xps ?? []).map(({ path }) => path);
  return new Map(paths.map((path) => [path, bits(readFileSync(path, 'utf8'))]));
}

function bits(mask: string): bigint {
  return BigInt(`0x${mask.trim().replaceAll(',', '')}`);
}

/** Two snapshots around traffic: counted per queue and vector, and judged without the host. */
function checkSnapshots(): void {
  const [before, after] = ['/tmp/before.tgz', '/tmp/after.tgz'];
  // Lines move at their first interrupt: the snapshots are to show where they are then.
  spawnSync('ping', ['-q', '-c', '20', '-i', '0.05', '10.77.0.1'], { stdio: 'ignore' });
  tcpx(['nic', '--save', before]);
  spawnSync('ping', ['-q', '-c', '40', '-i', '0.05', '10.77.0.1'], { stdio: 'ignore' });
  tcpx(['nic', '--save', after]);
  const { nics } = json(tcpx(['nic', 'diff', before, after, '--json'])) as DiffDocument;
  const counts = nics.flatMap(({ parts }) =>
    parts.flatMap((p) => Object.values(p.interrupts ?? {})),
  );
  const interrupts = counts.reduce((sum, count) => sum + count, 0);
  const packets = nics.reduce((sum, nic) => sum + (nic.rx.packets ?? 0), 0);
  say(`  between snapshots: ${packets} packets received, ${interrupts} interrupts`);
  check('nic diff counts packets and interrupts', packets >= 40 && interrupts > 0);
  const words = ['irq', 'verify', '--plan', PLAN_FILE, '--before', before, '--after', after];
  const result = tcpx([...words, '--json']);
  const { verdicts } = json(result) as VerifyDocument;
  const isProven = verdicts.some(({ state }) => state === 'proven');
  check('two snapshots prove a vector', isProven && result.status === 0, result.stderr);
}

function checkVerify(): void {
  const pings = startPings();
  const verify = ['irq', 'verify', '--irqs-only', '--seconds', '6', '--json'];
  // Lines move at their first interrupt: the first window may still see one on the old CPU.
  tcpx(verify);
  const result = tcpx(verify);
  for (const ping of pings) ping.kill();
  const { ok, verdicts } = json(result) as VerifyDocument;
  const count = (state: string) => verdicts.filter((verdict) => verdict.state === state).length;
  const states = [...new Set(verdicts.map(({ state }) => state))];
  say(`  states: ${states.map((state) => `${count(state)} ${state}`).join(', ')}`);
  check('verify finds the plan in force', ok && result.status === 0);
  const proven = verdicts.filter(({ state }) => state === 'proven').map(({ nic }) => nic);
  check('counters prove a vector of every NIC under traffic', new Set(proven).size === 4);
  const inherited = tcpx(['irq', 'verify', '--seconds', '0']);
  check('verify without the variables exits 1', inherited.status === 1);
}

function startPings(): ChildProcess[] {
  return [0, 1, 2, 3].map((nic) =>
    spawn('ping', ['-q', '-i', '0.05', `10.77.${nic}.1`], { stdio: 'ignore' }),
  );
}

function checkRollback(original: Affinities): void {
  const result = tcpx(['irq', 'rollback', '--json']);
  check('rollback exits 0', result.status === 0, result.stderr);
  check('every interrupt is as it was before the apply', isSame(affinities(), original));
  check('a second rollback has nothing to do', tcpx(['irq', 'rollback']).status === 1);
}

/**
 * All queue interrupts on one CPU, then a plan by the load of that run: the busiest CPU takes a
 * smaller share of the same traffic.
 */
function checkLoad(plan: PlanDocument): void {
  const start = affinities();
  for (const { irq } of plan.lines) writeFileSync(`/proc/irq/${irq}/smp_affinity_list`, '1');
  const pings = startPings();
  pause(SETTLE_MS);
  const before = measureRun('/tmp/bundle', plan);
  const words = ['irq', 'plan', '--policy', 'numa-local', '--from', '/tmp/bundle', '--json'];
  const planned = json(tcpx([...words, '--output', '/tmp/load.json'])) as PlanDocument;
  const applied = tcpx(['irq', 'apply', '--plan', '/tmp/load.json', '--no-baseline']);
  check('a plan by load applies', applied.status === 0, applied.stderr);
  pause(SETTLE_MS);
  const after = measureRun('/tmp/bundle-after', planned);
  for (const ping of pings) ping.kill();
  say(`  busiest CPU: ${percent(before)} of NIC interrupts before, ${percent(after)} after`);
  check('the plan by load lowers the busiest CPU’s share', after < before && before > 0.9);
  tcpx(['irq', 'rollback']);
  for (const [irq, value] of start) {
    if (plan.lines.some((line) => line.irq === irq)) {
      writeFileSync(`/proc/irq/${irq}/smp_affinity_list`, value);
    }
  }
}

function pause(durationMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, durationMs);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

/** Keeps two snapshots of the interrupt table; returns the busiest CPU's share between them. */
function measureRun(folder: string, { lines }: PlanDocument): number {
  mkdirSync(folder, { recursive: true });
  const irqs = new Set(lines.map(({ irq }) => irq));
  const first = readFileSync('/proc/interrupts', 'utf8');
  pause(RUN_MS);
  const last = readFileSync('/proc/interrupts', 'utf8');
  writeFileSync(`${folder}/irq_before.txt`, first);
  writeFileSync(`${folder}/irq_after.txt`, last);
  const early = countsByCpu(first, irqs);
  const grown = countsByCpu(last, irqs).map((count, cpu) => count - (early[cpu] ?? 0));
  const total = grown.reduce((sum, count) => sum + count, 0);
  return total === 0 ? 0 : Math.max(...grown) / total;
}

/** All CPUs are online here: the columns are their numbers. */
function countsByCpu(table: string, irqs: ReadonlySet<number>): number[] {
  const cpuCount = [...(table.split('\n')[0] ?? '').matchAll(/CPU\d+/g)].length;
  const sums = Array.from({ length: cpuCount }, () => 0);
  for (const line of table.split('\n')) {
    const match = /^\s*(\d+):\s*(.*)$/.exec(line);
    if (match === null || !irqs.has(Number(match[1]))) continue;
    const counts = (match[2] ?? '').split(/\s+/).slice(0, cpuCount).map(Number);
    for (const [cpu, count] of counts.entries()) sums[cpu] = (sums[cpu] ?? 0) + count;
  }
  return sums;
}

/** The timer cannot move: the kernel refuses it, and no other line of that plan may change. */
function checkImmovable(original: Affinities): void {
  const plan = JSON.parse(readFileSync(PLAN_FILE, 'utf8')) as PlanDocument;
  const timer = { ...plan.lines[0], irq: 0, pciAddress: undefined, value: '1', cpus: [1] };
  writeFileSync('/tmp/timer.json', JSON.stringify({ ...plan, lines: [...plan.lines, timer] }));
  const result = tcpx(['irq', 'apply', '--plan', '/tmp/timer.json', '--no-baseline']);
  const isNamed = /IRQ 0 .*(EIO|EPERM)/.test(result.stdout);
  check('an interrupt that refuses is named and stops the plan', result.status === 4 && isNamed);
  check('nothing changed when it refused', isSame(affinities(), original));
  const partly = ['irq', 'apply', '--plan', '/tmp/timer.json', '--no-baseline', '--skip-refused'];
  check('it can be left out on request', tcpx(partly).status === 0);
}

/** virtio_net spreads its interrupts anew whenever a CPU comes or goes. */
function checkHotplug(): void {
  const online = '/sys/devices/system/cpu/cpu7/online';
  writeFileSync(online, '0');
  writeFileSync(online, '1');
  const result = tcpx(['irq', 'verify', '--irqs-only', '--seconds', '0', '--json']);
  const { verdicts } = json(result) as VerifyDocument;
  const lost = verdicts.filter(({ state }) => state === 'lost').length;
  check(
    'bindings lost to CPU hotplug are noticed',
    result.status === 1 && lost > 0,
    `${lost} lost`,
  );
  const watch = ['irq', 'verify', '--watch', '--seconds', '1', '--interval', '1', '--json'];
  const events = tcpx(watch);
  check('watch names lost bindings', events.status === 1 && /"event":"lost"/.test(events.stdout));
}
