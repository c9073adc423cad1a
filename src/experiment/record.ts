// What an experiment leaves behind, in one document that is saved after each run: so an experiment
// that was interrupted goes on where it stopped.

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { TcpxError, toTcpxError } from '../base/errors.js';
import { saveDocument } from '../host/irq/journal.js';
import type { ExperimentPlan } from './plan.js';
import type { Rounds } from './round-fit.js';

export const EXPERIMENT_SCHEMA = 'tcpx.experiment/1';
const FILE = 'experiment.json';
/** Below which experiments are kept unless somebody names another place. */
export const EXPERIMENTS_FOLDER = 'experiments';

export interface RunCheck {
  readonly name: string;
  readonly verdict: 'pass' | 'fail' | 'unknown';
  readonly evidence: string;
}

/** null: not known on this host, or by this command. */
export interface RunFigures {
  /** 10^9 bytes per second. */
  readonly bandwidthGBps: number | null;
  readonly perGpuGBps: number | null;
  readonly latencyP50Us: number | null;
  /** Transfers, blocks and chunks that are in flight at most. */
  readonly requestDepth: Readonly<Record<string, number>> | null;
  readonly chunkBytes: number | null;
  /** CPUs that were busy, summed up over the host. */
  readonly busyCpus: number | null;
  readonly interruptsByNic: Readonly<Record<string, number>>;
  readonly devmemPacketsByNic: Readonly<Record<string, number>>;
  readonly contextSwitches: number | null;
  /** Whose context switches these are: perf counts those of the command alone. */
  readonly contextSwitchesOf: 'command' | 'host' | null;
  readonly cacheMisses: number | null;
  readonly remoteNumaAccesses: number | null;
}

export interface RunRecord {
  readonly arm: string;
  /** From 0 on; −1 is a warm-up, which is kept and never counted. */
  readonly round: number;
  readonly startedAt: string;
  readonly seconds: number;
  /** Folder of its bundle, below that of the experiment. */
  readonly bundle: string;
  readonly figures: RunFigures;
  readonly checks: readonly RunCheck[];
  readonly isCounted: boolean;
}

export interface LeftOut {
  readonly arm: string;
  readonly reason: string;
}

export interface ExperimentRecord {
  readonly schema: typeof EXPERIMENT_SCHEMA;
  readonly plan: ExperimentPlan;
  readonly words: readonly string[];
  readonly nics: readonly string[];
  readonly seed: number;
  readonly hostname: string;
  readonly version: string;
  readonly startedAt: string;
  readonly state: 'running' | 'interrupted' | 'done';
  /** How interrupts were placed: by their affinity, or, where there are none, by RPS. */
  readonly placement: { readonly kind: 'irq' | 'rps' | 'none'; readonly text: string };
  readonly isEmulated: boolean;
  readonly txBindings: string;
  readonly rxBindings: string;
  /** Before the first run, with the reason. */
  readonly skipped: readonly LeftOut[];
  /** On the way: no run of it was valid. */
  readonly dropped: readonly LeftOut[];
  readonly runs: readonly RunRecord[];
  /** More rounds would have been needed than the cap allows. */
  readonly isCapped: boolean;
}

export const WARM_UP_ROUND = -1;

export function saveRecord(folder: string, record: ExperimentRecord): void {
  saveDocument(join(folder, FILE), folder, record);
}

export function loadRecord(folder: string): ExperimentRecord {
  const path = join(folder, FILE);
  let document: Partial<ExperimentRecord>;
  try {
    // checked: below, by schema
    document = JSON.parse(readFileSync(path, 'utf8')) as Partial<ExperimentRecord>;
  } catch (error) {
    throw toTcpxError(error, 'ERR_USAGE_ARGUMENT', `experiment ${path}`);
  }
  const isWhole = Array.isArray(document.runs) && Array.isArray(document.plan?.arms);
  if (document.schema === EXPERIMENT_SCHEMA && isWhole) return document as ExperimentRecord;
  throw new TcpxError('ERR_USAGE_ARGUMENT', `${path} is not an experiment (${EXPERIMENT_SCHEMA})`);
}

/** Folders of experiments, the newest first. */
export function listExperiments(parent: string): readonly string[] {
  let names: readonly string[];
  try {
    names = readdirSync(parent);
  } catch {
    return [];
  }
  const found = names.flatMap((name) => {
    const folder = join(parent, name);
    const written = statSync(join(folder, FILE), { throwIfNoEntry: false });
    return written?.isFile() === true ? [{ folder, writtenMs: written.mtimeMs }] : [];
  });
  return found.sort((a, b) => b.writtenMs - a.writtenMs).map(({ folder }) => folder);
}

/** Arms that are still compared, in the order of the plan. */
export function livingArms({ plan, skipped, dropped }: ExperimentRecord): readonly string[] {
  const out = new Set([...skipped, ...dropped].map(({ arm }) => arm));
  return plan.arms.map(({ name }) => name).filter((name) => !out.has(name));
}

export function countedRun(
  record: ExperimentRecord,
  arm: string,
  round: number,
): RunRecord | undefined {
  return record.runs.find((run) => run.arm === arm && run.round === round && run.isCounted);
}

/** Rounds in which every living arm has its run. */
export function wholeRounds(record: ExperimentRecord): Rounds {
  const arms = livingArms(record);
  const rounds: number[][] = [];
  for (let round = 0; ; round++) {
    const rates = arms.map((arm) => countedRun(record, arm, round)?.figures.bandwidthGBps);
    const known = rates.filter((rate): rate is number => typeof rate === 'number');
    if (arms.length === 0 || known.length < arms.length) return rounds;
    rounds.push(known);
  }
}
