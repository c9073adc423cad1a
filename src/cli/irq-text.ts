// Plans, verdicts and mappings as text for people.

import { formatCpuList } from '../base/cpu-set.js';
import type { ApplyReport, LineProblem } from '../host/irq/apply.js';
import {
  type MappingRow,
  mappingCells,
  mappingColumns,
  type ObservedRun,
} from '../host/irq/mapping-table.js';
import type { IrqPlan } from '../host/irq/plan.js';
import { STRATEGIES } from '../host/irq/strategy.js';
import type { LineVerdict } from '../host/irq/verify.js';
import { LINE_STATES, type LineState } from '../host/irq/verify.js';
import { formatTable } from './print.js';

export function formatMapping(rows: readonly MappingRow[], run: ObservedRun | undefined): string {
  return formatTable([mappingColumns(run), ...rows.map(mappingCells)]);
}

export function formatStrategies(): string {
  return STRATEGIES.map(
    (strategy) =>
      `Option ${strategy.option}: ${strategy.title}` +
      `${strategy.isRecommended ? ' (recommended first)' : ''}\n` +
      `  how:  ${strategy.how}\n  when: ${strategy.when}\n  cost: ${strategy.cost}\n` +
      strategy.commands.map((command) => `    ${command}\n`).join(''),
  ).join('\n');
}

export function formatProblems(problems: readonly LineProblem[]): string {
  return problems
    .map(
      ({ irq, nic, queue, errno, text }) => `  IRQ ${irq} (${nic} ${queue}): ${errno}, ${text}\n`,
    )
    .join('');
}

/** The log of an apply: every line before and after. */
export function formatApplyLog(report: ApplyReport, plan: IrqPlan, time: string): string {
  const maskByIrq = new Map(plan.lines.map((line) => [line.irq, line.mask]));
  const rows = report.entries.map((entry) => [
    String(entry.irq),
    entry.nic,
    entry.queue,
    entry.before,
    entry.after ?? entry.before,
    maskByIrq.get(entry.irq) ?? '-',
  ]);
  return (
    `# ${time} host ${plan.hostname ?? '?'} policy ${plan.policy} outcome ${report.outcome}\n` +
    formatTable([['IRQ', 'NIC', 'queue', 'before', 'after', 'planned mask'], ...rows]) +
    formatProblems(report.refusals)
  );
}

export function formatVerdicts(verdicts: readonly LineVerdict[]): string {
  const list = (cpus: readonly number[] | undefined) =>
    cpus === undefined ? 'N/A' : formatCpuList(cpus) || '-';
  const rows = verdicts.map((verdict) => [
    String(verdict.irq),
    verdict.nic,
    verdict.queue,
    list(verdict.planned),
    list(verdict.requested),
    list(verdict.effective),
    verdict.onPlan === undefined ? '-' : String(verdict.onPlan),
    verdict.offPlan === undefined ? '-' : String(verdict.offPlan),
    verdict.state,
  ]);
  const heading = ['IRQ', 'NIC', 'queue', 'planned', 'requested', 'effective'];
  const states = [...new Set(verdicts.map(({ state }) => state))];
  const counted = (state: LineState) => verdicts.filter((v) => v.state === state).length;
  return (
    formatTable([[...heading, 'on plan', 'elsewhere', 'state'], ...rows]) +
    states.map((state) => `${counted(state)} ${state}: ${LINE_STATES[state]}\n`).join('')
  );
}
