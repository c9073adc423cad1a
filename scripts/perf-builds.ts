// `npm run perf:builds -- --old DIR`: this build against another checkout of the project that is
// built already, row by row in alternation; exit 1 where a median is worse than noise explains.
//
// A sample is a fresh pair of processes. The order turns round every round: a machine that gets
// slower with time would favour whoever is always first.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BenchResult } from '../src/bench/bench-result.js';
import { formatTable } from '../src/cli/print.js';
import { type BuildRow, compareBuilds, describeBuilds } from './perf/build-row.js';
import { readCount, readWords, refuse } from './words.js';

const USAGE =
  'npm run perf:builds -- --old DIR [--rounds N] [--node PATH] [PART OF A ROW’S NAME]\n' +
  'DIR: another checkout of this project, built; tcpx rows also want its native parts built.\n' +
  '--node PATH runs the new side under another Node (with --old . : one build, two Nodes).';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SAMPLE_LIMIT_MS = 120_000;

const { values, positionals } = readWords(USAGE, {
  options: {
    old: { type: 'string' },
    rounds: { type: 'string', default: '7' },
    node: { type: 'string', default: process.execPath },
  },
  allowPositionals: true,
});
const rounds = readCount('--rounds', values.rounds, 3);
const oldRoot = resolve(values.old ?? refuse(`--old is missing\n${USAGE}`));
if (!existsSync(join(oldRoot, 'dist/src/index.js'))) refuse(`${oldRoot}: no build there`);

const timed = ['--seconds', '2', '--warmup-seconds', '2', '--verify', 'none'];
const cubic = ['--congestion', 'cubic'];
const pings = ['--op', 'pingpong', '--size', '4096', '--warmup', '20000', '--iters', '20000'];
const counted = ['--warmup-seconds', '0', '--verify', 'none'];
const emulated = ['--provider', 'tcpx', '--size', '64MiB', '--iters', '30', '--warmup', '30'];

const ROWS: readonly BuildRow[] = [
  bulk('WRITE 64 MiB', '--size', '64MiB'),
  bulk('READ 64 MiB', '--size', '64MiB', '--op', 'read'),
  bulk('WRITE 64 MiB, 4 channels, 2 lanes', '--size', '64MiB', '--channels', '4', '--lanes', '2'),
  bulk('WRITE 1 MiB, caller', '--size', '1MiB', '--progress', 'caller'),
  bulk('READ 1 MiB, caller', '--size', '1MiB', '--progress', 'caller', '--op', 'read'),
  bulk('WRITE 64 KiB, caller', '--size', '64KiB', '--progress', 'caller'),
  bulk('WRITE 10,000 × 16 KiB', '--size', '163840000', '--block', '16384'),
  bulk('WRITE 64 MiB, shared memory', '--size', '64MiB', '--local', 'shm'),
  latency('ping-pong 4 KiB, caller', '--progress', 'caller'),
  latency('ping-pong 4 KiB, lanes'),
  tcpx('tcpx WRITE 64 MiB, 1 NIC (emulated)', 'eth1'),
  tcpx('tcpx WRITE 64 MiB, 2 NICs (emulated)', 'eth1,eth2'),
];

function bulk(name: string, ...flags: readonly string[]): BuildRow {
  return { name, flags: [...flags, ...cubic, ...timed], unit: 'GB/s', isMoreBetter: true };
}

function latency(name: string, ...flags: readonly string[]): BuildRow {
  const words = [...pings, ...counted, ...cubic, ...flags];
  return { name, flags: words, unit: 'µs', isMoreBetter: false };
}

function tcpx(name: string, nics: string): BuildRow {
  const words = [...emulated, ...counted, '--nics', nics];
  return { name, flags: words, unit: 'GB/s', isMoreBetter: true };
}

const stateDir = mkdtempSync(join(tmpdir(), 'tcpx-builds-'));
process.on('exit', () => rmSync(stateDir, { recursive: true, force: true }));
const environment: Readonly<Record<string, string | undefined>> = {
  ...process.env,
  TCPX_EMU_NICS: 'eth1,addr=127.0.0.11;eth2,addr=127.0.0.12',
  TCPX_EMU_SAME_HOST: '1',
  TCPX_EMU_MEMORY: 'host',
  TCPX_EMU_SETUP_STEP_MICROS: '1000',
  NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS: '1000',
  NIXL_TCPX_TCPX_STATE_DIR: stateDir,
  TCPX_EMU_STATE_DIR: stateDir,
};

function sample(root: string, node: string, row: BuildRow): number {
  const words = [join(root, 'bin/tcpx.js'), 'bench', 'loopback', '--json', ...row.flags];
  if (row.flags.includes('tcpx')) {
    words.push('--plugin', join(root, 'build/native/libnccl-net-tcpx-emulator.so'));
  }
  const text = execFileSync(node, words, {
    env: environment,
    encoding: 'utf8',
    timeout: SAMPLE_LIMIT_MS,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const result = JSON.parse(text) as BenchResult;
  return row.isMoreBetter ? result.bandwidthGBps.mean : result.latencyUs.p50;
}

const wanted = ROWS.filter(({ name }) => name.includes(positionals[0] ?? ''));
if (wanted.length === 0) refuse(`no row’s name contains ${positionals[0] ?? ''}`);
const table: string[][] = [];
let isWorse = false;
for (const row of wanted) {
  const older: number[] = [];
  const newer: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const isOldFirst = round % 2 === 0;
    if (isOldFirst) older.push(sample(oldRoot, process.execPath, row));
    newer.push(sample(ROOT, values.node, row));
    if (!isOldFirst) older.push(sample(oldRoot, process.execPath, row));
  }
  const verdict = compareBuilds(row, older, newer);
  isWorse ||= verdict.isWorse;
  table.push(describeBuilds(row, verdict));
  process.stderr.write(`${(table.at(-1) ?? []).join('  ')}\n`);
}
const heading = ['row', 'old', 'new', 'new ÷ old', 'spread', 'verdict'];
process.stdout.write(formatTable([heading, ...table]));
process.exitCode = isWorse ? 1 : 0;
