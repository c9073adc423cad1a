// `npm run perf`: the performance bars as ratios in interleaved runs; exit 1 when one is missed.

import { cpus, release } from 'node:os';
import { ucxVersion } from '../src/bench/peers/ucx.js';
import { formatTable } from '../src/cli/print.js';
import { formatMachine, type MachineState, measureMachine } from '../src/measure/machine-state.js';
import { PERF_GROUPS } from './perf/rows.js';
import { NO_BAR, type PerfRow } from './perf/verdict.js';
import { readCount, readWords, refuse } from './words.js';

const NAMES = PERF_GROUPS.map(({ name }) => name);
const USAGE = `npm run perf [-- --rounds N] [GROUP…]; groups: ${NAMES.join(', ')}`;
const HEADING = ['what', 'bar', 'measured', 'verdict', 'detail'];

process.exitCode = await main();

async function main(): Promise<number> {
  const { values, positionals } = readWords(USAGE, {
    options: { rounds: { type: 'string', default: '5' } },
    allowPositionals: true,
  });
  const rounds = readCount('--rounds', values.rounds);
  const unknown = positionals.find((name) => !NAMES.includes(name));
  if (unknown !== undefined) refuse(`no group ${unknown}; there are: ${NAMES.join(', ')}`);
  return runPerf(rounds, positionals.length > 0 ? positionals : NAMES);
}

async function runPerf(rounds: number, groups: readonly string[]): Promise<number> {
  const rows: PerfRow[] = [];
  const states: MachineState[] = [];
  for (const group of PERF_GROUPS.filter(({ name }) => groups.includes(name))) {
    process.stderr.write(`${group.name}: ${rounds} rounds\n`);
    states.push(await measureMachine());
    const fresh = await group.run(rounds);
    // At once: a run that is cut short has shown what it had.
    process.stderr.write(formatTable(fresh.map(wordsOf)));
    rows.push(...fresh);
  }
  states.push(await measureMachine());
  const cores = cpus();
  process.stdout.write(
    `measured on ${cores[0]?.model ?? '?'}, ${cores.length} cores, Linux ${release()}, ` +
      `Node ${process.version}, ` +
      `UCX ${await ucxVersion().catch(() => 'not installed')}; ${rounds} interleaved rounds, ` +
      `medians (min … max); default settings but for what a row names\n` +
      `around each group: ${formatMachine(states)}\n\n`,
  );
  process.stdout.write(formatTable([HEADING, ...rows.map(wordsOf)]));
  return rows.some((row) => row.isMet === false) ? 1 : 0;
}

function wordsOf(row: PerfRow): string[] {
  return [row.what, row.bar, row.measured, verdictOf(row), row.detail];
}

function verdictOf({ bar, isMet }: PerfRow): string {
  if (bar === NO_BAR) return '';
  return isMet === undefined ? 'not measured' : isMet ? 'met' : 'MISSED';
}
