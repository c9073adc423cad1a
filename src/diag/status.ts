// Where things stand, from bundles alone: what works, what was measured where, known issues, next
// steps, and a checklist. Nothing is claimed that no file shows.

import { type Analysis, isTrouble } from './analyze.js';
import type { Finding } from './rule.js';

export interface StatusRun {
  readonly analysis: Analysis;
  readonly label: string;
  readonly started: string | undefined;
  readonly isGood: boolean;
}

/** What an experiment said. */
export interface StatusDecision {
  readonly path: string;
  /** Of what, on which host, and of which class of evidence. */
  readonly where: string;
  readonly decision: string;
  readonly consequence: string;
}

export interface StatusFacts {
  /** Newest first. */
  readonly runs: readonly StatusRun[];
  /** Of experiments, newest first. */
  readonly decisions: readonly StatusDecision[];
  /** Bundles that could not be read, with the reason. */
  readonly unread: readonly string[];
  /** The plan of interrupts in force; undefined where none is applied. */
  readonly plan: string | undefined;
}

export interface StatusPage {
  readonly schema: 'tcpx.diag-status/1';
  readonly sections: readonly StatusSection[];
}

export interface StatusSection {
  readonly title: string;
  readonly lines: readonly string[];
}

const STEPS_SHOWN = 5;

export function statusPage({ runs, decisions, unread, plan }: StatusFacts): StatusPage {
  const issues = issuesOf(runs);
  const verified = runs.find(isVerified);
  const last = runs[0];
  return {
    schema: 'tcpx.diag-status/1',
    sections: [
      section('What works', runs.filter(({ isGood }) => isGood).map(runLine)),
      section('What was measured where', runs.map(measuredLine)),
      section('Decisions', decisions.map(decisionLine)),
      section('Known issues', [...issues.map(issueLine), ...unread]),
      section('Next steps', [
        ...issues.slice(0, STEPS_SHOWN).map(stepLine),
        ...decisions.slice(0, 1).map(({ consequence }) => consequence),
      ]),
      section('Checklist', [
        check(
          plan === undefined,
          'interrupts as the kernel has them',
          `plan ${plan ?? ''} is applied`,
        ),
        check(
          verified !== undefined,
          `last verified run: ${verified?.analysis.path ?? ''}`,
          'no run whose data was checked',
        ),
        check(last !== undefined, `last bundle: ${last?.analysis.path ?? ''}`, 'no bundle'),
      ]),
    ],
  };
}

function section(title: string, lines: readonly string[]): StatusSection {
  return { title, lines: lines.length === 0 ? ['nothing that a file shows'] : lines };
}

function check(isDone: boolean, done: string, open: string): string {
  return isDone ? `[x] ${done}` : `[ ] ${open}`;
}

function isVerified({ analysis, isGood }: StatusRun): boolean {
  const passed = analysis.findings.some(({ id, status }) => {
    return id === 'run.verified' && status === 'pass';
  });
  return passed && isGood;
}

function whereOf({ analysis, label, started }: StatusRun): string {
  return `${label} on ${analysis.hostname ?? 'a host not named'}, ${started ?? 'time unknown'}`;
}

function runLine(run: StatusRun): string {
  return `${whereOf(run)}: ended well${isVerified(run) ? ', data checked' : ''}`;
}

function measuredLine(run: StatusRun): string {
  return `${whereOf(run)}: ${run.analysis.bandwidth}`;
}

function decisionLine({ where, decision, path }: StatusDecision): string {
  return `${where}: ${decision} (${path})`;
}

interface Issue {
  readonly finding: Finding;
  readonly count: number;
  readonly path: string;
}

/** Each finding once, with the newest run that shows it; in the order of its worth there. */
function issuesOf(runs: readonly StatusRun[]): readonly Issue[] {
  const issues = new Map<string, Issue>();
  for (const { analysis } of runs) {
    for (const finding of analysis.findings.filter(isTrouble)) {
      const known = issues.get(finding.id);
      const count = (known?.count ?? 0) + 1;
      issues.set(
        finding.id,
        known === undefined ? { finding, count, path: analysis.path } : { ...known, count },
      );
    }
  }
  return [...issues.values()];
}

function issueLine({ finding, count, path }: Issue): string {
  const runs = count === 1 ? '1 run' : `${count} runs`;
  return `${finding.id}: ${finding.evidence[0] ?? finding.title} (${runs}, last ${path})`;
}

function stepLine({ finding }: Issue): string {
  return `${finding.remedy} Then: ${finding.experiment ?? finding.proof}`;
}

export function formatStatus({ sections }: StatusPage, isMarkdown: boolean): string {
  const parts = sections.map(({ title, lines }) => {
    const head = isMarkdown ? `## ${title}\n\n` : `${title}\n`;
    const bullet = isMarkdown ? '- ' : '  ';
    // A bundle may come from anybody: its words are no part of the page's own.
    const shown = isMarkdown ? lines.map((line) => line.replaceAll('<', '&lt;')) : lines;
    return `${head}${shown.map((line) => `${bullet}${line}\n`).join('')}`;
  });
  return `${isMarkdown ? '# Status\n\n' : ''}${parts.join('\n')}`;
}
