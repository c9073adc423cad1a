// `tcpx experiment report DIR [AFTER]`: the page of an experiment, whole or so far.

import { join } from 'node:path';
import { loadRecord } from '../../experiment/record.js';
import { RESULTS_FILE, resultsPage } from '../../experiment/results-page.js';
import { saveText } from '../bench-sweep-text.js';
import { type Command, usageError } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { REFERENCE_FLAG, resultsOf, traceLines } from '../experiment-results.js';
import { formatResults } from '../experiment-text.js';
import { printJson, printNote, printText } from '../print.js';

export const experimentReportCommand: Command = {
  name: 'experiment report',
  group: 'diagnose',
  summary: `Write ${RESULTS_FILE} for an experiment: tables, decision, gap, lessons.`,
  positionals: 'DIR [AFTER]',
  positionalsMax: 2,
  settings: [],
  flags: [
    {
      name: 'output',
      kind: 'text',
      value: 'FILE',
      summary: `Where the page goes; default DIR/${RESULTS_FILE}.`,
    },
    REFERENCE_FLAG,
  ],
  examples: [
    ['experiment report experiments/irq-binding_TIME', 'Writes the page into that folder.'],
    ['experiment report before/ after/', 'Counters before and after a fix on one page.'],
  ],
  run(invocation) {
    const [folder, afterFolder] = invocation.positionals;
    if (folder === undefined) throw usageError(experimentReportCommand, 'name an experiment');
    const record = loadRecord(folder);
    const after = afterFolder === undefined ? undefined : loadRecord(afterFolder);
    const results = resultsOf(experimentReportCommand, invocation, folder, record);
    const path = invocation.text('output') ?? join(folder, RESULTS_FILE);
    saveText(path, resultsPage(results, record, { traces: traceLines(folder, record), after }));
    if (invocation.isJson) printJson({ ...results, path });
    else printText(formatResults(results));
    printNote(`page: ${path}`);
    return Promise.resolve(ExitCode.Good);
  },
};
