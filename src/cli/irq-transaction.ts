// Binding interrupts by a plan and putting them back, as the irq commands do both: checked first,
// written all or none, recorded in a journal below the state folder.

import { toTcpxError } from '../base/errors.js';
import { makeFolder } from '../host/capture/make-folder.js';
import { affinityFolder } from '../host/irq/affinity-store.js';
import { type ApplyReport, applyPlan } from '../host/irq/apply.js';
import { type IrqJournal, saveJournal, timeStamp } from '../host/irq/journal.js';
import type { IrqPlan } from '../host/irq/plan.js';
import { type RollbackLine, rollBack } from '../host/irq/rollback.js';
import { restoreXps, type XpsOutcome, xpsFolder } from '../host/irq/xps-store.js';
import type { Invocation, OwnFlag } from './command.js';
import { checkBeforeApply } from './irq-checks.js';
import type { IrqHost } from './irq-host.js';

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
