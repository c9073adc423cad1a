// `npm run incast -- [--seconds S] [N…]`: N initiators write to one target for some seconds.
// `npm run incast -- --quiet [--seconds S] [--runs R]`: a quiet peer beside a loud one. The tables
// of docs/reliability.md.

import { measureWriters, WRITERS_HEAD } from './incast/many-writers.js';
import { measureQuietPeer, QUIET_HEAD } from './incast/quiet-peer.js';
import { readCount, readWords, refuse } from './words.js';

const USAGE = `npm run incast [-- --seconds S] [INITIATORS…]
npm run incast -- --quiet [--seconds S] [--runs R]`;
const { values, positionals } = readWords(USAGE, {
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '5' },
    quiet: { type: 'boolean', default: false },
    runs: { type: 'string' },
  },
});
const seconds = readCount('--seconds', values.seconds);
const runs = readCount('--runs', values.runs ?? '5');
const counts = positionals.map((text) => readCount('initiators', text));
if (values.quiet && counts.length > 0) refuse('--quiet has two initiators, always');
if (!values.quiet && values.runs !== undefined) refuse('--runs goes with --quiet');

function printRow(cells: readonly string[]): void {
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}

function printHead(cells: readonly string[]): void {
  printRow(cells);
  printRow(cells.map(() => '---'));
}

if (values.quiet) {
  printHead(QUIET_HEAD);
  for (let run = 0; run < runs; run++) printRow(await measureQuietPeer(seconds));
} else {
  printHead(WRITERS_HEAD);
  for (const count of counts.length > 0 ? counts : [1, 8, 64]) {
    printRow(await measureWriters(count, seconds));
  }
}
