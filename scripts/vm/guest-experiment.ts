// An experiment with real interrupts: two arms around a small benchmark over a virtio NIC. What an
// arm did is read by its command from the kernel's own files while it runs.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Affinities,
  affinities,
  check,
  isSame,
  json,
  type PlanDocument,
  say,
  TCPX,
  tcpx,
} from './guest-host.js';

interface RunDocument {
  readonly arm: string;
  readonly isCounted: boolean;
  readonly checks: readonly { readonly name: string; readonly verdict: string }[];
  readonly figures: {
    readonly bandwidthGBps: number | null;
    readonly interruptsByNic: Readonly<Record<string, number>>;
  };
}

interface RecordDocument {
  readonly placement: { readonly kind: string };
  readonly isEmulated: boolean;
  readonly runs: readonly RunDocument[];
}

const NIC = 'eth0';
const ARMS = ['default', 'matched'] as const;
const OUT = '/tmp/experiment';
const SEEN = '/tmp/seen';
/** Written by a command that then waits to be interrupted. */
const WAITING = '/tmp/waiting';
const FLAGS = ['--nics', NIC, '--policy', 'physical'];
/** The machine that runs the guest has the other end (scripts/test-vm.ts). */
const BENCH =
  'NIXL_TCPX_SESSION_HANDSHAKE_TIMEOUT_MS=60000 NIXL_TCPX_SESSION_CONNECT_TIMEOUT_MS=60000 ' +
  `exec node ${TCPX} bench client 10.77.0.1 --port 20130 --nics ${NIC} --trust network ` +
  '--size 256K --iters 20 --verify all --progress caller --json';
const WAIT_MS_MAX = 120_000;

export async function checkExperiment(original: Affinities): Promise<void> {
  const words = ['irq', 'plan', ...FLAGS, '--output', '/tmp/experiment-plan.json', '--json'];
  const plan = json(tcpx(words)) as PlanDocument;
  checkArms(plan, original);
  checkBaseline(original);
  await checkInterrupt(plan, original);
}

/** Both arms in three rounds, after a warm-up of the first. */
function checkArms(plan: PlanDocument, original: Affinities): void {
  writePlan('/tmp/arms.toml', `${noteAffinity(plan, SEEN)}; ${BENCH}`);
  const run = ['experiment', 'run', '/tmp/arms.toml', ...FLAGS, '--runs-max', '3', '--out', OUT];
  const result = tcpx([...run, '--deadline', '120']);
  say(result.stdout.replace(/^/gm, '  '));
  const { runs, placement, isEmulated } = recordOf();
  check('an experiment ends in a verdict', result.status === 0 || result.status === 1);
  check('its arm is interrupts, measured', placement.kind === 'irq' && !isEmulated);
  const counted = runs.filter(({ isCounted }) => isCounted).map(({ arm }) => arm);
  const isWhole = ARMS.every((arm) => counted.filter((one) => one === arm).length >= 3);
  check('three runs of each arm count', isWhole, result.stderr);
  const isBusy = runs.every(({ figures }) => (figures.interruptsByNic[NIC] ?? 0) > 0);
  check('interrupts of the NIC were counted in every run', isBusy);
  const planned = plan.lines.map(({ value }) => value).join(' ');
  const before = plan.lines.map(({ irq }) => original.get(irq) ?? '').join(' ');
  check('the plan differs from what was there', planned !== before);
  const lines = readFileSync(SEEN, 'utf8').trimEnd().split('\n');
  const seen = (arm: string) => lines.filter((line) => line.startsWith(`${arm} `));
  const isAll = (arm: string, values: string) =>
    seen(arm).length >= 3 && seen(arm).every((line) => line === `${arm} ${values}`);
  check('the first arm ran with interrupts as they were', isAll('default', before));
  check('the other ran with every planned affinity', isAll('matched', planned));
  check('every interrupt is as it was before the experiment', isSame(affinities(), original));
}

/** Runs of the first arm are what an apply asks for. */
function checkBaseline(original: Affinities): void {
  const applied = tcpx(['irq', 'apply', '--plan', '/tmp/experiment-plan.json']);
  check('its first arm is the baseline of an apply', applied.status === 0, applied.stderr);
  check('a rollback undoes that apply', tcpx(['irq', 'rollback']).status === 0);
  check('every interrupt is as before', isSame(affinities(), original));
}

async function checkInterrupt(plan: PlanDocument, original: Affinities): Promise<void> {
  const figure = 'echo "67108864 16777216 float sum -1 6710 10.0 10.0 0 6400 10.0 10.0 0"';
  const wait = `if [ "$ARM" = matched ]; then ${noteAffinity(plan, WAITING)}; exec sleep 600; fi`;
  writePlan('/tmp/wait.toml', `${wait}; ${figure}`);
  const words = [TCPX, 'experiment', 'run', '/tmp/wait.toml', ...FLAGS, '--out', '/tmp/stopped'];
  const child = spawn(process.execPath, words, { stdio: 'ignore' });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const endMs = performance.now() + WAIT_MS_MAX;
  while (!existsSync(WAITING) && performance.now() < endMs) await sleep(100);
  const isBound = plan.lines.every(({ irq, value }) => affinities().get(irq) === value);
  check('a bound arm is under way', isBound);
  child.kill('SIGINT');
  check('Ctrl-C ends the experiment with 130', (await ended) === 130);
  check('every interrupt is as it was before Ctrl-C', isSame(affinities(), original));
}

/** Shell words that append the arm and the affinity of each planned interrupt to a file. */
function noteAffinity({ lines }: PlanDocument, file: string): string {
  const files = lines.map(({ irq }) => `/proc/irq/${irq}/smp_affinity_list`).join(' ');
  return `echo $ARM $(cat ${files}) >>${file}`;
}

function writePlan(path: string, command: string): void {
  const arms = ARMS.map(
    (arm) => `[[arm]]\nname = "${arm}"\ninterrupts = "${arm}"\n[arm.environment]\nARM = "${arm}"\n`,
  );
  const words = JSON.stringify(['sh', '-c', command]);
  writeFileSync(
    path,
    `name = "vm"\ntitle = "Real interrupts"\ncommand = ${words}\n${arms.join('')}`,
  );
}

function recordOf(): RecordDocument {
  return JSON.parse(readFileSync(`${OUT}/experiment.json`, 'utf8')) as RecordDocument;
}
