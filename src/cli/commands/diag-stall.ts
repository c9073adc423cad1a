// `tcpx diag stall A B`: the chunk that stood still, from both ends' traces or logs.

import { formatBytes } from '../../base/units.js';
import { findStall, POOL_SIZE, type StallReport } from '../../diag/stall.js';
import { type Command, usageError } from '../command.js';
import { readCalls } from '../diag-stall-calls.js';
import { ExitCode } from '../exit-code.js';
import { formatTable, printJson, printText } from '../print.js';

export const diagStallCommand: Command = {
  name: 'diag stall',
  group: 'diagnose',
  summary: 'The chunk that stood still, from traces or logs of both ends. Exit 1 with one.',
  positionals: 'A [B]',
  positionalsMax: 2,
  settings: [],
  examples: [
    ['diag stall sender.trace receiver.trace', 'Chunk, tag and offset, and what each end did.'],
    ['diag stall traces-a/ traces-b/ --json', 'Folders of --trace-dir, for a program.'],
  ],
  run(invocation) {
    if (invocation.positionals.length === 0) throw usageError(diagStallCommand, 'name a trace');
    const report = findStall(invocation.positionals.flatMap(readCalls));
    if (invocation.isJson) printJson({ schema: 'tcpx.diag-stall/1', ...report });
    else printText(formatStall(report));
    return Promise.resolve(report.stalled.length === 0 ? ExitCode.Good : ExitCode.AnswerIsNo);
  },
};

const ROWS_SHOWN = 16;

function formatStall(report: StallReport): string {
  const { chunkCount, finishedCount, stalled, unconsumedMax, reusedTags } = report;
  const notes = [
    `${finishedCount} of ${chunkCount} chunks went all the way\n`,
    ...(unconsumedMax >= POOL_SIZE
      ? [`${unconsumedMax} receives of one channel wait to be consumed: its pool is full\n`]
      : []),
    ...(reusedTags.length > 0
      ? [`${reusedTags.length} tags were used twice: a chunk needs a tag of its own\n`]
      : []),
  ];
  if (stalled.length === 0) return notes.join('');
  const rows = stalled
    .slice(0, ROWS_SHOWN)
    .map(({ chunk, tag, offset, bytes, channel, sender, receiver, verdict }) => [
      ...[String(chunk ?? '?'), tag, channel, String(offset ?? '?')],
      ...[bytes === undefined ? '?' : formatBytes(bytes), sender, receiver, verdict],
    ]);
  const heading = ['chunk', 'tag', 'channel', 'offset', 'bytes', 'sender', 'receiver', 'verdict'];
  const hidden = stalled.length - rows.length;
  return (
    `first to stand still: ${stalled[0]?.verdict ?? ''}\n` +
    formatTable([heading, ...rows]) +
    (hidden > 0 ? `and ${hidden} more; --json has all\n` : '') +
    notes.join('')
  );
}
