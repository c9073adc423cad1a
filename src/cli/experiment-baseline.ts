// The baseline that `tcpx irq apply` asks for, from an experiment: runs without any binding are the
// state of this host before a change.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isTcpxError } from '../base/errors.js';
import { parseBenchDocument } from '../diag/parse/bench-document.js';
import { RESULT_FILE } from '../diag/view/bundle-files.js';
import type { ExperimentRecord, RunRecord } from '../experiment/record.js';
import {
  BASELINE_SCHEMA,
  baselinePath,
  baselineProblem,
  saveBaseline,
} from '../host/irq/baseline.js';

/** Records one where this host has none; returns what to tell, undefined where there is nothing. */
export function keepBaseline(
  stateFolder: string,
  folder: string,
  record: ExperimentRecord,
): string | undefined {
  const [first] = record.plan.arms;
  if (first?.interrupts !== 'default' || first.variables !== 'none') return undefined;
  const runs = record.runs.filter(
    (run) => run.arm === first.name && run.isCounted && run.round >= 0,
  );
  if (runs.length < record.plan.roundsMin) return undefined;
  const documents = baselineDocuments(folder, runs);
  if (record.isEmulated || documents.some(isEmulated)) {
    return 'no baseline was recorded: an emulated run says nothing about interrupts of this host';
  }
  const path = baselinePath(stateFolder);
  if (baselineProblem(stateFolder, record.hostname) === undefined) {
    return `the earlier baseline stays: ${path}; without it the next experiment records one`;
  }
  try {
    saveBaseline(stateFolder, {
      schema: BASELINE_SCHEMA,
      hostname: record.hostname,
      recordedAt: new Date().toISOString(),
      runs: documents,
    });
  } catch (error) {
    if (!isTcpxError(error)) throw error;
    return `no baseline was recorded: ${error.message}`;
  }
  return `baseline of ${runs.length} runs of ${first.name}: ${path}`;
}

/** What the command printed or kept, where that is a result of ours; else the run in short. */
function baselineDocuments(folder: string, runs: readonly RunRecord[]): readonly object[] {
  return runs.map((run) => {
    const read = (name: string) => parseBenchDocument(readText(join(folder, run.bundle, name)));
    const document = read('nccl_test_output.log') ?? read(RESULT_FILE);
    const isObject = typeof document === 'object' && document !== null;
    return isObject ? document : { schema: 'tcpx.experiment-run/1', ok: true, ...run };
  });
}

/** Through the plugin's emulator, whatever NICs it was told. */
function isEmulated(document: object): boolean {
  return 'evidence' in document && document.evidence === 'emulated';
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
