// `tcpx experiment run [PLAN] -- CMD`: runs the arms of a plan in turns until their differences are
// known, or cannot be, and decides.

import { randomInt } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from '../../base/make-folder.js';
import { PLAN_NAMES } from '../../experiment/built-in-plans.js';
import { runExperiment } from '../../experiment/experiment.js';
import {
  EXPERIMENT_FOLDER_MODE,
  EXPERIMENT_SCHEMA,
  EXPERIMENTS_FOLDER,
  type ExperimentRecord,
  hasRecord,
  livingArms,
  loadRecord,
  saveRecord,
} from '../../experiment/record.js';
import { timeStamp } from '../../host/irq/journal.js';
import { STATE_FOLDER_VARIABLE } from '../../host/read/emulated-nics.js';
import { type Command, type Invocation, usageError } from '../command.js';
import { ownEnvironment } from '../environment-source.js';
import { ExitCode } from '../exit-code.js';
import { keepBaseline } from '../experiment-baseline.js';
import { canCount } from '../experiment-counters.js';
import { performRun } from '../experiment-perform.js';
import {
  type ExperimentPlacement,
  openPlacement,
  reopenPlacement,
} from '../experiment-placement.js';
import { REFERENCE_FLAG, resultsOf } from '../experiment-results.js';
import { wholeRecord } from '../experiment-resume.js';
import { dryRun, formatDryRun, formatResults } from '../experiment-text.js';
import { experimentWish, nicsOfArms, skippedArms, WISH_FLAGS } from '../experiment-wish.js';
import { PLAN_FLAGS, STATE_FLAG, secondsFlag, stateFolderOf } from '../irq-host.js';
import { BIND_FLAGS } from '../irq-transaction.js';
import { packageVersion } from '../package-version.js';
import { printJson, printNote, printText } from '../print.js';

/** A run that takes so much longer than it measures hangs. */
const DEADLINE_EXTRA_S = 60;
const DEADLINE_FACTOR = 5;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const INTERRUPTED_STATUS = 130;
const SEED_MAX = 2 ** 31;

export const experimentRunCommand: Command = {
  name: 'experiment run',
  group: 'diagnose',
  summary: 'Compare settings by runs in turns, as many as the noise asks for, and decide.',
  positionals: '[PLAN]',
  positionalsMax: 1,
  takesRest: true,
  settings: [
    ...(['session.nics', 'engine.provider', 'plugin.path'] as const),
    ...(['tcpx.sockets', 'tcpx.socketBudget'] as const),
  ],
  flags: [
    {
      name: 'out',
      kind: 'text',
      value: 'DIR',
      summary: `Folder for the record and the bundles; default ${EXPERIMENTS_FOLDER}/PLAN_TIME.`,
    },
    {
      name: 'resume',
      kind: 'text',
      value: 'DIR',
      summary: 'Go on with an experiment that was interrupted: its plan, seed, placement and runs.',
    },
    {
      name: 'dry-run',
      kind: 'boolean',
      summary: 'Print the runs, their order and how long it takes; run nothing.',
    },
    ...WISH_FLAGS,
    { name: 'seed', kind: 'text', value: 'N', summary: 'Of the order of runs; random.' },
    {
      name: 'deadline',
      kind: 'text',
      value: 'SECONDS',
      summary: 'End a run that takes longer; five times what it measures, and a minute.',
      isAdvanced: true,
    },
    REFERENCE_FLAG,
    STATE_FLAG,
    ...PLAN_FLAGS.filter(({ name }) => name !== 'plan'),
    ...BIND_FLAGS.filter(({ name }) => name !== 'no-baseline'),
  ],
  examples: [
    [
      'experiment run --dry-run',
      `What T1 to T5 would run; other plans: ${PLAN_NAMES.slice(1).join(', ')}.`,
    ],
    ['experiment run --nics eth1 -- tcpx nccl 2 8 0 1', 'T1 to T5 with a run of nccl-tests.'],
    ['experiment run chunks.toml', 'Arms from a plan of one’s own.'],
  ],
  async run(invocation) {
    const resumed = invocation.text('resume');
    const { folder, record, placement } =
      resumed === undefined ? begin(invocation) : resume(invocation, resumed);
    if (invocation.has('dry-run')) {
      const dry = dryRun(record);
      if (invocation.isJson) printJson(dry);
      else printText(formatDryRun(dry, record));
      return ExitCode.Good;
    }
    return conduct(invocation, folder, record, placement);
  },
};

interface Begun {
  readonly folder: string;
  readonly record: ExperimentRecord;
  readonly placement: ExperimentPlacement;
}

function begin(invocation: Invocation): Begun {
  const wish = experimentWish(experimentRunCommand, invocation);
  const { plan, words, nics } = wish;
  const started = new Date();
  const name = `${plan.name}_${timeStamp(started).slice(0, 15)}`;
  const folder = invocation.text('out') ?? join(EXPERIMENTS_FOLDER, name);
  if (hasRecord(folder)) {
    const hint = `--resume ${folder} goes on with it, --out names another folder`;
    throw usageError(experimentRunCommand, `${folder} holds an experiment already: ${hint}`);
  }
  const placement = openPlacement(invocation, nicsOfArms(nics, plan.arms), folder);
  const { kind, text, txBindings, rxBindings, irqPlan, interruptCpus } = placement;
  const record: ExperimentRecord = {
    schema: EXPERIMENT_SCHEMA,
    ...{ plan, words, nics, txBindings, rxBindings },
    seed: seedOf(invocation),
    hostname: hostname(),
    version: packageVersion(),
    startedAt: started.toISOString(),
    state: 'running',
    placement: { kind, text },
    ...{ irqPlan, interruptCpus },
    isEmulated: kind !== 'irq' || ownEnvironment()[STATE_FOLDER_VARIABLE] !== undefined,
    skipped: skippedArms(invocation, wish, (named) => placement.problemOf(named)),
    dropped: [],
    runs: [],
    isCapped: false,
  };
  requireArms(record);
  return { folder, record, placement };
}

/** The arm that others are compared with, and one other. */
function requireArms(record: ExperimentRecord): void {
  const arms = livingArms(record);
  if (arms.length >= 2 && arms[0] === record.plan.arms[0]?.name) return;
  const reasons = record.skipped.map(({ arm, reason }) => `${arm}: ${reason}`);
  throw usageError(experimentRunCommand, `nothing is left to compare; ${reasons.join('; ')}`);
}

function resume(invocation: Invocation, folder: string): Begun {
  const record = loadRecord(folder);
  if (record.hostname !== hostname()) {
    throw usageError(
      experimentRunCommand,
      `--resume ${folder}: it was begun on ${record.hostname}`,
    );
  }
  const whole = wholeRecord(experimentRunCommand, invocation, record, ownEnvironment());
  const nics = nicsOfArms(record.nics, record.plan.arms);
  return { folder, record: whole, placement: reopenPlacement(invocation, record, nics, folder) };
}

function seedOf(invocation: Invocation): number {
  const text = invocation.text('seed');
  if (text === undefined) return randomInt(SEED_MAX);
  const seed = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (seed < SEED_MAX) return seed;
  throw usageError(experimentRunCommand, `--seed ${text}: a whole number below ${SEED_MAX}`);
}

async function conduct(
  invocation: Invocation,
  folder: string,
  begun: ExperimentRecord,
  placement: ExperimentPlacement,
): Promise<number> {
  const { seconds } = begun.plan;
  const wish = {
    ...{ folder, record: begun, placement, environment: ownEnvironment() },
    deadlineMs:
      1000 * secondsFlag(invocation, 'deadline', DEADLINE_FACTOR * seconds + DEADLINE_EXTRA_S),
    hasPerf: canCount(),
  };
  makeFolder(folder, EXPERIMENT_FOLDER_MODE);
  let isInterrupted = false;
  // The run that is going gets the signal too; then everything is put back and the record is kept.
  const interrupt = () => {
    isInterrupted = true;
  };
  for (const signal of SIGNALS) process.on(signal, interrupt);
  try {
    const record = await runExperiment(begun, {
      perform: (arm, round) => performRun(wish, arm, round),
      save: (one) => saveRecord(folder, one),
      tell: (text) => printNote(text),
      isInterrupted: () => isInterrupted,
    });
    if (record.state === 'interrupted') {
      printNote(`interrupted; everything is as before. tcpx experiment run --resume ${folder}`);
      return INTERRUPTED_STATUS;
    }
    return finish(invocation, folder, record);
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupt);
  }
}

function finish(invocation: Invocation, folder: string, record: ExperimentRecord): number {
  const results = resultsOf(experimentRunCommand, invocation, folder, record);
  if (invocation.isJson) printJson({ ...results, folder });
  else printText(formatResults(results));
  const note = keepBaseline(stateFolderOf(invocation), folder, record);
  if (note !== undefined) printNote(note);
  printNote(`page: tcpx experiment report ${folder}`);
  return results.ok ? ExitCode.Good : ExitCode.AnswerIsNo;
}
