// Several initiators at once: `--pattern` of `bench loopback`, several hosts for `bench client`.

import { formatBytes, formatUs, plural } from '../base/units.js';
import type { GroupControl } from '../bench/bench-group.js';
import type { BenchResult } from '../bench/bench-result.js';
import type { GroupFigures } from '../bench/group-figures.js';
import { BenchProgress } from './bench-progress.js';
import { formatInterval } from './bench-report.js';
import { keepResult, openStore, untilInterrupted } from './bench-runs.js';
import { type Command, type Invocation, type OwnFlag, usageError } from './command.js';
import { ExitCode } from './exit-code.js';
import {
  clearProgress,
  formatTable,
  printJson,
  printNote,
  printText,
  showProgressLines,
} from './print.js';

const PATTERNS = ['many-to-one', 'one-to-many'] as const;
const PEERS_DEFAULT = 4;
const PEERS_MAX = 64;

export const PATTERN_FLAGS: readonly OwnFlag[] = [
  {
    name: 'pattern',
    kind: 'text',
    choices: PATTERNS,
    summary: 'Several initiators at once: against one target, or each against its own.',
  },
  {
    name: 'peers',
    kind: 'text',
    value: 'N',
    summary: `How many initiators a --pattern has; default ${PEERS_DEFAULT}.`,
  },
];

/** Flags of single runs, which a group has not. */
const SINGLE = ['runs', 'save-baseline', 'fail-below', 'fail-above', 'format'] as const;

export interface GroupWish {
  readonly pattern: (typeof PATTERNS)[number];
  readonly peers: number;
}

/** undefined where one initiator is enough. */
export function groupWish(command: Command, invocation: Invocation): GroupWish | undefined {
  const text = invocation.text('pattern');
  const count = invocation.text('peers');
  if (text === undefined) {
    if (count !== undefined) throw usageError(command, '--peers belongs to --pattern');
    return undefined;
  }
  const pattern = PATTERNS.find((one) => one === text);
  if (pattern === undefined) {
    throw usageError(command, `--pattern ${text}: one of ${PATTERNS.join(', ')}`);
  }
  const peers = Number(count ?? PEERS_DEFAULT);
  if (!Number.isInteger(peers) || peers < 1 || peers > PEERS_MAX) {
    throw usageError(command, `--peers ${count ?? ''}: a whole number from 1 to ${PEERS_MAX}`);
  }
  checkAlone(command, invocation);
  return { pattern, peers };
}

export function checkAlone(command: Command, invocation: Invocation): void {
  const flag = SINGLE.find((name) => invocation.text(name) !== undefined);
  if (flag !== undefined) throw usageError(command, `--${flag} is of a single initiator`);
}

/** Measures until it is done or Ctrl-C ends it, and tells of those that measured. */
export async function measureGroup(
  invocation: Invocation,
  pattern: string,
  measure: (control: GroupControl) => Promise<BenchResult[]>,
): Promise<ExitCode> {
  const { stop, release } = untilInterrupted(invocation);
  const onInterval: GroupControl['onInterval'] = (member, interval) => {
    clearProgress();
    printNote(`initiator ${member}  ${formatInterval(interval)}`);
  };
  try {
    const measured = await measure({ stop, onInterval, ...progressOnTerminal() });
    clearProgress();
    return await reportGroup(invocation, pattern, measured);
  } finally {
    release();
  }
}

/** The slowest says how far all are; rates are the sum of those heard of. */
function progressOnTerminal(): Pick<GroupControl, 'onProgress'> {
  if (!process.stderr.isTTY) return {};
  const heard = new Map<number, { readonly fraction: number; readonly rate: number }>();
  const progress = new BenchProgress();
  return {
    onProgress: (member, fraction, rate) => {
      heard.set(member, { fraction, rate });
      const all = [...heard.values()];
      const least = Math.min(...all.map((one) => one.fraction));
      const sum = all.reduce((total, one) => total + one.rate, 0);
      const lines = progress.lines(least, sum, () => [], performance.now());
      if (lines !== undefined) showProgressLines(lines);
    },
  };
}

async function reportGroup(
  invocation: Invocation,
  pattern: string,
  measured: readonly BenchResult[],
): Promise<ExitCode> {
  const { groupFigures } = await import('../bench/group-figures.js');
  const store = await openStore(invocation);
  const members = measured.length;
  const partial = measured.find((run) => run.partial !== undefined)?.partial;
  const runs = measured.map((run, member) => {
    const group = { pattern, member, members };
    return keepResult(store, { ...run, command: process.argv.slice(2), group });
  });
  const figures = groupFigures(runs);
  if (invocation.isJson) {
    const why = partial === undefined ? {} : { partial };
    printJson({ schema: 'tcpx.bench-group/1', pattern, ...figures, ...why, runs });
  } else {
    const { commonWarnings } = await import('../bench/result-warnings.js');
    printText(formatGroup(pattern, runs, figures, commonWarnings(runs, 'initiators')));
    if (partial !== undefined) printText(`PARTIAL    ${partial}\n`);
  }
  if (partial !== undefined && figures.ok) return ExitCode.RunTime;
  return figures.ok ? ExitCode.Good : ExitCode.AnswerIsNo;
}

function formatGroup(
  pattern: string,
  runs: readonly BenchResult[],
  figures: GroupFigures,
  warnings: readonly string[],
): string {
  const { wallGBps, sumGBps, overlap, fairness, bytes, latencyUs } = figures;
  const rows = runs.map((run, index) => [
    String(index),
    run.peer.hostname,
    run.bytesMoved === undefined ? '?' : formatBytes(run.bytesMoved),
    run.bandwidthGBps.mean.toFixed(2),
    formatUs(run.latencyUs.p50),
    formatUs(run.latencyUs.p99),
    run.ok ? 'ok' : 'WRONG',
  ]);
  const slowest = runs.reduce((a, b) => (b.bandwidthGBps.mean < a.bandwidthGBps.mean ? b : a));
  const slowestRate = slowest.bandwidthGBps.mean.toFixed(2);
  return (
    `${plural(runs.length, 'initiator')}, ${pattern}\n\n` +
    formatTable([['', 'target', 'moved', 'GB/s', 'latency', 'p99', ''], ...rows]) +
    `\ntogether   ${formatBytes(bytes)}, ${wallGBps.toFixed(2)} GB/s from the first start to the ` +
    `last end; ${sumGBps.toFixed(2)} GB/s is the sum of their own\n` +
    `at once    ${(100 * overlap).toFixed(0)} % of that time, fairness ${fairness.toFixed(3)}\n` +
    `latency    ${formatUs(latencyUs.p50)} p50, ${formatUs(latencyUs.p90)} p90, ` +
    `${formatUs(latencyUs.p99)} p99 of all\n` +
    `slowest    initiator ${runs.indexOf(slowest)}: ${slowestRate} GB/s\n` +
    warnings.map((text) => `warning    ${text}\n`).join('')
  );
}
