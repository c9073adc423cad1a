// `npm run soak -- [--minutes N] [--seed S] [--json]`: hostile and honest peers at one agent, and
// what it holds meanwhile. Exits 1 with the bound that broke.

import { runSoak, type SoakReport } from '../test/soak/run-soak.js';
import type { SoakSample } from '../test/soak/soak-bounds.js';
import { readCount, readWords, refuse } from './words.js';

const { values } = readWords('npm run soak [-- --minutes N] [--seed S] [--json]', {
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});

const MIB = 1024 * 1024;
/** Samples between two lines. */
const LINE_EVERY = 10;

const minutes = Number(values.minutes);
if (!(minutes > 0)) refuse(`--minutes ${values.minutes}: not a number above 0`);
let count = 0;

function show(sample: SoakSample): void {
  if (count++ % LINE_EVERY !== 0) return;
  process.stderr.write(
    `${count} s: ${mebibytes(sample.rssBytes)} resident, ${mebibytes(sample.queueBytes)} in the ` +
      `kernel, ${sample.descriptors} descriptors, ${sample.sessions} sessions\n`,
  );
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}

function summary(report: SoakReport): string {
  const { highest, bounds } = report;
  const rounds = Object.entries(report.rounds).map(([name, times]) => `${times} × ${name}`);
  return [
    `resident: ${mebibytes(highest.rssBytes)} at most, allowed ${mebibytes(bounds.rssBytes)}, ` +
      `${mebibytes(report.last.rssBytes)} in the end`,
    `kernel: ${mebibytes(highest.queueBytes)} at most, allowed ${mebibytes(bounds.queueBytes)}`,
    `descriptors: ${highest.descriptors} at most, allowed ${bounds.descriptors}, ` +
      `${report.last.descriptors} in the end`,
    `second half against the first: ${(report.rssGrowth * 100).toFixed(1)} %`,
    `${report.honestTransfers} honest transfers, ${report.killed} peers killed, ` +
      `${report.refused} attacks refused`,
    rounds.join(', '),
    ...report.broken.map((what) => `BROKEN: ${what}`),
    '',
  ].join('\n');
}

const seed = readCount('--seed', values.seed);
const report = await runSoak({ seconds: minutes * 60, seed, onSample: show });
process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : summary(report));
process.exitCode = report.ok ? 0 : 1;
