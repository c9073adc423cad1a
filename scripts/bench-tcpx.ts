// What the tcpx provider costs over the plugin itself: bandwidth through the emulator against the C
// driver with the same windows, in interleaved rounds, and the choices of decisions 0302 and 0303.
//
//   npm run build:native
//   node dist/scripts/bench-tcpx.js [--wait SECONDS] [ROUNDS [PART OF A NAME]]
//
// The C driver always takes part. A sample takes two or three seconds. One is taken again when
// other work ran right before or after it, C driver and provider alike: on 2 cores one busy process
// more changes who wins. All waiting for a quiet moment together ends after --wait; from then on
// every sample counts, and the ratios are those of a busy machine, round by round.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BenchResult } from '../src/bench/bench-result.js';
import { medianOf } from '../src/bench/statistics.js';
import { readCount, readWords, refuse } from './words.js';

const { values: options, positionals } = readWords(
  'node dist/scripts/bench-tcpx.js [--wait SECONDS] [ROUNDS [PART OF A NAME]]',
  { allowPositionals: true, options: { wait: { type: 'string', default: '20' } } },
);
const rounds = readCount('rounds', positionals[0] ?? '5');
const wanted = positionals[1] ?? '';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NATIVE = join(ROOT, 'build/native');
const EMULATOR = join(NATIVE, 'libnccl-net-tcpx-emulator.so');
const BYTES = 64 * 1024 * 1024;
const ITERATIONS = 24;
/** Long enough that the plugin hosts run compiled code. */
const WARMUP = 24;
/** Filling and checking leave 128 MiB of other data in the caches, at both ends alike. */
const VERIFY_EVERY = 8;
const RATIO_MIN = 0.85;

const AMOUNT = ['--iters', String(ITERATIONS), '--warmup', String(WARMUP)];
const stateDir = mkdtempSync(join(tmpdir(), 'tcpx-bench-'));
process.on('exit', () => rmSync(stateDir, { recursive: true, force: true }));
const environment: Record<string, string | undefined> = {
  ...process.env,
  TCPX_EMU_NICS: 'eth1,addr=127.0.0.11;eth2,addr=127.0.0.12',
  TCPX_EMU_SAME_HOST: '1',
  TCPX_EMU_MEMORY: 'host',
  TCPX_EMU_SETUP_STEP_MICROS: '1000',
  NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS: '1000',
  NCCL_DYNAMIC_CHUNK_SIZE: '524288',
  NCCL_NSOCKS_PERTHREAD: '1',
  NIXL_TCPX_TCPX_STATE_DIR: stateDir,
  TCPX_EMU_STATE_DIR: stateDir,
};

/** Cores that are busy without us, over QUIET_MS, below which the machine counts as quiet. */
const QUIET_CORES = 0.2;
const QUIET_MS = 200;
const RETRY_MS = 500;
/** Of /proc/stat, on every architecture. */
const TICKS_PER_SECOND = 100;

interface Sample {
  readonly gbps: number;
  /** Both ends, where it is known. */
  readonly cpuPerGB: number;
}

interface Case {
  readonly name: string;
  readonly nics: number;
  readonly isYardstick: boolean;
  run(): Sample;
}

function driver(nics: number): Case {
  const words = ['--plugin', EMULATOR, '--quiet', '--bytes', String(BYTES)];
  return {
    name: `C driver, ${nics} NIC`,
    nics,
    isYardstick: true,
    run: () => {
      const more = ['--nics', String(nics), '--verify-every', String(VERIFY_EVERY)];
      const text = run(join(NATIVE, 'nccl-net-driver'), [...words, ...AMOUNT, ...more]);
      return { gbps: (JSON.parse(text) as { bandwidthGBps: number }).bandwidthGBps, cpuPerGB: NaN };
    },
  };
}

function provider(name: string, nics: number, ...words: readonly string[]): Case {
  const common = ['bench', 'loopback', '--provider', 'tcpx', '--plugin', EMULATOR, '--json'];
  const names = Array.from({ length: nics }, (_, index) => `eth${index + 1}`).join(',');
  const amount = [...AMOUNT, '--warmup-seconds', '0', '--size', String(BYTES)];
  amount.push('--verify', 'sample', '--nics', names);
  return {
    name,
    nics,
    isYardstick: false,
    run: () => {
      const args = [join(ROOT, 'bin/tcpx.js'), ...common, ...amount, ...words];
      const result = JSON.parse(run(process.execPath, args)) as BenchResult;
      if (!result.ok || result.evidence !== 'emulated') throw new Error(`${name}: not good`);
      const { initiator, target } = result.cpuSecondsPerGB;
      return { gbps: result.bandwidthGBps.mean, cpuPerGB: initiator + target };
    },
  };
}

function run(program: string, words: readonly string[]): string {
  return execFileSync(program, words, { env: environment, encoding: 'utf8', timeout: 120_000 });
}

/** Cores in use over the last moment, ours not among them: nothing of ours runs then. */
function busyCores(): number {
  const before = busyTicks();
  sleep(QUIET_MS);
  return ((busyTicks() - before) * 1000) / TICKS_PER_SECOND / QUIET_MS;
}

function busyTicks(): number {
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = readFileSync(
    '/proc/stat',
    'utf8',
  )
    .split('\n', 1)
    .join()
    .split(/\s+/)
    .map(Number);
  return user + nice + system + irq + softirq;
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

let disturbed = 0;
let waitLeftMs = readCount('--wait', options.wait, 0) * 1000;

/** What a try costs that does not count comes out of the time for waiting. */
function runQuiet(one: Case): Sample {
  for (;;) {
    const beginMs = performance.now();
    const isQuietBefore = busyCores() < QUIET_CORES;
    const sample = isQuietBefore || waitLeftMs <= 0 ? one.run() : undefined;
    const isQuiet = isQuietBefore && busyCores() < QUIET_CORES;
    if (sample !== undefined && (isQuiet || waitLeftMs <= 0)) {
      if (!isQuiet) disturbed++;
      return sample;
    }
    sleep(RETRY_MS);
    waitLeftMs -= performance.now() - beginMs;
  }
}

const ALL_CASES: readonly Case[] = [
  driver(1),
  provider('default, 1 NIC', 1),
  provider('send ring, 1 NIC', 1, '--send-from', 'ring'),
  driver(2),
  provider('process per rail, 2 NICs', 2),
  provider('one process, 2 NICs', 2, '--processes', 'one'),
];

const chosen = ALL_CASES.filter(({ name, isYardstick }) => !isYardstick && name.includes(wanted));
if (chosen.length === 0) refuse(`no case has ${wanted} in its name`);
const CASES = ALL_CASES.filter(
  (one) =>
    chosen.includes(one) || (one.isYardstick && chosen.some(({ nics }) => nics === one.nics)),
);
const samples = new Map(CASES.map(({ name }) => [name, [] as Sample[]]));
for (let round = 0; round < rounds; round++) {
  for (const one of CASES) samples.get(one.name)?.push(runQuiet(one));
}

const values = (name: string, field: keyof Sample): number[] =>
  (samples.get(name) ?? []).map((sample) => sample[field]);
// Round by round, because other work on the machine comes and goes.
const ratiosOf = ({ name, nics }: Case): number[] => {
  const yardstick = values(`C driver, ${nics} NIC`, 'gbps');
  return values(name, 'gbps').map((gbps, round) => gbps / (yardstick[round] ?? NaN));
};
const spreadText = (figures: readonly number[]): string => {
  const [middle = '', least = '', most = ''] = [
    medianOf(figures),
    Math.min(...figures),
    Math.max(...figures),
  ].map((figure) => figure.toFixed(2));
  return `${middle} (${least}–${most})`;
};

console.log(`emulated, ${rounds} interleaved rounds of ${ITERATIONS} × 64 MiB`);
console.log(`load average ${loadavg()[0]?.toFixed(1) ?? '?'} at the end`);
console.log(`${disturbed} of ${rounds * CASES.length} samples beside other work\n`);
console.log(
  'median (least–most): GB/s, ratio to the C driver by rounds; ratio of medians; CPU s/GB',
);
let isGood = true;
for (const one of CASES) {
  const gbps = values(one.name, 'gbps');
  const ratios = ratiosOf(one);
  const cpu = medianOf(values(one.name, 'cpuPerGB'));
  const ofMedians = medianOf(gbps) / medianOf(values(`C driver, ${one.nics} NIC`, 'gbps'));
  const figures = [spreadText(gbps), `× ${spreadText(ratios)}`, `× ${ofMedians.toFixed(2)}`];
  const cpuText = Number.isNaN(cpu) ? '' : cpu.toFixed(2);
  console.log([one.name.padEnd(26), ...figures, cpuText].join('  '));
  console.log(`  by rounds: ${gbps.map((figure) => figure.toFixed(2)).join(' ')}`);
  if (one.name.startsWith('default') && medianOf(ratios) < RATIO_MIN) isGood = false;
}
if (!isGood) {
  console.log(`\nthe provider is below ${RATIO_MIN} of the C driver`);
  process.exitCode = 1;
}
