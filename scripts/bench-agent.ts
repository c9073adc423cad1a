// `npm run bench:agent [-- --rounds N]`: what the agent costs over the engine, as ratios from
// interleaved rounds. One target serves both, in a process of its own; exit 1 when a bar is missed.
//   post → DONE of 4 KiB, callers driving     agent ≤ 1.3 × engine
//   one request of 10,000 × 16 KiB, lanes     agent ≥ 0.95 × engine's bandwidth
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

if (values.target !== undefined) await serveTarget(values.target);
else process.exitCode = await main(readCount('--rounds', values.rounds));

async function main(rounds: number): Promise<number> {
  const small = await withTarget('caller', (info) => compareLatency(info, rounds));
  const large = await withTarget('lanes', (info) => compareBandwidth(info, rounds));
  const isGood = report('4 KiB post → DONE, caller, µs', small, (ratio) => ratio <= 1.3);
  return report('10,000 × 16 KiB, lanes, GB/s', large, (ratio) => ratio >= 0.95) && isGood ? 0 : 1;
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

async function compareLatency(info: string, rounds: number): Promise<Figures> {
  const sides = await openSides(info, 'caller', 1, 4 * KIB);
  return interleave(sides, rounds, (side) => {
    const count = 2000;
    const startUs = performance.now() * 1000;
    for (let index = 0; index < count; index++) side.runOnce();
    return (performance.now() * 1000 - startUs) / count;
  });
}

async function compareBandwidth(info: string, rounds: number): Promise<Figures> {
  const sides = await openSides(info, 'lanes', 10_000, 16 * KIB);
  return interleave(sides, rounds, (side) => {
    const count = 4;
    const startMs = performance.now();
    for (let index = 0; index < count; index++) side.runOnce();
    return (count * side.bytes) / (performance.now() - startMs) / 1e6;
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
