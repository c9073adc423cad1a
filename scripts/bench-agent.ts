// `npm run bench:agent [-- --rounds N]`: what the agent costs over the engine, as ratios from
// interleaved rounds. One target serves both, in a process of its own; exit 1 when a bar is missed.
//   post → DONE of 4 KiB, callers driving        agent ≤ 1.3 × engine
//   post → DONE of 4 KiB by the agent, lanes     ≤ 1.5 × callers driving, in runs after each other
//   64 KiB, 1 MiB, 64 MiB, 10,000 × 16 KiB, lanes  agent ≥ 0.95 × engine's bandwidth
// Both hold a session of their own to the same target and use the same memory.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { medianOf } from '../src/bench/statistics.js';
import { openSides, type Side } from './bench-agent/sides.js';
import { serveTarget } from './bench-agent/target.js';
import { readCount, readWords } from './words.js';

const { values } = readWords('npm run bench:agent [-- --rounds N]', {
  options: { rounds: { type: 'string', default: '9' }, target: { type: 'string' } },
});
const KIB = 1024;

async function main(rounds: number): Promise<number> {
  const small = await withTarget('caller', (info) => compareLatency(info, 'caller', rounds));
  const lanes = await withTarget('lanes', (info) => compareLatency(info, 'lanes', rounds));
  const verdicts = [
    report('4 KiB post → DONE, caller, µs', small, (ratio) => ratio <= 1.3),
    report('4 KiB post → DONE, lanes, µs', lanes, (ratio) => ratio <= 1.3),
    reportLanes(medianOf(lanes.agent), medianOf(small.agent)),
  ];
  for (const { what, ...shape } of SHAPES) {
    const figures = await withTarget('lanes', (info) => compareBandwidth(info, shape, rounds));
    verdicts.push(report(`${what}, lanes, GB/s`, figures, (ratio) => ratio >= 0.95));
  }
  return verdicts.every((isMet) => isMet) ? 0 : 1;
}

interface Shape {
  readonly blocks: number;
  readonly blockBytes: number;
  /** Posts in one turn, so that a turn lasts some milliseconds. */
  readonly posts: number;
}

const SHAPES: readonly (Shape & { readonly what: string })[] = [
  { what: '64 KiB', blocks: 1, blockBytes: 64 * KIB, posts: 400 },
  { what: '1 MiB', blocks: 1, blockBytes: 1024 * KIB, posts: 50 },
  { what: '64 MiB', blocks: 1, blockBytes: 65_536 * KIB, posts: 4 },
  { what: '10,000 × 16 KiB', blocks: 10_000, blockBytes: 16 * KIB, posts: 4 },
];

function reportLanes(lanesUs: number, callerUs: number): boolean {
  const ratio = lanesUs / callerUs;
  const verdict = ratio <= 1.5 ? 'met' : 'MISSED';
  process.stdout.write(
    `4 KiB by the agent, lanes against caller: ${ratio.toFixed(2)} ${verdict}\n`,
  );
  return ratio <= 1.5;
}

interface Figures {
  readonly engine: number[];
  readonly agent: number[];
}

async function withTarget<T>(progress: string, use: (info: string) => Promise<T>): Promise<T> {
  const words = [fileURLToPath(import.meta.url), '--target', progress];
  const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
    return await use(line.trim());
  } finally {
    child.stdin.end();
    await once(child, 'exit');
  }
}

async function compareLatency(
  info: string,
  progress: 'lanes' | 'caller',
  rounds: number,
): Promise<Figures> {
  const sides = await openSides(info, progress, 1, 4 * KIB);
  return interleave(sides, rounds, (side) => {
    const count = 2000;
    const startUs = performance.now() * 1000;
    for (let index = 0; index < count; index++) side.runOnce();
    return (performance.now() * 1000 - startUs) / count;
  });
}

async function compareBandwidth(
  info: string,
  { blocks, blockBytes, posts }: Shape,
  rounds: number,
): Promise<Figures> {
  const sides = await openSides(info, 'lanes', blocks, blockBytes);
  return interleave(sides, rounds, (side) => {
    const startMs = performance.now();
    for (let index = 0; index < posts; index++) side.runOnce();
    return (posts * side.bytes) / (performance.now() - startMs) / 1e6;
  });
}

/** Engine and agent take turns, each first in every other round; the first round warms up. */
async function interleave(
  sides: { engine: Side; agent: Side; close(): Promise<void> },
  rounds: number,
  measure: (side: Side) => number,
): Promise<Figures> {
  const figures: Figures = { engine: [], agent: [] };
  try {
    for (let round = 0; round <= rounds; round++) {
      const order =
        round % 2 === 0 ? (['engine', 'agent'] as const) : (['agent', 'engine'] as const);
      for (const name of order) {
        const figure = measure(sides[name]);
        if (round > 0) figures[name].push(figure);
      }
    }
    return figures;
  } finally {
    await sides.close();
  }
}

function report(what: string, figures: Figures, isMet: (ratio: number) => boolean): boolean {
  const ratios = figures.agent.map((figure, index) => figure / (figures.engine[index] ?? 1));
  const ratio = medianOf(ratios);
  const spread = `${Math.min(...ratios).toFixed(2)} … ${Math.max(...ratios).toFixed(2)}`;
  process.stdout.write(
    `${what}: engine ${medianOf(figures.engine).toFixed(2)}, agent ` +
      `${medianOf(figures.agent).toFixed(2)}, ratio ${ratio.toFixed(3)} (${spread}) ` +
      `${isMet(ratio) ? 'met' : 'MISSED'}\n`,
  );
  return isMet(ratio);
}

if (values.target !== undefined) await serveTarget(values.target);
else process.exitCode = await main(readCount('--rounds', values.rounds));
