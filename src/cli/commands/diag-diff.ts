// `tcpx diag diff A B`: two runs side by side.

import { resolve } from 'node:path';
import { diffRuns } from '../../diag/run-difference.js';
import { openRunView } from '../../diag/view/run-view.js';
import { type Command, usageError } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { formatTable, printJson, printText } from '../print.js';

export const diagDiffCommand: Command = {
  name: 'diag diff',
  group: 'diagnose',
  summary: 'Two runs side by side: bandwidth, CPUs, interrupts, threads, variables.',
  positionals: 'A B',
  positionalsMax: 2,
  settings: [],
  examples: [
    ['diag diff nccl_20251007_120000 bench_20251007_121500', 'NCCL against our own run.'],
    ['diag diff before after --json', 'The same for a program.'],
  ],
  run(invocation) {
    const [pathA, pathB] = invocation.positionals;
    if (pathA === undefined || pathB === undefined) {
      throw usageError(diagDiffCommand, 'name two bundles');
    }
    const difference = diffRuns(openRunView(resolve(pathA)), openRunView(resolve(pathB)));
    if (invocation.isJson) printJson(difference);
    else {
      const rows = difference.rows.map(({ what, a, b, percent }) => [
        ...[what, a, b, percent === undefined ? '' : `${percent.toFixed(1)} %`],
      ]);
      printText(formatTable([['', 'A', 'B', 'B to A'], ...rows]));
      const variables = difference.variables.map(({ name, left, right, weight }) => [
        ...[name, left ?? 'not set', right ?? 'not set', weight],
      ]);
      if (variables.length > 0) printText(formatTable([['variable', 'A', 'B', ''], ...variables]));
    }
    return Promise.resolve(ExitCode.Good);
  },
};
