// `tcpx irq apply`: writes a plan as one transaction. Wants root and a recorded baseline, refuses
// while irqbalance would undo it, keeps a journal for rollback and a log with before and after.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ApplyReport, isPermission } from '../../host/irq/apply.js';
import { appliedPlanPath, saveDocument } from '../../host/irq/journal.js';
import type { IrqPlan } from '../../host/irq/plan.js';
import type { Command, Invocation } from '../command.js';
import { ExitCode } from '../exit-code.js';
import {
  type IrqHost,
  openIrqHost,
  PLAN_FLAGS,
  planFor,
  ROOT_FLAG,
  STATE_FLAG,
} from '../irq-host.js';
import { formatApplyLog, formatProblems } from '../irq-text.js';
import { BIND_FLAGS, bindByPlan } from '../irq-transaction.js';
import { printJson, printNote, printText } from '../print.js';

export const irqApplyCommand: Command = {
  name: 'irq apply',
  group: 'interrupts',
  summary: 'Bind interrupts as planned, all or none; needs root.',
  settings: ['session.nics', 'flow.channels'],
  flags: [
    ROOT_FLAG,
    STATE_FLAG,
    ...PLAN_FLAGS,
    ...BIND_FLAGS,
    { name: 'skip-refused', kind: 'boolean', summary: 'Leave out interrupts that cannot move.' },
  ],
  examples: [
    ['irq apply --policy nccl', 'Binds, all or none, and says how to undo it.'],
    [
      'irq apply --plan plan.json --no-baseline',
      'A saved plan, without a measurement from before.',
    ],
  ],
  run(invocation) {
    const host = openIrqHost(invocation);
    const plan = planFor(invocation, host.model);
    return Promise.resolve(transact(invocation, host, plan));
  },
};

function transact(invocation: Invocation, host: IrqHost, plan: IrqPlan): ExitCode {
  const skipRefused = invocation.has('skip-refused');
  const { time, id, report } = bindByPlan(invocation, host, plan, skipRefused);
  const name = `irq-apply_${plan.hostname ?? 'host'}_${id.slice(0, 15)}.log`;
  const logPath = join(host.stateFolder, name);
  writeLog(logPath, formatApplyLog(report, plan, time.toISOString()));
  if (report.outcome === 'applied') {
    saveDocument(appliedPlanPath(host.stateFolder, id), host.stateFolder, plan);
  }
  if (invocation.isJson) printJson({ schema: 'tcpx.irq-apply/1', id, logPath, ...report });
  else printReport(report, logPath);
  const isDenied = report.outcome === 'refused' && report.refusals.some(isPermission);
  if (isDenied) return ExitCode.Environment;
  return report.outcome === 'applied' ? ExitCode.Good : ExitCode.RunTime;
}

// The bindings hold and the journal is saved: a log that cannot be written is told, no more.
function writeLog(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (error) {
    printNote(`log ${path} could not be written: ${String(error)}`);
  }
}

function printReport(report: ApplyReport, logPath: string): void {
  const { outcome, entries, refusals, failure, unrestored, xps, xpsProblems } = report;
  if (outcome === 'applied') {
    const queues = xps.length === 0 ? '' : ` and XPS of ${xps.length} send queues`;
    printText(
      `applied ${entries.length} lines${queues}; undo: tcpx irq rollback; check: tcpx irq verify`,
    );
    if (refusals.length > 0) printText(`left out:\n${formatProblems(refusals)}`);
  } else if (outcome === 'refused') {
    printText(`refused, nothing was changed:\n${formatProblems(refusals)}`);
    if (refusals.length > 0) printText('pass --skip-refused to leave out those that cannot move');
  } else {
    printText(`failed:\n${formatProblems(failure === undefined ? [] : [failure])}`);
    const lost = formatProblems(unrestored);
    printText(lost === '' ? 'every line was put back' : `could not be put back:\n${lost}`);
  }
  for (const problem of xpsProblems) printText(`XPS ${problem}`);
  if (xpsProblems.length > 0) printText('pass --no-xps to leave the send queues as they are');
  printText(`before and after: ${logPath}`);
}
