// The loop of an experiment: rounds in which every arm runs once, in the order of the seed, until
// the spread says enough or the cap is reached. Knows neither hosts nor commands: what a run does
// is handed in, and so is where the record goes.

import { at } from '../base/assert.js';
import type { Arm } from './plan.js';
import {
  armNamed,
  countedRun,
  type ExperimentRecord,
  livingArms,
  type RunRecord,
  WARM_UP_ROUND,
  wholeRounds,
} from './record.js';
import { orderOfRound, roundsWanted } from './repetitions.js';

export interface ExperimentEdges {
  /** Places interrupts, runs the command within a bundle, puts everything back, checks the run. */
  perform(arm: Arm, round: number): Promise<RunRecord>;
  /** After each run. */
  save(record: ExperimentRecord): void;
  tell(text: string): void;
  isInterrupted(): boolean;
}

/** A run that is not valid may be an accident; so many in a row are not. */
const ATTEMPTS = 3;

export async function runExperiment(
  begun: ExperimentRecord,
  edges: ExperimentEdges,
): Promise<ExperimentRecord> {
  let record: ExperimentRecord = { ...begun, state: 'running' };
  const keep = (change: Partial<ExperimentRecord>) => {
    record = { ...record, ...change };
    edges.save(record);
  };
  const perform = async (arm: Arm, round: number): Promise<RunRecord> => {
    const run = await edges.perform(arm, round);
    // A run that a person ended says nothing about the arm.
    if (!edges.isInterrupted()) keep({ runs: [...record.runs, run] });
    return run;
  };
  keep({});
  if (!record.runs.some(({ round }) => round === WARM_UP_ROUND)) {
    await perform(armNamed(record, at(livingArms(record), 0)), WARM_UP_ROUND);
  }
  for (let round = 0; !edges.isInterrupted(); round++) {
    const arms = livingArms(record);
    const wanted = roundsWanted(wholeRounds(record), arms.length, record.plan);
    keep({ isCapped: wanted.isCapped });
    if (round >= wanted.rounds || !isComparable(record)) break;
    edges.tell(`round ${round + 1} of ${wanted.rounds}${wanted.isCapped ? ', the cap' : ''}`);
    for (const name of orderOfRound(arms, record.seed, round)) {
      if (edges.isInterrupted() || countedRun(record, name, round) !== undefined) continue;
      const reason = await tryArm(armNamed(record, name), round, perform, edges);
      if (reason === undefined) continue;
      keep({ dropped: [...record.dropped, { arm: name, reason }] });
      edges.tell(`${name} is dropped: ${reason}`);
      if (!isComparable(record)) break;
    }
  }
  keep({ state: edges.isInterrupted() ? 'interrupted' : 'done' });
  return record;
}

/** The first arm is what others are compared with: without it, or alone, there is nothing to do. */
function isComparable(record: ExperimentRecord): boolean {
  const arms = livingArms(record);
  return arms.length >= 2 && arms[0] === record.plan.arms[0]?.name;
}

/** Why the arm cannot be measured; undefined where it was, or where somebody interrupted. */
async function tryArm(
  arm: Arm,
  round: number,
  perform: (arm: Arm, round: number) => Promise<RunRecord>,
  edges: ExperimentEdges,
): Promise<string | undefined> {
  let reason = '';
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const run = await perform(arm, round);
    if (edges.isInterrupted() || run.isCounted) return undefined;
    const failed = run.checks.filter(({ verdict }) => verdict === 'fail');
    reason = failed.map(({ name, evidence }) => `${name}: ${evidence}`).join('; ');
    edges.tell(`${arm.name} does not count: ${reason} (${run.bundle})`);
  }
  return reason;
}
