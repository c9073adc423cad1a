// A recorded baseline of this host: benchmark results taken before anything was changed, so that a
// change can be judged. `tcpx irq apply` wants one.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TcpxError } from '../../base/errors.js';
import { fileReason } from '../../base/file-reason.js';
import { saveDocument } from './journal.js';

export const BASELINE_SCHEMA = 'tcpx.baseline/1';
/** Below this number a difference cannot be told from noise. */
export const BASELINE_RUNS_WANTED = 3;
const BENCH_SCHEMA = 'tcpx.bench/1';

export interface Baseline {
  readonly schema: typeof BASELINE_SCHEMA;
  readonly hostname: string | undefined;
  readonly recordedAt: string;
  readonly runs: readonly unknown[];
}

export function baselinePath(stateFolder: string): string {
  return join(stateFolder, 'baseline.json');
}

/** Result documents as benchmark runs print them; none that failed or was cut short. */
export function baselineRuns(files: readonly string[]): readonly unknown[] {
  return files.map((file) => {
    const document = readDocument(file);
    if (document['schema'] !== BENCH_SCHEMA || document['ok'] !== true) {
      throw new TcpxError(
        'ERR_USAGE_ARGUMENT',
        `baseline ${file}: not a successful result (schema ${BENCH_SCHEMA}, ok true)`,
      );
    }
    if (document['partial'] !== undefined) {
      const why = JSON.stringify(document['partial']);
      throw new TcpxError(
        'ERR_USAGE_ARGUMENT',
        `baseline ${file}: the run was cut short (${why}); name a whole one`,
      );
    }
    return document;
  });
}

function readDocument(file: string): Readonly<Record<string, unknown>> {
  try {
    const document = JSON.parse(readFileSync(file, 'utf8')) as unknown; // checked: below
    if (typeof document === 'object' && document !== null) {
      return document as Readonly<Record<string, unknown>>;
    }
    return {};
  } catch (error) {
    const text = `baseline ${file}: ${fileReason(error)}`;
    throw new TcpxError('ERR_USAGE_ARGUMENT', text, { cause: error });
  }
}

export function saveBaseline(stateFolder: string, baseline: Baseline): void {
  saveDocument(baselinePath(stateFolder), stateFolder, baseline);
}

/** Why there is no usable baseline; undefined when there is one. */
export function baselineProblem(
  stateFolder: string,
  hostname: string | undefined,
): string | undefined {
  const path = baselinePath(stateFolder);
  let document: Partial<Baseline>;
  try {
    // checked: below, by schema
    document = JSON.parse(readFileSync(path, 'utf8')) as Partial<Baseline>;
  } catch {
    return `no baseline is recorded (${path})`;
  }
  if (document.schema !== BASELINE_SCHEMA || (document.runs ?? []).length === 0) {
    return `${path} holds no runs`;
  }
  if (document.hostname !== hostname) {
    return `${path} was recorded on ${document.hostname ?? 'another host'}`;
  }
  return undefined;
}
