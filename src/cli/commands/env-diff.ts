// `tcpx env diff A B`: two environments compared, each difference with its meaning. A side is a
// file of NAME=value lines, `pid:N` for a running process, or `self` for this one.

import { diffEnvironments, type EnvironmentDifference } from '../../host/environment/difference.js';
import type { EnvironmentValues } from '../../host/environment/preset.js';
import { type Command, usageError } from '../command.js';
import { environmentOfFile, environmentOfProcess, ownEnvironment } from '../environment-source.js';
import { ExitCode } from '../exit-code.js';
import { ROOT_FLAG, rootOf } from '../irq-host.js';
import { printJson, printText } from '../print.js';

export const envDiffCommand: Command = {
  name: 'env diff',
  group: 'settings',
  summary: 'Compare two environments: files, pid:N, or self.',
  positionals: 'A B',
  positionalsMax: 2,
  settings: [],
  flags: [ROOT_FLAG],
  examples: [
    ['env diff good.env pid:4711', 'A file against a running process.'],
    ['env diff self good.env --json', 'This shell against a file, as JSON.'],
  ],
  run(invocation) {
    const [left, right] = invocation.positionals;
    if (left === undefined || right === undefined) {
      throw usageError(envDiffCommand, 'needs two environments');
    }
    const root = rootOf(invocation);
    const differences = diffEnvironments(readSide(left, root), readSide(right, root));
    if (invocation.isJson) printJson({ schema: 'tcpx.env-diff/1', left, right, differences });
    else printText(formatDifferences(differences, left, right));
    return Promise.resolve(differences.length === 0 ? ExitCode.Good : ExitCode.AnswerIsNo);
  },
};

function readSide(side: string, root: string): EnvironmentValues {
  if (side === 'self') return ownEnvironment();
  const pid = /^pid:(\d+)$/.exec(side)?.[1];
  return pid === undefined ? environmentOfFile(side) : environmentOfProcess(root, pid);
}

function formatDifferences(
  differences: readonly EnvironmentDifference[],
  left: string,
  right: string,
): string {
  if (differences.length === 0) return `no difference between ${left} and ${right}\n`;
  const blocks = differences.map(
    ({ name, weight, meaning, problems, ...values }) =>
      `${name} (${weight})\n  ${left}: ${values.left ?? '(not set)'}\n` +
      `  ${right}: ${values.right ?? '(not set)'}\n  ${meaning}\n` +
      problems.map((problem) => `  PROBLEM: ${problem}\n`).join(''),
  );
  return `${blocks.join('')}${differences.length} difference(s)\n`;
}
