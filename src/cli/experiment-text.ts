// What the experiment commands print.

import { safeWords } from '../diag/bundle/safe-variables.js';
import { changeText } from '../experiment/decision.js';
import { type ExperimentRecord, livingArms } from '../experiment/record.js';
import { orderOfRound } from '../experiment/repetitions.js';
import type { ExperimentResults } from '../experiment/results.js';
import { formatTable } from './print.js';

/** Start and end of a run and what is read around it. */
const OVERHEAD_S = 2;

export interface DryRun {
  readonly schema: 'tcpx.experiment-plan/1';
  readonly name: string;
  readonly seed: number;
  readonly words: readonly string[];
  readonly arms: readonly string[];
  readonly skipped: ExperimentRecord['skipped'];
  /** Arms in the order in which they would run, of the rounds that are run in any case. */
  readonly order: readonly (readonly string[])[];
  readonly runsMin: number;
  readonly runsMax: number;
  readonly secondsMin: number;
  readonly secondsMax: number;
}

export function dryRun(record: ExperimentRecord): DryRun {
  const arms = livingArms(record);
  const { plan, seed, words, skipped } = record;
  const runs = (rounds: number) => 1 + rounds * arms.length;
  const order = Array.from({ length: plan.roundsMin }, (_, round) =>
    orderOfRound(arms, seed, round),
  );
  const [runsMin, runsMax] = [runs(plan.roundsMin), runs(plan.roundsMax)];
  const each = plan.seconds + OVERHEAD_S;
  return {
    schema: 'tcpx.experiment-plan/1',
    ...{ name: plan.name, seed, arms, skipped, order, runsMin, runsMax },
    words: safeWords(words),
    secondsMin: runsMin * each,
    secondsMax: runsMax * each,
  };
}

export function formatDryRun(dry: DryRun, record: ExperimentRecord): string {
  const { plan, placement } = record;
  const rows = plan.arms.map(({ name, interrupts, variables, channels, question }) => {
    const out = dry.skipped.find(({ arm }) => arm === name);
    const what = out === undefined ? question : `not run: ${out.reason}`;
    return [name, interrupts, variables, String(channels ?? '-'), what];
  });
  const head = ['arm', 'interrupts', 'variables', 'channels', 'asks'];
  const minutes = (seconds: number) => `${(seconds / 60).toFixed(1)} min`;
  return [
    `${plan.name}: ${dry.words.join(' ')}`,
    `${placement.text}${record.isEmulated ? '; emulated' : ''}`,
    formatTable([head, ...rows]).trimEnd(),
    `warm-up: ${dry.arms[0] ?? ''}`,
    ...dry.order.map((arms, round) => `round ${round + 1}: ${arms.join(' ')}`),
    `${dry.runsMin} to ${dry.runsMax} runs of about ${plan.seconds} s, by the spread that is ` +
      `measured: ${minutes(dry.secondsMin)} to ${minutes(dry.secondsMax)}; seed ${dry.seed}`,
  ].join('\n');
}

export function formatResults(results: ExperimentResults): string {
  const { rows, decision, attribution, reference, best, checks, placement } = results;
  const head = ['arm', 'runs', 'GB/s', 'against the first', 'verdict'];
  const cells = rows.map(({ arm, runs, medianGBps, change, leftOut }) => [
    arm.name,
    String(runs),
    medianGBps === undefined ? 'N/A' : medianGBps.toFixed(2),
    change === undefined ? '-' : changeText(change),
    leftOut === undefined ? (change?.verdict ?? '-') : `left out: ${leftOut}`,
  ]);
  const spread = results.spreadPercent?.toFixed(1) ?? 'unknown';
  return [
    `${results.title}, ${results.evidence}, ${results.rounds} rounds, spread of a run ${spread} %`,
    placement.text,
    formatTable([head, ...cells]).trimEnd(),
    ...(attribution.text === '' ? [] : [attribution.text]),
    ...(reference === undefined || best === undefined
      ? []
      : [
          `best ${best.arm}: ${(100 * reference.ratio).toFixed(0)} % of ${reference.name} ` +
            `(${reference.GBps.toFixed(1)} GB/s, ${reference.evidence})`,
        ]),
    `decision ${decision.outcome}: ${decision.reason}`,
    decision.consequence,
    ...checks.map(({ question, verdict, evidence }) => `  ${question} ${verdict} (${evidence})`),
  ].join('\n');
}
