// `tcpx trace diff` and `tcpx trace summary`: read the call traces of plugin processes.

import { readFileSync } from 'node:fs';
import { TcpxError } from '../../base/errors.js';
import { formatBytes, formatUs } from '../../base/units.js';
import {
  diffTraces,
  parseTrace,
  type TraceDifference,
  type TraceLine,
} from '../../provider/tcpx/trace/trace-file.js';
import { summarizeTrace, type TraceSummary } from '../../provider/tcpx/trace/trace-summary.js';
import { type Command, usageError } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { formatTable, printJson, printText } from '../print.js';

export const traceDiffCommand: Command = {
  name: 'trace diff',
  group: 'plugin',
  summary: 'The first divergence between two plugin call traces.',
  positionals: 'A B',
  positionalsMax: 2,
  settings: [],
  examples: [
    ['trace diff good.trace bad.trace', 'Where two runs part.'],
    ['trace diff good.trace bad.trace --json', 'The same for a program.'],
  ],
  run(invocation) {
    const [pathA, pathB] = invocation.positionals;
    if (pathA === undefined || pathB === undefined)
      throw usageError(traceDiffCommand, 'name two traces');
    const difference = diffTraces(readTrace(pathA), readTrace(pathB));
    if (invocation.isJson) {
      printJson({ schema: 'tcpx.trace-diff/1', isSame: difference === undefined, difference });
    } else printText(formatDifference(difference, pathA, pathB));
    return Promise.resolve(difference === undefined ? ExitCode.Good : ExitCode.AnswerIsNo);
  },
};

export const traceSummaryCommand: Command = {
  name: 'trace summary',
  group: 'plugin',
  summary: 'Counts, windows, times and order faults of a plugin call trace.',
  positionals: 'TRACE',
  positionalsMax: 1,
  settings: [],
  examples: [
    ['trace summary rail0.trace', 'Calls, windows and times of one run.'],
    ['trace summary rail0.trace --json', 'The same for a program.'],
  ],
  run(invocation) {
    const [path] = invocation.positionals;
    if (path === undefined) throw usageError(traceSummaryCommand, 'name a trace');
    const summary = summarizeTrace(readTrace(path));
    if (invocation.isJson) printJson({ schema: 'tcpx.trace-summary/1', ...summary });
    else printText(formatSummary(summary));
    const isGood = summary.failures.length === 0 && summary.faults.length === 0;
    return Promise.resolve(isGood ? ExitCode.Good : ExitCode.AnswerIsNo);
  },
};

function readTrace(path: string): TraceLine[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', `trace ${path}: not readable`, { cause: error });
  }
  const lines = parseTrace(text);
  if (lines.length > 0) return lines;
  throw new TcpxError('ERR_USAGE_ARGUMENT', `trace ${path}: holds no line of a call trace`);
}

function formatDifference(
  difference: TraceDifference | undefined,
  pathA: string,
  pathB: string,
): string {
  if (difference === undefined) return 'no difference';
  const { call, channel, field, a, b, indexA, indexB } = difference;
  const where = channel === '' ? call : `${call} on channel ${channel}`;
  const line = (path: string, index: number, value: string): string =>
    `  ${path}${index === 0 ? '' : `, line ${index}`}: ${field}=${value}`;
  return [
    `first difference: ${where}, ${field}`,
    line(pathA, indexA, a),
    line(pathB, indexB, b),
  ].join('\n');
}

function formatSummary(summary: TraceSummary): string {
  const calls = Object.entries(summary.calls).map(([call, count]) => [call, String(count)]);
  const channels = summary.channels.map((one) => [
    ...[one.channel, one.role, String(one.chunks), formatBytes(one.bytes), String(one.highWater)],
    ...[formatUs(one.chunkUsP50), formatUs(one.chunkUsMax)],
  ]);
  const heading = ['channel', 'role', 'chunks', 'bytes', 'window', 'p50', 'max'];
  const faults = [...summary.failures, ...summary.faults];
  return [
    `${summary.lines} lines, ${formatUs(summary.durationUs)}`,
    formatTable(calls),
    formatTable([heading, ...channels]),
    faults.length === 0 ? 'every chunk went through its steps in order' : faults.join('\n'),
  ].join('\n');
}
