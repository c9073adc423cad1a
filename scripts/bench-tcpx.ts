// What the tcpx provider costs over the plugin itself: bandwidth through the emulator against the C
// driver with the same windows, in interleaved rounds, and the choices of decisions 0302 and 0303.
//
//   npm run build:native && node dist/scripts/bench-tcpx.js [ROUNDS]

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { medianOf } from '../src/results/statistics.js';
import type { BenchResult } from '../src/results/bench-result.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NATIVE = join(ROOT, 'build/native');
const EMULATOR = join(NATIVE, 'libnccl-net-tcpx-emulator.so');
const BYTES = 64 * 1024 * 1024;
const ITERATIONS = 40;
/** Long enough that the plugin hosts run compiled code. */
const WARMUP = 40;
/** Filling and checking leave 128 MiB of other data in the caches, at both ends alike. */
const VERIFY_EVERY = 10;
const RATIO_MIN = 0.85;

const AMOUNT = ['--iters', String(ITERATIONS), '--warmup', String(WARMUP)];
const stateDir = mkdtempSync(join(tmpdir(), 'tcpx-bench-'));
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

interface Sample {
  readonly gbps: number;
  /** Both ends, where it is known. */
  readonly cpuPerGB: number;
}

interface Case {
  readonly name: string;
  run(): Sample;
}

function driver(nics: number): Case {
  const words = ['--plugin', EMULATOR, '--quiet', '--bytes', String(BYTES)];
  return {
    name: `C driver, ${nics} NIC`,
    run: () => {
      const more = ['--nics', String(nics), '--verify-every', String(VERIFY_EVERY)];
      const text = run(join(NATIVE, 'nccl-net-driver'), [...words, ...AMOUNT, ...more]);
      return { gbps: (JSON.parse(text) as { bandwidthGBps: number }).bandwidthGBps, cpuPerGB: NaN };
    },
  };
}

function provider(name: string, ...words: readonly string[]): Case {
  const common = ['bench', 'loopback', '--provider', 'tcpx', '--plugin', EMULATOR, '--json'];
  const amount = [...AMOUNT, '--size', String(BYTES), '--verify', 'sample'];
  return {
    name,
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

const CASES: readonly Case[] = [
  driver(1),
  provider('default, 1 NIC', '--nics', 'eth1'),
  provider('send ring, 1 NIC', '--nics', 'eth1', '--send-from', 'ring'),
  driver(2),
  provider('process per rail, 2 NICs', '--nics', 'eth1,eth2'),
  provider('one process, 2 NICs', '--nics', 'eth1,eth2', '--processes', 'one'),
];

const rounds = Number(process.argv[2] ?? 7);
const samples = new Map(CASES.map(({ name }) => [name, [] as Sample[]]));
try {
  for (let round = 0; round < rounds; round++) {
    for (const one of CASES) samples.get(one.name)?.push(one.run());
  }
} finally {
  rmSync(stateDir, { recursive: true, force: true });
}

const values = (name: string, field: keyof Sample): number[] =>
  (samples.get(name) ?? []).map((sample) => sample[field]);
// Round by round, because other work on the machine comes and goes.
const ratioOf = (name: string): number => {
  const yardstick = values(`C driver, ${/2 NIC/.test(name) ? 2 : 1} NIC`, 'gbps');
  return medianOf(values(name, 'gbps').map((gbps, round) => gbps / (yardstick[round] ?? NaN)));
};
console.log(`emulated, ${rounds} interleaved rounds of ${ITERATIONS} × 64 MiB`);
console.log(`load average ${loadavg()[0]?.toFixed(1) ?? '?'} at the end\n`);
console.log('GB/s: median, best; ratio to the C driver: median of rounds; CPU s/GB, both ends');
let isGood = true;
for (const { name } of CASES) {
  const gbps = values(name, 'gbps');
  const cpu = medianOf(values(name, 'cpuPerGB'));
  const figures = [medianOf(gbps).toFixed(2), Math.max(...gbps).toFixed(2)].join('  ');
  const cpuText = Number.isNaN(cpu) ? '' : `  ${cpu.toFixed(2)}`;
  console.log(`${name.padEnd(26)} ${figures}  × ${ratioOf(name).toFixed(2)}${cpuText}`);
  if (name.startsWith('default') && ratioOf(name) < RATIO_MIN) isGood = false;
}
if (!isGood) {
  console.log(`\nthe provider is below ${RATIO_MIN} of the C driver`);
  process.exitCode = 1;
}
