// `tcpx bench diff FIRST SECOND`: whether the second is slower.

import { formatComparison } from '../bench-diff-text.js';
import { openStore } from '../bench-runs.js';
import { type Command, usageError } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { printJson, printText } from '../print.js';

const MARGIN_PERCENT = 5;

export const benchDiffCommand: Command = {
  name: 'bench diff',
  group: 'measure',
  summary: 'Whether one result is slower than another: same, slower, faster or undecided.',
  positionals: 'FIRST SECOND',
  positionalsMax: 2,
  settings: ['bench.storeDir'],
  flags: [
    {
      name: 'margin',
      kind: 'text',
      value: 'PERCENT',
      summary: `Changes below this are none; default ${MARGIN_PERCENT}.`,
    },
  ],
  examples: [
    ['bench diff before latest', 'The newest result against the baseline of that name.'],
    ['bench diff latest~1 latest --margin 2', 'The last two; exit code 1 where slower.'],
    ['bench diff a.json b.json,c.json,d.json', 'Documents of --json, three on one side.'],
  ],
  async run(invocation) {
    const [first, second] = invocation.positionals;
    if (first === undefined || second === undefined) {
      throw usageError(benchDiffCommand, 'which two? latest, latest~1, an id, a name or a file');
    }
    const text = invocation.text('margin') ?? String(MARGIN_PERCENT);
    const percent = Number(text);
    if (!(percent > 0 && percent < 100)) {
      throw usageError(benchDiffCommand, `--margin ${text}: a percentage between 0 and 100`);
    }
    const { compareRuns } = await import('../../bench/runs-comparison.js');
    const store = await openStore(invocation);
    const comparison = compareRuns(store.find(first), store.find(second), percent / 100);
    const { verdict } = comparison.speed;
    const ok = verdict !== 'slower';
    if (invocation.isJson) printJson({ schema: 'tcpx.bench-diff/1', ok, verdict, ...comparison });
    else printText(formatComparison(comparison));
    return ok ? ExitCode.Good : ExitCode.AnswerIsNo;
  },
};
