// `npm run rates`: how many small things an engine with default settings does in a second, against
// a process of its own on this host. Each figure is the median of rounds that take turns.

import { medianOf } from '../src/bench/statistics.js';
import { formatTable } from '../src/cli/print.js';
import { RATES, type Rate, RatesBench } from './rates/figures.js';
import { readCount, readWords } from './words.js';

const USAGE = 'npm run rates [-- --rounds N] [--seconds N] [--json]';

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = readWords(USAGE, {
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '2' },
      json: { type: 'boolean', default: false },
    },
  });
  const rounds = readCount('--rounds', values.rounds);
  const seconds = readCount('--seconds', values.seconds);
  const figures = new Map<Rate, number[]>(RATES.map((rate) => [rate, []]));
  const bench = await RatesBench.open(seconds);
  // The first round warms up: hot code of both ends is compiled then.
  for (let round = 0; round <= rounds; round++) {
    for (const [rate, samples] of figures) {
      const figure = await rate.run(bench);
      if (round > 0) samples.push(figure);
    }
  }
  await bench.close();
  print(figures, values.json);
  return 0;
}

function print(figures: ReadonlyMap<Rate, readonly number[]>, isJson: boolean): void {
  const rows = Array.from(figures, ([{ what, unit }, samples]) => ({
    what,
    unit,
    median: medianOf(samples),
    min: Math.min(...samples),
    max: Math.max(...samples),
  }));
  if (isJson) {
    process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
    return;
  }
  const text = (value: number): string => Math.round(value).toLocaleString('en');
  const table = rows.map(({ what, unit, median, min, max }) => [
    what,
    `${text(median)} ${unit}`,
    `${text(min)} … ${text(max)}`,
  ]);
  process.stdout.write(formatTable([['what', 'median', 'min … max'], ...table]));
}
