// A sweep on disk while it runs, as a table, and its best settings as variables.

import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TcpxError, toTcpxError } from '../base/errors.js';
import { environmentName, type SettingName } from '../base/settings.js';
import { formatBytes, formatUs } from '../base/units.js';
import type { SweepOutcome, SweepRun, SweepRuns } from '../bench/sweep.js';
import { saveDocument } from '../host/irq/journal.js';
import { EMULATED } from './bench-report.js';
import { flagOf } from './command.js';
import { formatTable } from './print.js';

const SCHEMA = 'tcpx.bench-sweep-runs/3';

/** What a sweep has measured so far, by what it measures. */
export class SweepFile {
  readonly #folder: string;
  readonly #path: string;

  constructor(folder: string, plan: unknown) {
    const digest = createHash('sha256').update(JSON.stringify(plan)).digest('hex').slice(0, 12);
    this.#folder = join(folder, 'sweeps');
    this.#path = join(this.#folder, `${digest}.json`);
  }

  /** Empty where there is none, or one that cannot be read. */
  load(): SweepRuns {
    try {
      const text = readFileSync(this.#path, 'utf8');
      // checked: by its schema; the plan is in its name
      const { schema, runs } = JSON.parse(text) as { schema?: string; runs?: SweepRuns };
      return schema === SCHEMA && runs !== undefined ? runs : {};
    } catch {
      return {};
    }
  }

  save(runs: SweepRuns): void {
    saveDocument(this.#path, this.#folder, { schema: SCHEMA, runs });
  }

  remove(): void {
    rmSync(this.#path, { force: true });
  }
}

/** One emulated run makes the table one of emulated figures. */
export function sweepEvidence(runs: SweepRuns): SweepRun['evidence'] {
  const isEmulated = Object.values(runs).some((list) =>
    list.some(({ evidence }) => evidence === 'emulated'),
  );
  return isEmulated ? 'emulated' : 'measured';
}

export function formatSweep(outcomes: readonly SweepOutcome[], runs: SweepRuns): string {
  const rows = outcomes.map(({ size, best, medianRate, latencyP50Us, margin, ...counts }) => [
    size === '' ? 'default' : formatBytes(Number(size)),
    medianRate.toFixed(2),
    formatUs(latencyP50Us),
    describe(best.settings),
    margin === undefined ? '-' : `${margin.ratio.toFixed(3)}×`,
    margin === undefined ? '' : margin.verdict === 'faster' ? 'clear' : 'not decided',
    `${counts.finalists} of ${counts.points}`,
  ]);
  const heading = ['size', 'GB/s', 'latency', 'best', 'to the next', '', 'finalists'];
  const evidence = sweepEvidence(runs) === 'emulated' ? `evidence  ${EMULATED}\n` : '';
  return formatTable([heading, ...rows]) + evidence;
}

function describe(settings: SweepOutcome['best']['settings']): string {
  const words = Object.entries(settings)
    .filter(([name]) => name !== 'bench.sizeBytes')
    .map(([name, value]) => `--${flagOf(name as SettingName)} ${value}`);
  return words.length === 0 ? 'as set' : words.join(' ');
}

/** Lines that a shell, a container or a service manager reads, and with them every command. */
export function formatProfile(
  { best, size, medianRate, margin }: SweepOutcome,
  evidence: SweepRun['evidence'],
): string {
  const lines = Object.entries(best.settings)
    .filter(([name]) => name !== 'bench.sizeBytes')
    .map(([name, value]) => `${environmentName(name as SettingName)}=${value}`);
  const what = size === '' ? 'the default size' : formatBytes(Number(size));
  const verdict = margin === undefined ? 'alone' : `${margin.ratio.toFixed(3)} times the next`;
  return [
    `# tcpx bench sweep: ${medianRate.toFixed(2)} GB/s at ${what}, ${verdict}, ${evidence}`,
    ...lines,
    '',
  ].join('\n');
}

export function saveText(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (error) {
    const failure = toTcpxError(error, 'ERR_USAGE_ARGUMENT', `write ${path}`);
    throw new TcpxError('ERR_USAGE_ARGUMENT', failure.message, { cause: error });
  }
}
