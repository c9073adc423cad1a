// Results of an experiment with what bundles and traces add: the questions of a negative result, a
// measured reference, and where call traces of NICs part.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bandwidthGBps } from '../diag/run-difference.js';
import { runFacts } from '../diag/run-facts.js';
import { openRunView } from '../diag/view/run-view.js';
import { type Answer, negativeChecks } from '../experiment/negative-checks.js';
import { nicsOfArm } from '../experiment/plan.js';
import {
  armNamed,
  cpusOfNics,
  type ExperimentRecord,
  type RunRecord,
  safeRecord,
} from '../experiment/record.js';
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
  return experimentResults(safeRecord(record), answersOf(folder, record), measured);
}

/** So many of the last runs that did not count are looked at. */
const UNCOUNTED_MAX = 8;

/** From the last run that was bound most: variables and interrupts; and those beside it. */
function answersOf(folder: string, record: ExperimentRecord): readonly Answer[] {
  const armOf = (run: RunRecord) => armNamed(record, run.arm);
  const rank = (run: RunRecord) => {
    const { variables, interrupts } = armOf(run);
    return (variables === 'nccl' ? 2 : 0) + (interrupts === 'matched' ? 1 : 0);
  };
  const measured = record.runs.filter(({ round }) => round >= 0).reverse();
  const counted = measured.filter(({ isCounted }) => isCounted);
  const [run] = [...counted].sort((a, b) => rank(b) - rank(a));
  if (run === undefined || rank(run) === 0) return [];
  const factsOf = (one: RunRecord) => runFacts(join(folder, one.bundle));
  const isMatched = (one: RunRecord) => armOf(one).interrupts === 'matched';
  const bound = counted.find(isMatched) ?? measured.find(isMatched);
  const matched = bound && {
    facts: factsOf(bound),
    interruptCpus: cpusOfNics(record.interruptCpus, nicsOfArm(armOf(bound), record.nics)),
  };
  const uncounted = measured.filter(({ isCounted }) => !isCounted).slice(0, UNCOUNTED_MAX);
  return negativeChecks(factsOf(run), record, { matched, uncounted: uncounted.map(factsOf) });
}

/** Traces of the first counted run of each arm, role by role, against those of the first arm. */
export function traceLines(
  folder: string,
  { plan, runs }: Pick<ExperimentRecord, 'plan' | 'runs'>,
): readonly string[] {
  const [first, ...others] = plan.arms.map(({ name }) => {
    const run = runs.find((one) => one.arm === name && one.isCounted && one.round >= 0);
    return { name, traces: tracesOf(folder, run) };
  });
  if (first === undefined || first.traces.size === 0) return [];
  return others.map(({ name, traces }) => {
    if (traces.size === 0) return `${name}: no trace`;
    const roles = new Set([...first.traces.keys(), ...traces.keys()]);
    const found = [...roles].flatMap((role) => {
      const difference = diffTraces(first.traces.get(role) ?? [], traces.get(role) ?? []);
      return difference === undefined ? [] : [{ role, ...difference }];
    });
    const [one] = found;
    if (one === undefined) return `${first.name} and ${name}: the same calls`;
    const { role, call, field, a, b } = one;
    return `${first.name} and ${name} part at ${call} of ${role}, ${field}: ${a} and ${b}`;
  });
}

const TRACE_ROLE = /^trace-([a-z]+)-/;

/** By role, and where that has several, by their number: NICs and process ids differ by nature. */
function tracesOf(folder: string, run: RunRecord | undefined): ReadonlyMap<string, TraceLine[]> {
  const traces = new Map<string, TraceLine[]>();
  if (run?.traces === undefined) return traces;
  const place = join(folder, run.traces);
  const counts = new Map<string, number>();
  for (const name of namesIn(place)) {
    const role = TRACE_ROLE.exec(name)?.[1] ?? name;
    const number = (counts.get(role) ?? 0) + 1;
    counts.set(role, number);
    const key = number === 1 ? role : `${role} ${number}`;
    traces.set(key, parseTrace(readFileSync(join(place, name), 'utf8')));
  }
  return traces;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}
