// Results of an experiment with what bundles and traces add: the questions of a negative result, a
// measured reference, and where call traces of NICs part.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bandwidthGBps } from '../diag/run-difference.js';
import { runFacts } from '../diag/run-facts.js';
import { openRunView } from '../diag/view/run-view.js';
import { type Answer, negativeChecks } from '../experiment/negative-checks.js';
import type { ExperimentRecord, RunRecord } from '../experiment/record.js';
import { type ExperimentResults, experimentResults } from '../experiment/results.js';
import { diffTraces, parseTrace, type TraceLine } from '../provider/tcpx/trace/trace-file.js';
import type { Command, Invocation, OwnFlag } from './command.js';
import { usageError } from './command.js';

export const REFERENCE_FLAG: OwnFlag = {
  name: 'reference',
  kind: 'text',
  value: 'BUNDLE',
  summary: 'Bundle of an NCCL run to hold the best arm against; default: the published figure.',
};

export function resultsOf(
  command: Command,
  invocation: Invocation,
  folder: string,
  record: ExperimentRecord,
): ExperimentResults {
  const path = invocation.text('reference');
  const GBps = path === undefined ? undefined : bandwidthGBps(openRunView(path));
  if (path !== undefined && GBps === undefined) {
    throw usageError(command, `--reference ${path}: holds no bandwidth`);
  }
  const measured = path === undefined || GBps === undefined ? undefined : { name: path, GBps };
  return experimentResults(record, answersOf(folder, record), measured);
}

/** From the last run that was bound most: variables and interrupts. */
function answersOf(folder: string, record: ExperimentRecord): readonly Answer[] {
  const rank = ({ arm }: RunRecord) => {
    const found = record.plan.arms.find(({ name }) => name === arm);
    return (found?.variables === 'nccl' ? 2 : 0) + (found?.interrupts === 'matched' ? 1 : 0);
  };
  const counted = record.runs.filter(({ isCounted, round }) => isCounted && round >= 0);
  const [run] = [...counted].reverse().sort((a, b) => rank(b) - rank(a));
  if (run === undefined || rank(run) === 0) return [];
  return negativeChecks(runFacts(join(folder, run.bundle)), record);
}

/** Traces of the first counted run of each arm, file by file, against those of the first arm. */
export function traceLines(folder: string, { plan }: ExperimentRecord): readonly string[] {
  const [first, ...others] = plan.arms.map(({ name }) => ({
    name,
    traces: tracesOf(folder, name),
  }));
  if (first === undefined || first.traces.length === 0) return [];
  return others.map(({ name, traces }) => {
    if (traces.length === 0) return `${name}: no trace`;
    const found = traces.flatMap((trace, index) => {
      const difference = diffTraces(first.traces[index] ?? [], trace);
      return difference === undefined ? [] : [difference];
    });
    const [one] = found;
    if (one === undefined) return `${first.name} and ${name}: the same calls`;
    const { call, field, a, b } = one;
    return `${first.name} and ${name} part at ${call}, ${field}: ${a} and ${b}`;
  });
}

function tracesOf(folder: string, arm: string): readonly TraceLine[][] {
  const place = join(folder, 'traces', `${arm}-1`);
  try {
    return readdirSync(place)
      .sort()
      .map((name) => parseTrace(readFileSync(join(place, name), 'utf8')));
  } catch {
    return [];
  }
}
