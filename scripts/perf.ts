// `npm run perf`: the performance bars as ratios in interleaved runs; exit 1 when one is missed.
// Arguments: --rounds N (default 5), and names of groups to run only those.

import { cpus, release } from 'node:os';
import { ucxVersion } from '../src/bench/peers/ucx.js';
import { formatTable } from '../src/cli/print.js';
import { PERF_GROUPS } from './perf/rows.js';
import type { PerfRow } from './perf/verdict.js';

const words = process.argv.slice(2);
const roundsAt = words.indexOf('--rounds');
const rounds = roundsAt < 0 ? 5 : Number(words[roundsAt + 1]);
const wanted = words.filter((word, index) => !word.startsWith('--') && index !== roundsAt + 1);
const groups = PERF_GROUPS.filter((group) => wanted.length === 0 || wanted.includes(group.name));

const rows: PerfRow[] = [];
for (const group of groups) {
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
    `UCX ${await ucxVersion()}; ${rounds} interleaved rounds, medians (min … max)\n\n`,
);
process.stdout.write(formatTable([['what', 'bar', 'measured', 'verdict', 'detail'], ...table]));
process.exitCode = rows.every((row) => row.isMet) ? 0 : 1;
