// What an experiment says, joined: a row for each arm, the decision, attribution, and how the best
// stands to the reference. Pure over the record and the bundles that were read for it.

import { type Reference, readReferences, standTo } from '../bench/references.js';
import { medianOf } from '../bench/statistics.js';
import {
  type ArmChange,
  type Attribution,
  attribute,
  attributionText,
  DECISION_RULE,
  type Decision,
  judgeRounds,
} from './decision.js';
import type { Answer } from './negative-checks.js';
import type { Arm } from './plan.js';
import { type ExperimentRecord, livingArms, type RunRecord, wholeRounds } from './record.js';

export interface ArmRow {
  readonly arm: Arm;
  /** Runs that count. */
  readonly runs: number;
  readonly medianGBps: number | undefined;
  readonly lowGBps: number | undefined;
  readonly highGBps: number | undefined;
  readonly latencyP50Us: number | undefined;
  readonly contextSwitches: number | undefined;
  readonly cacheMisses: number | undefined;
  readonly remoteNumaAccesses: number | undefined;
  /** Against the first arm; undefined for that one, and where there is no figure. */
  readonly change: ArmChange | undefined;
  /** Why it was left out. */
  readonly leftOut: string | undefined;
}

export interface ReferenceFigure {
  readonly name: string;
  readonly GBps: number;
  readonly evidence: 'reference' | 'measured';
  readonly ratio: number;
  readonly gapGBps: number;
  readonly remark: string;
}

export interface ExperimentResults {
  readonly schema: 'tcpx.experiment-results/1';
  readonly ok: boolean;
  readonly name: string;
  readonly title: string;
  readonly state: ExperimentRecord['state'];
  readonly evidence: 'measured' | 'emulated';
  readonly placement: ExperimentRecord['placement'];
  readonly hostname: string;
  readonly seed: number;
  readonly rounds: number;
  /** Of one run, in percent of its rate. */
  readonly spreadPercent: number | undefined;
  readonly isCapped: boolean;
  readonly rows: readonly ArmRow[];
  readonly decision: Decision;
  readonly rule: string;
  readonly attribution: { readonly text: string; readonly parts: readonly Attribution[] };
  readonly best: { readonly arm: string; readonly GBps: number } | undefined;
  readonly reference: ReferenceFigure | undefined;
  /** Questions to ask where nothing was gained. */
  readonly checks: readonly Answer[];
  /** Runs that did not count, with the reason. */
  readonly invalid: readonly string[];
  readonly skipped: ExperimentRecord['skipped'];
  readonly dropped: ExperimentRecord['dropped'];
}

/** A measured run of NCCL, where a bundle of one was named. */
export interface MeasuredReference {
  readonly name: string;
  readonly GBps: number;
}

export function experimentResults(
  record: ExperimentRecord,
  checks: readonly Answer[],
  measured: MeasuredReference | undefined,
): ExperimentResults {
  const arms = livingArms(record);
  const rounds = wholeRounds(record);
  const { plan } = record;
  // Without the arm that others are compared with there is nothing to judge.
  const isJudged = arms[0] === plan.arms[0]?.name;
  const { fit, changes, decision } = judgeRounds(isJudged ? arms : [], rounds, plan);
  const parts = attribute(plan.contrasts, arms, fit, plan.alpha);
  const rows = plan.arms.map((arm) => rowOf(arm, record, changes));
  const best = bestOf(rows);
  return {
    schema: 'tcpx.experiment-results/1',
    ok: decision.outcome !== 'undecided' && record.state === 'done',
    name: plan.name,
    title: plan.title,
    state: record.state,
    evidence: record.isEmulated ? 'emulated' : 'measured',
    placement: record.placement,
    hostname: record.hostname,
    seed: record.seed,
    rounds: rounds.length,
    spreadPercent: fit === undefined ? undefined : 100 * fit.spread,
    isCapped: record.isCapped,
    rows,
    decision,
    rule: DECISION_RULE,
    attribution: { text: plan.contrasts.length === 0 ? '' : attributionText(parts), parts },
    best,
    reference: best === undefined ? undefined : referenceFor(best.GBps, measured),
    checks: decision.outcome === 'B' ? checks : [],
    invalid: record.runs.filter((run) => !run.isCounted && run.round >= 0).map(invalidText),
    skipped: record.skipped,
    dropped: record.dropped,
  };
}

function rowOf(arm: Arm, record: ExperimentRecord, changes: readonly ArmChange[]): ArmRow {
  const runs = record.runs.filter((run) => run.arm === arm.name && run.isCounted && run.round >= 0);
  const figures = (pick: (run: RunRecord) => number | null) =>
    runs.map(pick).filter((value): value is number => value !== null);
  const median = (pick: (run: RunRecord) => number | null) => {
    const values = figures(pick);
    return values.length === 0 ? undefined : medianOf(values);
  };
  const rates = figures((run) => run.figures.bandwidthGBps);
  const out = [...record.skipped, ...record.dropped].find((one) => one.arm === arm.name);
  return {
    arm,
    runs: runs.length,
    medianGBps: rates.length === 0 ? undefined : medianOf(rates),
    lowGBps: rates.length === 0 ? undefined : Math.min(...rates),
    highGBps: rates.length === 0 ? undefined : Math.max(...rates),
    latencyP50Us: median((run) => run.figures.latencyP50Us),
    contextSwitches: median((run) => run.figures.contextSwitches),
    cacheMisses: median((run) => run.figures.cacheMisses),
    remoteNumaAccesses: median((run) => run.figures.remoteNumaAccesses),
    change: changes.find((change) => change.arm === arm.name),
    leftOut: out?.reason,
  };
}

function bestOf(rows: readonly ArmRow[]): ExperimentResults['best'] {
  const alive = rows.filter(({ leftOut }) => leftOut === undefined);
  const known = alive.flatMap(({ arm, medianGBps }) =>
    medianGBps === undefined ? [] : [{ arm: arm.name, GBps: medianGBps }],
  );
  return known.sort((a, b) => b.GBps - a.GBps)[0];
}

const REFERENCE_NAME = 'nccl-tcpx';

function referenceFor(
  rateGBps: number,
  measured: MeasuredReference | undefined,
): ReferenceFigure | undefined {
  if (measured !== undefined) {
    const { GBps, name } = measured;
    const standing = standTo(rateGBps, { lowGBps: GBps, highGBps: GBps });
    return { name, GBps, evidence: 'measured', remark: 'a run that was named', ...standing };
  }
  const known: Reference | undefined = readReferences().find(({ name }) => name === REFERENCE_NAME);
  if (known === undefined) return undefined;
  const { name, lowGBps: GBps, what, remark } = known;
  const standing = standTo(rateGBps, known);
  return { name, GBps, evidence: 'reference', remark: `${what}. ${remark}`, ...standing };
}

function invalidText({ arm, round, checks, bundle }: RunRecord): string {
  const failed = checks.filter(({ verdict }) => verdict === 'fail');
  const reason = failed.map(({ name, evidence }) => `${name}: ${evidence}`).join('; ');
  return `${arm}, round ${round + 1} (${bundle}): ${reason}`;
}
