// `npm run faults -- [--rounds N] [NAME…]`: every real fault N times between network namespaces, as
// the table of docs/reliability.md. Exits 1 when a promise was broken once. Needs root.

import { type Outcome, openFaultLab, runScenario, type Scenario } from '../test/faults/scenario.js';
import { SCENARIOS } from '../test/faults/scenarios.js';
import { netLabObstacle } from '../test/support/net-lab.js';
import { readCount, readWords, refuse } from './words.js';

const { values, positionals } = readWords('npm run faults [-- --rounds N] [PART OF A NAME…]', {
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '5' } },
});

const GIB = 1024 ** 3;
const LINK_MBIT = 1000;

function spread(samples: readonly number[]): string {
  if (samples.length === 0) return '–';
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
  return `${middle} / ${sorted.at(-1) ?? 0}`;
}

function isNumber(value: number | undefined): value is number {
  return value !== undefined;
}

async function repeat(scenario: Scenario, rounds: number): Promise<number> {
  const outcomes: Outcome[] = [];
  const broken: string[] = [];
  for (let round = 0; round < rounds; round++) {
    try {
      outcomes.push(await runScenario(lab, scenario, GIB));
    } catch (error) {
      broken.push(error instanceof Error ? error.message : String(error));
    }
  }
  const noticed = spread(outcomes.map((one) => one.noticedMs).filter(isNumber));
  const recovered = spread(outcomes.map((one) => one.recoveredMs).filter(isNumber));
  const cells = [scenario.name, scenario.promise, rounds, broken.length, noticed, recovered];
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
  for (const reason of broken) process.stderr.write(`${scenario.name}: ${reason}\n`);
  return broken.length;
}

const rounds = readCount('--rounds', values.rounds);
const unknown = positionals.find((part) => !SCENARIOS.some(({ name }) => name.includes(part)));
if (unknown !== undefined) {
  const names = SCENARIOS.map(({ name }) => `\n  ${name}`).join('');
  refuse(`no fault has ${unknown} in its name; there are:${names}`);
}
const chosen = SCENARIOS.filter(
  ({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)),
);
const obstacle = netLabObstacle();
if (obstacle !== undefined) {
  process.stderr.write(`${obstacle}\n`);
  process.exit(3);
}
const lab = openFaultLab(LINK_MBIT);
process.on('exit', () => lab.close());
const head = ['fault', 'promised', 'runs', 'broken', 'noticed ms, p50 / max', 'recovered ms'];
process.stdout.write(`| ${head.join(' | ')} |\n|${' --- |'.repeat(head.length)}\n`);
let broken = 0;
for (const scenario of chosen) broken += await repeat(scenario, rounds);
process.exitCode = broken > 0 ? 1 : 0;
