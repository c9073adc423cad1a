// `tcpx diag analyze`: what a bundle shows, the reason with most to be gained first.

import { resolve } from 'node:path';
import { analyze } from '../../diag/analyze.js';
import { runFacts } from '../../diag/run-facts.js';
import { type Command, usageError } from '../command.js';
import { formatAnalysis } from '../diag-text.js';
import { ExitCode } from '../exit-code.js';
import { printJson, printText } from '../print.js';

export const diagAnalyzeCommand: Command = {
  name: 'diag analyze',
  group: 'diagnose',
  summary: 'What holds a run back, from its bundle; of both ends with two. Exit 1 with findings.',
  positionals: 'BUNDLE [BUNDLE2]',
  positionalsMax: 2,
  settings: [],
  flags: [{ name: 'all', kind: 'boolean', summary: 'Also evidence of what passed.' }],
  examples: [
    ['diag analyze diagnostics/nccl_20251007_120000', 'Reasons, remedies and experiments.'],
    ['diag analyze node1.tgz node2.tgz --json', 'Both ends of one run, for a program.'],
  ],
  run(invocation) {
    const [path, otherPath] = invocation.positionals;
    if (path === undefined) throw usageError(diagAnalyzeCommand, 'name a bundle');
    const first = runFacts(resolve(path), otherPath === undefined ? undefined : resolve(otherPath));
    const analyses = [analyze(first)];
    // The other end is a host of its own.
    if (otherPath !== undefined)
      analyses.push(analyze(runFacts(resolve(otherPath), resolve(path))));
    const ok = analyses.every((one) => one.ok);
    if (invocation.isJson) printJson({ schema: 'tcpx.diag-analyze/1', ok, analyses });
    else for (const one of analyses) printText(formatAnalysis(one, invocation.has('all')));
    return Promise.resolve(ok ? ExitCode.Good : ExitCode.AnswerIsNo);
  },
};
