// `npm run soak -- [--minutes N] [--seed S] [--json]`: hostile and honest peers at one agent, and
// what it holds meanwhile. `npm run soak -- --sessions N`: so many sessions one after another
// instead. Exits 1 with the bound that broke.

import { runSoak, type SoakReport } from '../test/soak/run-soak.js';
import { runSessionSoak, type SessionSoakReport } from '../test/soak/session-soak.js';
import type { SoakSample } from '../test/soak/soak-bounds.js';
import { readCount, readWords, refuse } from './words.js';

const USAGE = `npm run soak [-- --minutes N] [--seed S] [--json]
npm run soak -- --sessions N [--json]`;
const { values } = readWords(USAGE, {
  options: {
    minutes: { type: 'string', default: '10' },
    sessions: { type: 'string' },
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

function show(sample: SoakSample, done?: number): void {
  if (count++ % LINE_EVERY !== 0) return;
  const when = done === undefined ? `${count} s` : `${done} sessions`;
  process.stderr.write(
    `${when}: ${mebibytes(sample.rssBytes)} resident, ${mebibytes(sample.queueBytes)} in the ` +
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

function sessionsSummary(report: SessionSoakReport): string {
  const half = report.rssBytes.slice(report.rssBytes.length / 2);
  return [
    `${report.sessions} sessions in ${Math.round(report.seconds)} s`,
    `resident: ${mebibytes(report.idle.rssBytes)} at first, ${mebibytes(Math.min(...half))} to ` +
      `${mebibytes(Math.max(...half))} in the last half`,
    `last quarter against the one before, medians: ${(report.rssDrift * 100).toFixed(1)} %`,
    `${report.last.sessions} sessions and ${report.last.descriptors} descriptors in the end, ` +
      `${report.idle.descriptors} at first`,
    ...report.broken.map((what) => `BROKEN: ${what}`),
    '',
  ].join('\n');
}

async function soakAll(): Promise<boolean> {
  const seed = readCount('--seed', values.seed);
  const report = await runSoak({ seconds: minutes * 60, seed, onSample: (sample) => show(sample) });
  process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : summary(report));
  return report.ok;
}

async function soakSessions(sessions: number): Promise<boolean> {
  const report = await runSessionSoak({ sessions, onSample: show });
  const text = values.json ? `${JSON.stringify(report, null, 2)}\n` : sessionsSummary(report);
  process.stdout.write(text);
  return report.ok;
}

const { sessions } = values;
const isGood = await (sessions === undefined
  ? soakAll()
  : soakSessions(readCount('--sessions', sessions)));
process.exitCode = isGood ? 0 : 1;
