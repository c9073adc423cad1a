// What must hold before interrupts are bound: a folder that can be written, no half-done apply, a
// baseline, nobody who undoes it. Each check throws the error that the command ends with.

import { statSync } from 'node:fs';
import { TcpxError } from '../base/errors.js';
import { readFlatParts } from '../host/flat/open-flat.js';
import { type AffinityStore, errnoOf } from '../host/irq/affinity-store.js';
import { baselineProblem } from '../host/irq/baseline.js';
import { judgeWriters } from '../host/irq/competing-writer.js';
import { openJournals } from '../host/irq/journal.js';
import type { IrqPlan } from '../host/irq/plan.js';
import type { Invocation } from './command.js';
import type { IrqHost } from './irq-host.js';
import { printNote } from './print.js';

/** All of them, in the order in which a person can act on them. */
export function checkBeforeApply(
  invocation: Invocation,
  host: IrqHost,
  plan: IrqPlan,
  store: AffinityStore,
): void {
  checkRoot(host.root);
  checkLines(plan);
  checkPermission(plan, store);
  checkJournals(host);
  checkBaseline(invocation, host);
  checkWriters(invocation, host, plan);
}

export function checkRoot(root: string): void {
  if (root !== '/' && readFlatParts(root) !== undefined) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', `root ${root}: a bundle cannot be written to`);
  }
  if (statSync(root).isDirectory()) return;
  throw new TcpxError('ERR_USAGE_ARGUMENT', `root ${root}: a capture file cannot be written to`);
}

/** An apply that died midway leaves lines of two plans: they are put back before anything else. */
function checkJournals({ stateFolder, bootId }: IrqHost): void {
  const broken = openJournals(stateFolder, bootId).find(({ state }) => state !== 'applied');
  if (broken === undefined) return;
  throw new TcpxError(
    'ERR_USAGE_STATE',
    `apply ${broken.id} ended in state ${broken.state}: run tcpx irq rollback first`,
  );
}

function checkPermission(plan: IrqPlan, store: AffinityStore): void {
  for (const { irq, path } of plan.lines) {
    try {
      store.probe(irq);
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === 'EACCES' || errno === 'EROFS') throw permissionError(path, errno);
    }
  }
}

function permissionError(path: string, errno: string): TcpxError {
  const guidance =
    errno === 'EROFS'
      ? '/proc/irq is read-only here, as in most containers: apply on the host itself'
      : 'run it with sudo, or let the service of examples/tcpx-irq.service apply a saved plan';
  return new TcpxError(
    'ERR_CAP_PERMISSION',
    `open ${path} for writing: ${errno}; nothing was written. Binding interrupts needs root: ` +
      guidance,
    { facts: { path, errno } },
  );
}

function checkBaseline(invocation: Invocation, host: IrqHost): void {
  if (invocation.has('no-baseline')) return;
  const problem = baselineProblem(host.stateFolder, host.model.hostname);
  if (problem === undefined) return;
  throw new TcpxError(
    'ERR_CAP_BASELINE',
    `${problem}: measure before changing. Run the benchmark three times with --json, record the ` +
      'results with tcpx irq baseline FILE..., or pass --no-baseline',
  );
}

function checkWriters(invocation: Invocation, host: IrqHost, plan: IrqPlan): void {
  const driverOf = (nic: string) => host.model.nics.find(({ name }) => name === nic)?.driver;
  const verdict = judgeWriters(plan.lines, host.model.writers, driverOf);
  for (const note of verdict.notes) printNote(`note: ${note}`);
  if (verdict.endangered.length === 0 || invocation.has('ignore-irqbalance')) return;
  const { certainty, endangered, remedies } = verdict;
  throw new TcpxError(
    'ERR_CAP_IRQBALANCE',
    `irqbalance runs and ${certainty} overwrite ${endangered.length} of ${plan.lines.length} ` +
      `lines within seconds; ${remedies.join('; ')}; or pass --ignore-irqbalance`,
  );
}

function checkLines(plan: IrqPlan): void {
  const empty = plan.lines.find((line) => line.value === '');
  if (plan.lines.length > 0 && empty === undefined) return;
  const what =
    empty === undefined ? 'the plan has no line' : `IRQ ${empty.irq} would get no CPU at all`;
  throw new TcpxError('ERR_USAGE_ARGUMENT', `irq apply: ${what}`);
}
