// Plans, verdicts and mappings as text for people.

import { formatCpuList } from '../base/cpu-set.js';
import type { ApplyReport, LineProblem } from '../host/irq/apply.js';
import { MAPPING_COLUMNS, mappingCells, type MappingRow } from '../host/irq/mapping-table.js';
import type { IrqPlan } from '../host/irq/plan.js';
import { WARNING_CODES, type WarningCode } from '../host/irq/plan-warning.js';
import { STRATEGIES } from '../host/irq/strategy.js';
import type { LineVerdict } from '../host/irq/verify.js';
import { LINE_STATES, type LineState } from '../host/irq/verify.js';
import { formatTable } from './print.js';

export function formatMapping(rows: readonly MappingRow[]): string {
  return formatTable([MAPPING_COLUMNS, ...rows.map(mappingCells)]);
}

export function formatPlan(plan: IrqPlan): string {
  const rows = plan.lines.map((line) => [
    String(line.irq),
    line.nic,
    line.queue,
    line.before === undefined ? 'N/A' : formatCpuList(line.before),
    `echo ${line.value} > ${line.path}`,
    line.reason.slice(line.reason.indexOf(': ') + 2),
    [...new Set(line.warnings.map(({ code }) => code))].join(' '),
  ]);
  const heading = ['IRQ', 'NIC', 'queue', 'now', 'would write', 'reason', 'warnings'];
  return (
    `policy ${plan.policy} on ${plan.hostname ?? 'this host'}: ${plan.lines.length} lines\n\n` +
    `${formatTable([heading, ...rows])}\n${formatAllocations(plan)}${formatWarnings(plan)}` +
    plan.notes.map((note) => `note: ${note}\n`).join('')
  );
}

function formatAllocations(plan: IrqPlan): string {
  const list = (cpus: readonly number[]) => formatCpuList(cpus) || '-';
  const rows = plan.allocations.map(({ nic, node, tx, rx, irq }) => [
    nic,
    node === undefined ? '?' : String(node),
    list(tx),
    list(rx),
    list(irq),
  ]);
  const heading = ['NIC', 'NUMA', 'TX thread cores', 'RX thread cores', 'interrupt cores'];
  const application = list(plan.application);
  return `${formatTable([heading, ...rows])}application cores: ${application}\n`;
}

function formatWarnings(plan: IrqPlan): string {
  const byText = new Map<string, number>();
  for (const line of plan.lines) {
    for (const { code, text } of line.warnings) {
      const key = `${code}: ${line.nic} ${text}`;
      byText.set(key, (byText.get(key) ?? 0) + 1);
    }
  }
  const found = new Set(plan.lines.flatMap((line) => line.warnings.map(({ code }) => code)));
  if (found.size === 0) return 'no warnings\n';
  const meanings = [...found].map((code: WarningCode) => `  ${code} = ${WARNING_CODES[code]}\n`);
  const lines = [...byText]
    .slice(0, WARNINGS_SHOWN)
    .map(([text, count]) => `  ${text} (${count === 1 ? '1 line' : `${count} lines`})\n`);
  const hidden = byText.size - WARNINGS_SHOWN;
  const rest = hidden > 0 ? `  and ${hidden} more; --json has all\n` : '';
  return `warnings:\n${lines.join('')}${rest}${meanings.join('')}`;
}

const WARNINGS_SHOWN = 12;

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
