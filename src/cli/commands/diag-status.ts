// `tcpx diag status`: where things stand, from bundles, experiments and journals alone.

import { readBootId } from '../../base/boot-id.js';
import { plainText } from '../../base/foreign-text.js';
import { analyze } from '../../diag/analyze.js';
import { BUNDLES_FOLDER, listBundles } from '../../diag/bundle/bundle-folder.js';
import { runFacts } from '../../diag/run-facts.js';
import {
  formatStatus,
  type StatusDecision,
  type StatusRun,
  statusPage,
} from '../../diag/status.js';
import { EXPERIMENTS_FOLDER, listExperiments, loadRecord } from '../../experiment/record.js';
import { experimentResults } from '../../experiment/results.js';
import { openJournals } from '../../host/irq/journal.js';
import { openHost } from '../../host/read/open-host.js';
import type { Command, Invocation } from '../command.js';
import { OUT_FLAG } from '../diag-collect.js';
import { ExitCode } from '../exit-code.js';
import { STATE_FLAG, stateFolderOf } from '../irq-host.js';
import { printCode, printJson, printText } from '../print.js';

/** Older ones say little about how things stand. */
const BUNDLES_MAX = 20;
const EXPERIMENTS_MAX = 5;

export const diagStatusCommand: Command = {
  name: 'diag status',
  group: 'diagnose',
  summary: 'What works, what was measured, decisions, known issues and next steps.',
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
    const { runs, unread } = readRuns(invocation);
    const experiments = readDecisions();
    const page = statusPage({
      runs,
      decisions: experiments.decisions,
      unread: [...unread, ...experiments.unread],
      plan: planInForce(invocation),
    });
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

function readDecisions() {
  const decisions: StatusDecision[] = [];
  const unread: string[] = [];
  for (const path of listExperiments(EXPERIMENTS_FOLDER).slice(0, EXPERIMENTS_MAX)) {
    try {
      const { decision, ...results } = experimentResults(loadRecord(path), [], undefined);
      const { name, hostname, evidence, state } = results;
      const about = `${name} on ${hostname}, ${evidence}${state === 'done' ? '' : `, ${state}`}`;
      decisions.push({
        path,
        where: plainText(about),
        decision: plainText(`${decision.outcome}, ${decision.reason}`),
        consequence: decision.consequence,
      });
    } catch (error) {
      unread.push(`${path}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { decisions, unread };
}

/** The policy of the newest apply that has not been undone. */
function planInForce(invocation: Invocation): string | undefined {
  const bootId = readBootId(openHost().files);
  const journals = openJournals(stateFolderOf(invocation), bootId);
  return journals.find(({ state }) => state === 'applied')?.policy;
}
