// `tcpx irq verify --before A --after B`: judged from two snapshots alone, on any machine, and from
// the samples in between where the later one is a bundle that has them.

import { formatCpuList } from '../base/cpu-set.js';
import { readFlatParts } from '../host/flat/open-flat.js';
import { loadPlan, rebasePlan } from '../host/irq/saved-plan.js';
import { interruptSamples, type SeriesVerdict, verifySeries } from '../host/irq/series-verdict.js';
import { type LineVerdict, verifyLines } from '../host/irq/verify.js';
import { checkXps } from '../host/irq/xps-plan.js';
import { openSnapshotPair, type SnapshotPair } from '../host/nic/snapshot-pair.js';
import { type Command, type Invocation, usageError } from './command.js';
import type { ExitCode } from './exit-code.js';
import { formatVerdicts } from './irq-text.js';
import { formatTable, printJson, printText } from './print.js';
import { OUTCOMES, outcomeOf } from './verify-outcome.js';

/** Flags that ask this machine, or a process on it. */
const LIVE_FLAGS = ['pid', 'env', 'seconds', 'interval', 'root'] as const;

export function hasSnapshots(invocation: Invocation): boolean {
  return invocation.text('before') !== undefined || invocation.text('after') !== undefined;
}

export function verifySnapshots(command: Command, invocation: Invocation): ExitCode {
  const before = invocation.text('before');
  const after = invocation.text('after');
  const planPath = invocation.text('plan');
  if (before === undefined || after === undefined) {
    throw usageError(command, '--before and --after belong together');
  }
  if (planPath === undefined) throw usageError(command, 'two snapshots need --plan FILE');
  const misplaced = LIVE_FLAGS.find((flag) => invocation.text(flag) !== undefined);
  if (misplaced !== undefined || invocation.has('watch')) {
    throw usageError(command, `--${misplaced ?? 'watch'} asks a host; two snapshots are files`);
  }
  const pair = openSnapshotPair(before, after);
  const { model } = pair.after;
  const plan = loadPlan(planPath);
  // A snapshot that names no host cannot contradict the plan's.
  const rebased = rebasePlan(plan, model.nics, model.hostname ?? plan.hostname, 'keep');
  const { lines } = rebased.plan;
  const verdicts = verifyLines(lines, model.irqs, pair.before.model.irqs);
  const samples = interruptSamples(readFlatParts(after) ?? []);
  const series = samples.length > 1 ? verifySeries(lines, samples) : undefined;
  const checks = checkXps(plan.xps ?? [], model.nics);
  const outcome = outcomeOf(verdicts, checks);
  const { moved } = rebased;
  if (invocation.isJson) {
    const { seconds } = pair;
    const schema = 'tcpx.irq-verify/1';
    const ok = outcome === 'verified';
    const files = { before, after, seconds };
    printJson({ schema, ok, outcome, ...files, verdicts, series, moved, checks });
  } else {
    printText(formatSnapshots(pair, verdicts, series, moved));
    const rows = checks.map(({ name, status, text }) => [status, name, text]);
    if (rows.length > 0) printText(formatTable([['', 'check', 'evidence'], ...rows]));
    printText(outcome);
  }
  return OUTCOMES[outcome];
}

function formatSnapshots(
  { seconds }: SnapshotPair,
  verdicts: readonly LineVerdict[],
  series: SeriesVerdict | undefined,
  moved: readonly string[],
): string {
  const time = seconds === undefined ? 'an unknown time' : `${seconds.toFixed(1)} s`;
  return (
    moved.map((text) => `note: ${text}\n`).join('') +
    `interrupts between two snapshots, ${time} apart\n\n${formatVerdicts(verdicts)}` +
    (series === undefined ? '' : formatSeries(series))
  );
}

const STRAYS_SHOWN = 10;

function formatSeries({ sampleCount, strays }: SeriesVerdict): string {
  const time = (timeMs: number | undefined, sample: number) =>
    timeMs === undefined ? `sample ${sample}` : new Date(timeMs).toISOString();
  const lines = strays.slice(0, STRAYS_SHOWN).map((stray) => {
    const { irq, nic, queue, offPlan, cpus, fromMs, toMs, fromSample } = stray;
    return (
      `  IRQ ${irq} (${nic} ${queue}): first between ${time(fromMs, fromSample)} and ` +
      `${time(toMs, fromSample + 1)}, ${offPlan} on CPUs ${formatCpuList(cpus)}\n`
    );
  });
  const hidden = strays.length - lines.length;
  const rest = hidden > 0 ? `  and ${hidden} more lines; --json has all\n` : '';
  const what = strays.length === 0 ? 'none outside the plan' : `${strays.length} lines strayed`;
  return `${sampleCount} samples in between: ${what}\n${lines.join('')}${rest}`;
}
