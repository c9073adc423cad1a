// Binding interrupts by a plan and putting them back, as the irq commands do both: checked first,
// written all or none, recorded in a journal below the state folder.

import { TcpxError, toTcpxError } from '../base/errors.js';
import { makeFolder } from '../base/make-folder.js';
import { affinityFolder } from '../host/irq/affinity-store.js';
import { type ApplyReport, applyPlan } from '../host/irq/apply.js';
import { type IrqJournal, openJournals, saveJournal, timeStamp } from '../host/irq/journal.js';
import type { IrqPlan } from '../host/irq/plan.js';
import { type RollbackLine, rollBack } from '../host/irq/rollback.js';
import { restoreXps, type XpsOutcome, xpsFolder } from '../host/irq/xps-store.js';
import type { Invocation, OwnFlag } from './command.js';
import { checkBeforeApply } from './irq-checks.js';
import type { IrqHost } from './irq-host.js';
import { formatProblems } from './irq-text.js';
import { printNote } from './print.js';

/** What the checks before binding can be told to overlook. */
export const BIND_FLAGS: readonly OwnFlag[] = [
  { name: 'no-baseline', kind: 'boolean', summary: 'Do not ask for a recorded baseline.' },
  {
    name: 'ignore-irqbalance',
    kind: 'boolean',
    summary: 'Bind although irqbalance runs and will undo it.',
    isAdvanced: true,
  },
];

export interface Binding {
  readonly time: Date;
  /** Of the journal. */
  readonly id: string;
  readonly report: ApplyReport;
}

export function bindByPlan(
  invocation: Invocation,
  host: IrqHost,
  plan: IrqPlan,
  skipRefused: boolean,
): Binding {
  const store = affinityFolder(host.root);
  checkBeforeApply(invocation, host, plan, store);
  const time = new Date();
  const id = timeStamp(time);
  makeStateFolder(host.stateFolder);
  const report = applyPlan(plan, store, {
    id,
    bootId: host.bootId,
    skipRefused,
    xps: xpsFolder(host.root),
    save: (journal) => saveJournal(host.stateFolder, journal),
  });
  return { time, id, report };
}

function makeStateFolder(folder: string): void {
  try {
    makeFolder(folder);
  } catch (error) {
    throw toTcpxError(error, 'ERR_CAP_PERMISSION', `make state folder ${folder}`);
  }
}

export interface Undoing {
  readonly id: string;
  readonly state: IrqJournal['state'];
  readonly lines: readonly RollbackLine[];
  /** Send queues whose masks are back, and what did not come back. */
  readonly xps: XpsOutcome;
}

/** Puts back what a journal recorded, and records that. */
export function undoJournal(journal: IrqJournal, host: IrqHost): Undoing {
  const lines = rollBack(journal, host.model.nics, affinityFolder(host.root));
  const xps = restoreXps(journal.xps ?? [], xpsFolder(host.root));
  const isDone = lines.every(({ outcome }) => outcome !== 'failed') && xps.problems.length === 0;
  const state = isDone ? 'rolled-back' : 'restore-failed';
  saveJournal(host.stateFolder, { ...journal, state });
  return { id: journal.id, state, lines, xps };
}

/** For as long as a run lasts: all of it, or an error. Returns the journal's id. */
export function bindForRun(invocation: Invocation, host: IrqHost, plan: IrqPlan): string {
  const { id, report } = bindByPlan(invocation, host, plan, false);
  if (report.outcome === 'applied') {
    printNote(`bound ${report.entries.length} interrupts for this run`);
    return id;
  }
  const problems = [...report.refusals, ...(report.failure === undefined ? [] : [report.failure])];
  throw new TcpxError(
    'ERR_SYS_CALL',
    `bind interrupts: ${report.outcome}\n${formatProblems(problems)}`,
  );
}

export function unbindAfterRun(host: IrqHost, id: string): void {
  const journal = openJournals(host.stateFolder, host.bootId).find(
    (candidate) => candidate.id === id,
  );
  if (journal === undefined) return;
  const { state, lines } = undoJournal(journal, host);
  const isDone = state === 'rolled-back';
  printNote(isDone ? `put back ${lines.length} interrupts` : 'some interrupts are NOT as before');
}
