// What an experiment leaves behind, in one document that is saved after each run: so an experiment
// that was interrupted goes on where it stopped.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { at } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import { fileReason } from '../base/file-reason.js';
import { hideSecrets, safeWords } from '../diag/bundle/safe-variables.js';
import { saveDocument } from '../host/irq/journal.js';
import type { IrqPlan } from '../host/irq/plan.js';
import type { Arm, ExperimentPlan } from './plan.js';
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
  /** Loads and stores of the command that memory of another node answered. */
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
  /** Folder of its call traces, below that of the experiment; undefined: the command has none. */
  readonly traces?: string | undefined;
  readonly figures: RunFigures;
  readonly checks: readonly RunCheck[];
  readonly isCounted: boolean;
}

export type CpusByNic = Readonly<Record<string, readonly number[]>>;

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
  /** What matched arms bind, so that a resumed experiment binds the same; only with `irq`. */
  readonly irqPlan?: IrqPlan | undefined;
  /** By NIC: the CPUs that its interrupts, or its packets by RPS, are sent to in matched arms. */
  readonly interruptCpus: CpusByNic;
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

/** Of the folder and its record: commands and logs of a run are their owner's. */
export const EXPERIMENT_FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

export function saveRecord(folder: string, record: ExperimentRecord): void {
  saveDocument(join(folder, FILE), folder, safeRecord(record), FILE_MODE);
}

/** As it may be kept and shown: without secrets in words and variables. */
export function safeRecord(record: ExperimentRecord): ExperimentRecord {
  const { plan, words } = record;
  const arms = plan.arms.map((arm) => ({ ...arm, environment: hideSecrets(arm.environment) }));
  const safe = { ...plan, arms, command: safeWords(plan.command) };
  return { ...record, words: safeWords(words), plan: safe };
}

export function hasRecord(folder: string): boolean {
  return existsSync(join(folder, FILE));
}

export function loadRecord(folder: string): ExperimentRecord {
  const path = join(folder, FILE);
  let document: Partial<ExperimentRecord>;
  try {
    // checked: below, by schema
    document = JSON.parse(readFileSync(path, 'utf8')) as Partial<ExperimentRecord>;
  } catch (error) {
    const text = `experiment ${path}: ${fileReason(error)}`;
    throw new TcpxError('ERR_USAGE_ARGUMENT', text, { cause: error });
  }
  const isWhole = Array.isArray(document.runs) && Array.isArray(document.plan?.arms);
  if (document.schema === EXPERIMENT_SCHEMA && isWhole) {
    // Records of earlier versions do not have it.
    return { ...(document as ExperimentRecord), interruptCpus: document.interruptCpus ?? {} };
  }
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

export function armNamed({ plan }: Pick<ExperimentRecord, 'plan'>, name: string): Arm {
  return at(
    plan.arms.filter((arm) => arm.name === name),
    0,
  );
}

export function cpusOfNics(cpus: CpusByNic, nics: readonly string[]): CpusByNic {
  return Object.fromEntries(Object.entries(cpus).filter(([nic]) => nics.includes(nic)));
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
