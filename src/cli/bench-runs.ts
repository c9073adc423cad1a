// Around a measurement: how often it is made, where its results are kept, and whether they hold
// against limits.

import { processEnvironment } from '../base/config.js';
import { isTcpxError } from '../base/errors.js';
import type { BenchResult } from '../bench/bench-result.js';
import type { ResultStore } from '../bench/result-store.js';
import { runFault } from '../bench/run-fault.js';
import type { Threshold, ThresholdVerdict } from '../bench/thresholds.js';
import { openFolderFiles } from '../host/read/host-files.js';
import { formatCsv, formatNixlbench } from './bench-columns.js';
import { formatBenchResult, formatRuns, formatThresholds } from './bench-report.js';
import { verboseEnd, verboseStart } from './bench-verbose.js';
import { type Command, type Invocation, type OwnFlag, usageError } from './command.js';
import { ExitCode } from './exit-code.js';
import { clearProgress, printCode, printJson, printNote, printText } from './print.js';

const RUNS_MAX = 1000;
const FORMATS = ['text', 'nixlbench', 'csv'] as const;
/** Fewer do not tell noise from change. */
const BASELINE_RUNS = 3;

export const RUN_FLAGS: readonly OwnFlag[] = [
  {
    name: 'runs',
    kind: 'text',
    value: 'N',
    summary: 'Measure so often, each time from the connect on; 3 with --save-baseline, else 1.',
  },
  {
    name: 'save-baseline',
    kind: 'text',
    value: 'NAME',
    summary: 'Keep the runs, three or more, by a name for bench diff and irq baseline.',
  },
  {
    name: 'fail-below',
    kind: 'text',
    value: 'FIGURE=N,...',
    summary: 'Exit with 1 where a figure is less: 4.5 (GB/s, median), bandwidth.min=2.',
  },
  {
    name: 'fail-above',
    kind: 'text',
    value: 'FIGURE=N,...',
    summary: 'Exit with 1 where a figure is more: latency.p99=300 (µs), cpu=0.5 (s per GB).',
  },
  {
    name: 'format',
    kind: 'text',
    choices: FORMATS,
    summary: 'How the result is printed: text for people, columns of nixlbench, or CSV.',
  },
];

/** What the flags ask for, checked before anything is measured. */
interface RunsPlan {
  readonly runs: number;
  readonly baseline: string | undefined;
  readonly thresholds: readonly Threshold[];
  readonly store: ResultStore;
  readonly format: (typeof FORMATS)[number];
}

export async function openStore({ config }: Invocation): Promise<ResultStore> {
  const { ResultStore, storeFolder } = await import('../bench/result-store.js');
  const { 'bench.storeDir': wanted, 'bench.keep': keep } = config.values;
  return new ResultStore(storeFolder(wanted, processEnvironment()), keep);
}

/** What a measurement obeys, and whom it tells what it had when it failed. */
export interface RunControl {
  readonly stop: AbortSignal;
  onPartial(result: BenchResult): void;
}

export async function measureRuns(
  command: Command,
  invocation: Invocation,
  measure: (control: RunControl) => Promise<BenchResult>,
): Promise<ExitCode> {
  const plan = await planRuns(command, invocation);
  tellStart(invocation);
  const runs: BenchResult[] = [];
  const keep = (measured: BenchResult): void => {
    const result = { ...measured, command: process.argv.slice(2) };
    clearProgress();
    if (isVerbose(invocation)) for (const line of verboseEnd(result)) printNote(line);
    runs.push(keepResult(plan.store, result));
  };
  const { stop, release } = untilInterrupted(invocation);
  try {
    for (let index = 0; index < plan.runs && !stop.aborted; index++) {
      const result = await measure({ stop, onPartial: keep });
      keep(result);
      if (!result.ok) break;
    }
  } catch (error) {
    clearProgress();
    // With --json the failure is the document; what was measured is kept all the same.
    if (runs.length > 0 && !invocation.isJson) reportText(plan, runs, [], []);
    throw error;
  } finally {
    release();
  }
  return judgeRuns(invocation, plan, runs);
}

async function judgeRuns(
  invocation: Invocation,
  plan: RunsPlan,
  runs: readonly BenchResult[],
): Promise<ExitCode> {
  // Of a run that was cut short nothing is decided.
  if (runs.length < plan.runs || runs.some(({ partial }) => partial !== undefined)) {
    reportRuns(invocation, plan, runs, [], []);
    for (const run of runs) throwFailure(run);
    return ExitCode.RunTime;
  }
  const { judgeThresholds } = await import('../bench/thresholds.js');
  const verdicts = judgeThresholds(plan.thresholds, runs);
  const isGood = runs.every(({ ok }) => ok);
  const files = plan.baseline === undefined || !isGood ? [] : saveBaseline(plan, runs);
  reportRuns(invocation, plan, runs, verdicts, files);
  for (const run of runs) throwFailure(run);
  return verdicts.every(({ ok }) => ok) ? ExitCode.Good : ExitCode.AnswerIsNo;
}

export interface Interruption {
  readonly stop: AbortSignal;
  /** Ctrl-C ends the process again. */
  readonly release: () => void;
}

/** The first Ctrl-C ends the run in order, the second one at once. */
export function untilInterrupted({ isJson }: Pick<Invocation, 'isJson'>): Interruption {
  const controller = new AbortController();
  const onSignal = (): void => {
    controller.abort();
    clearProgress();
    if (!isJson) printNote('stopping; once more ends it at once');
  };
  process.once('SIGINT', onSignal);
  const release = (): void => {
    process.removeListener('SIGINT', onSignal);
  };
  return { stop: controller.signal, release };
}

function reportRuns(
  { isJson }: Invocation,
  plan: RunsPlan,
  runs: readonly BenchResult[],
  verdicts: readonly ThresholdVerdict[],
  files: readonly string[],
): void {
  if (isJson) reportJson(runs, verdicts, files);
  else reportText(plan, runs, verdicts, files);
}

function isVerbose({ config, isJson }: Invocation): boolean {
  return config.values['bench.verbose'] && !isJson;
}

/** Of `--verbose`, before anything is measured. */
export function tellStart(invocation: Invocation): void {
  if (!isVerbose(invocation)) return;
  const lines = verboseStart(invocation.config, processEnvironment(), openFolderFiles('/'));
  for (const line of lines) printNote(line);
}

async function planRuns(command: Command, invocation: Invocation): Promise<RunsPlan> {
  const { parseThresholds } = await import('../bench/thresholds.js');
  const { checkBaselineName } = await import('../bench/result-store.js');
  const baseline = invocation.text('save-baseline');
  if (baseline !== undefined) checkBaselineName(baseline);
  const least = baseline === undefined ? 1 : BASELINE_RUNS;
  const text = invocation.text('runs');
  const runs = text === undefined ? least : Number(text);
  if (!Number.isInteger(runs) || runs < least || runs > RUNS_MAX) {
    const why = least === 1 ? '' : ' with --save-baseline';
    const range = `a whole number from ${least} to ${RUNS_MAX}${why}`;
    throw usageError(command, `--runs ${text ?? ''}: ${range}`);
  }
  const wanted = invocation.text('format') ?? 'text';
  const format = FORMATS.find((one) => one === wanted);
  if (format === undefined) {
    throw usageError(command, `--format ${wanted}: one of ${FORMATS.join(', ')}`);
  }
  const below = invocation.text('fail-below');
  const above = invocation.text('fail-above');
  const thresholds = [
    ...(below === undefined ? [] : parseThresholds('below', below)),
    ...(above === undefined ? [] : parseThresholds('above', above)),
  ];
  return { runs, baseline, thresholds, format, store: await openStore(invocation) };
}

/** A result that cannot be kept is still a result. */
export function keepResult(store: ResultStore, result: BenchResult): BenchResult {
  try {
    return store.save(result);
  } catch (error) {
    if (!isTcpxError(error)) throw error;
    const note = `not kept: ${error.message}`;
    return { ...result, warnings: [...(result.warnings ?? []), note] };
  }
}

function saveBaseline({ store, baseline = '' }: RunsPlan, runs: readonly BenchResult[]): string[] {
  return store.saveBaseline(baseline, runs);
}

function reportJson(
  runs: readonly BenchResult[],
  thresholds: readonly ThresholdVerdict[],
  files: readonly string[],
): void {
  const judged = thresholds.length === 0 ? {} : { thresholds };
  if (runs.length === 1) {
    printJson({ ...runs[0], ...judged });
    return;
  }
  const ok = runs.every((run) => run.ok);
  const baseline = files.length === 0 ? {} : { baseline: files };
  printJson({ schema: 'tcpx.bench-runs/1', ok, runs, ...judged, ...baseline });
}

function reportText(
  { format }: RunsPlan,
  runs: readonly BenchResult[],
  thresholds: readonly ThresholdVerdict[],
  files: readonly string[],
): void {
  const [first] = runs;
  if (format === 'csv') printCode(formatCsv(runs));
  else if (format === 'nixlbench') printText(formatNixlbench(runs));
  else
    printText(
      runs.length === 1 && first !== undefined ? formatBenchResult(first) : formatRuns(runs),
    );
  // A program that reads rows shall not meet other lines among them.
  const print = format === 'text' ? printText : printNote;
  if (thresholds.length > 0) print(formatThresholds(thresholds));
  noteKept(runs, files);
}

function noteKept(runs: readonly BenchResult[], files: readonly string[]): void {
  const ids = runs.flatMap(({ id }) => id ?? []);
  if (files.length > 0) {
    printNote(`baseline of ${files.length} runs; before irq apply: tcpx irq baseline \\`);
    printNote(`  ${files.join(' ')}`);
  } else if (ids.length > 0) printNote(`kept as ${ids.join(', ')} (tcpx bench show)`);
}

function throwFailure(result: BenchResult): void {
  const fault = runFault(result);
  if (fault !== undefined) throw fault;
}
