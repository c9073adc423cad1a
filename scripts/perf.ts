// `npm run perf`: the performance bars as ratios in interleaved runs; exit 1 when one is missed.
// Arguments: --rounds N (default 5), and names of groups to run only those.

import { cpus, release } from 'node:os';
import { ucxVersion } from '../src/bench/peers/ucx.js';
import { formatTable } from '../src/cli/print.js';
import { choosePerf } from './perf/perf-choice.js';
import { PERF_GROUPS, SETS_PER_ROUND } from './perf/rows.js';
import type { PerfRow } from './perf/verdict.js';

process.exitCode = await main();

async function main(): Promise<number> {
  const choice = choosePerf(
    process.argv.slice(2),
    PERF_GROUPS.map(({ name }) => name),
  );
  if (typeof choice !== 'string') return runPerf(choice.rounds, choice.groups);
  process.stderr.write(`perf: ${choice}\n`);
  return 2;
}

async function runPerf(rounds: number, groups: readonly string[]): Promise<number> {
  const rows: PerfRow[] = [];
  for (const group of PERF_GROUPS.filter(({ name }) => groups.includes(name))) {
    process.stderr.write(`${group.name}: ${rounds} rounds\n`);
    rows.push(...(await group.run(rounds)));
  }
  const table = rows.map((row) => [
    row.what,
    row.bar,
    row.measured,
    row.isMet ? 'met' : 'MISSED',
    row.detail,
  ]);
  const cores = cpus();
  process.stdout.write(
    `measured on ${cores[0]?.model ?? '?'}, ${cores.length} cores, Linux ${release()}, ` +
      `Node ${process.version}, ` +
      `UCX ${await ucxVersion()}; ${rounds} interleaved rounds ` +
      `(channels, latency, blocks: ${SETS_PER_ROUND} sets each), medians (min … max)\n\n`,
  );
  process.stdout.write(formatTable([['what', 'bar', 'measured', 'verdict', 'detail'], ...table]));
  return rows.every((row) => row.isMet) ? 0 : 1;
}
