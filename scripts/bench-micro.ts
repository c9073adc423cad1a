// `npm run bench:micro`: what the smallest steps cost, from every *.bench.ts beside its source.
// Arguments: --rounds N (default 9), --scale F (operations per round, default 1), --json, and
// parts of names to run only those.

import { cpus, release } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { formatTable } from '../src/cli/print.js';
import { type MicroCase, type MicroFigure, measureCase } from '../test/support/micro-bench.js';
import { repositoryRoot } from './repository.js';
import { sourcePaths } from './suite/source-paths.js';
import { readCount, readWords, refuse } from './words.js';

const USAGE = 'npm run bench:micro [-- --rounds N] [--scale F] [--json] [PART OF A NAME…]';
const { values, positionals } = readWords(USAGE, {
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '9' },
    scale: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const options = { rounds: readCount('--rounds', values.rounds), scale: Number(values.scale) };
if (!(options.scale > 0)) refuse(`--scale ${values.scale}: a factor above 0 is wanted`);

const figures: MicroFigure[] = [];
for (const one of await findCases()) {
  const isWanted = positionals.length === 0 || positionals.some((part) => one.name.includes(part));
  if (isWanted) figures.push(await measureCase(one, options));
}
if (figures.length === 0) refuse(`no case has ${positionals.join(' or ')} in its name`);
const host = { cpu: cpus()[0]?.model ?? '?', cores: cpus().length, kernel: release() };
if (values.json) {
  const document = { schema: 'tcpx.bench-micro/1', evidence: 'measured', figures };
  const facts = { ...host, node: process.version };
  process.stdout.write(`${JSON.stringify({ ...document, host: facts }, null, 2)}\n`);
} else {
  process.stdout.write(
    `measured on ${host.cpu}, ${host.cores} cores, Linux ${host.kernel}, ` +
      `Node ${process.version}; medians of ${options.rounds} rounds\n\n${format(figures)}`,
  );
}

async function findCases(): Promise<MicroCase[]> {
  const cases: MicroCase[] = [];
  for (const path of sourcePaths(repositoryRoot).filter((path) => path.endsWith('.bench.ts'))) {
    const compiled = join(repositoryRoot, 'dist', path.replace(/\.ts$/, '.js'));
    const module = (await import(pathToFileURL(compiled).href)) as { MICRO_CASES?: unknown };
    if (!Array.isArray(module.MICRO_CASES)) throw new Error(`${path} exports no MICRO_CASES`);
    cases.push(...(module.MICRO_CASES as MicroCase[]));
  }
  return cases.sort((a, b) => a.name.localeCompare(b.name));
}

function format(rows: readonly MicroFigure[]): string {
  const heading = ['operation', 'ns', 'min', 'max', 'operations', 'collector runs', 'per million'];
  return formatTable([
    heading,
    ...rows.map(({ name, nsPerOperation, operations, rounds, ...counts }) => [
      name,
      nsPerOperation.p50.toFixed(1),
      nsPerOperation.min.toFixed(1),
      nsPerOperation.max.toFixed(1),
      (operations * rounds).toLocaleString('en-US'),
      String(counts.collections),
      counts.collectionsPerMillion.toFixed(2),
    ]),
  ]);
}
