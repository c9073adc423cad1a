// `tcpx diag status`: where things stand, from bundles and journals alone.

import { readBootId } from '../../base/boot-id.js';
import { plainText } from '../../base/foreign-text.js';
import { analyze } from '../../diag/analyze.js';
import { BUNDLES_FOLDER, listBundles } from '../../diag/bundle/bundle-folder.js';
import { runFacts } from '../../diag/run-facts.js';
import { formatStatus, type StatusRun, statusPage } from '../../diag/status.js';
import { openJournals } from '../../host/irq/journal.js';
import { openHost } from '../../host/read/open-host.js';
import type { Command, Invocation } from '../command.js';
import { OUT_FLAG } from '../diag-collect.js';
import { ExitCode } from '../exit-code.js';
import { STATE_FLAG, stateFolderOf } from '../irq-host.js';
import { printCode, printJson, printText } from '../print.js';

/** Older ones say little about how things stand. */
const BUNDLES_MAX = 20;

export const diagStatusCommand: Command = {
  name: 'diag status',
  group: 'diagnose',
  summary: 'What works, what was measured, known issues and next steps, from bundles.',
  settings: [],
  flags: [
    OUT_FLAG,
    STATE_FLAG,
    { name: 'markdown', kind: 'boolean', summary: 'One page of Markdown to paste.' },
  ],
  examples: [
    ['diag status', 'Where things stand, by the newest bundles.'],
    ['diag status --markdown', 'The same as a page for a hand-over.'],
  ],
  run(invocation) {
    const page = statusPage({ ...readRuns(invocation), plan: planInForce(invocation) });
    if (invocation.isJson) printJson(page);
    else if (invocation.has('markdown')) printCode(formatStatus(page, true));
    else printText(formatStatus(page, false));
    return Promise.resolve(ExitCode.Good);
  },
};

function readRuns(invocation: Invocation) {
  const runs: StatusRun[] = [];
  const unread: string[] = [];
  const folders = listBundles(invocation.text('out') ?? BUNDLES_FOLDER);
  for (const folder of folders.slice(0, BUNDLES_MAX)) {
    try {
      const facts = runFacts(folder);
      const { begin, end } = facts.run;
      runs.push({
        analysis: analyze(facts),
        label: plainText(begin.label ?? 'run'),
        started: begin.started,
        isGood: end.status === 0,
      });
    } catch (error) {
      unread.push(`${folder}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { runs, unread };
}

/** The policy of the newest apply that has not been undone. */
function planInForce(invocation: Invocation): string | undefined {
  const bootId = readBootId(openHost().files);
  const journals = openJournals(stateFolderOf(invocation), bootId);
  return journals.find(({ state }) => state === 'applied')?.policy;
}
