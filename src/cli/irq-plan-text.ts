// A plan as text for people: one line per NIC, the load per CPU, warnings; each interrupt on wish.

import { formatCpuList } from '../base/cpu-set.js';
import { type CpuSet, isSameSet, unionOf } from '../host/irq/cpu-choice.js';
import { type PlanLoad, runLoad } from '../host/irq/load-placement.js';
import { countedWhen } from '../host/irq/mapping-table.js';
import type { IrqPlan, PlanLine } from '../host/irq/plan.js';
import { WARNING_CODES } from '../host/irq/plan-warning.js';
import { formatTable } from './print.js';
import { formatXps } from './xps-text.js';

const WARNINGS_SHOWN = 12;
const CPUS_SHOWN = 12;

export function formatPlan(plan: IrqPlan, hasVectors: boolean): string {
  const hint = hasVectors ? '' : '; --vectors shows what would be written';
  const host = plan.hostname ?? 'this host';
  const parts = [`policy ${plan.policy} on ${host}: ${plan.lines.length} lines${hint}\n`];
  if (plan.choice !== undefined) parts.push(`why ${plan.policy}: ${plan.choice}\n`);
  if (hasVectors) parts.push(formatLines(plan.lines));
  parts.push(`${formatNics(plan)}application cores: ${cpuText(plan.application)}\n`);
  if (plan.load !== undefined) parts.push(formatLoad(plan.load, hasVectors));
  if (plan.xps !== undefined) parts.push(formatXps(plan.xps, hasVectors));
  parts.push(formatWarnings(plan) + formatUnknowns(plan));
  parts.push(plan.notes.map((note) => `note: ${note}\n`).join(''));
  return parts.join('\n');
}

/** Every command that acts on a plan says what the plan did not know. */
export function formatUnknowns({ unknowns }: IrqPlan): string {
  return unknowns.map((unknown) => `unknown: ${unknown}\n`).join('');
}

function cpuText(cpus: CpuSet): string {
  return formatCpuList(cpus) || '-';
}

function formatLines(lines: readonly PlanLine[]): string {
  const rows = lines.map((line) => [
    String(line.irq),
    line.nic,
    line.queue,
    line.before === undefined ? 'N/A' : formatCpuList(line.before),
    line.value === '' ? '-' : `echo ${line.value} > ${line.path}`,
    line.reason.slice(line.reason.indexOf(': ') + 2),
    [...new Set(line.warnings.map(({ code }) => code))].join(' '),
  ]);
  const heading = ['IRQ', 'NIC', 'queue', 'now', 'would write', 'reason', 'warnings'];
  return formatTable([heading, ...rows]);
}

function formatNics(plan: IrqPlan): string {
  const rows = plan.allocations.map(({ nic, node, tx, rx }) => {
    const lines = plan.lines.filter((line) => line.nic === nic);
    const changed = lines.filter(
      ({ before, cpus }) => before !== undefined && !isSameSet(before, cpus),
    );
    const codes = new Set(lines.flatMap((line) => line.warnings.map(({ code }) => code)));
    return [
      nic,
      node === undefined ? '?' : String(node),
      String(lines.length),
      lines.some(({ before }) => before === undefined) ? 'N/A' : String(changed.length),
      nowText(lines),
      cpuText(unionOf(...lines.map(({ cpus }) => cpus))),
      cpuText(tx),
      cpuText(rx),
      [...codes].join(' '),
    ];
  });
  const cores = ['interrupts now', 'planned', 'TX thread cores', 'RX thread cores'];
  return formatTable([['NIC', 'NUMA', 'lines', 'changed', ...cores, 'warnings'], ...rows]);
}

/** CPUs requested at present; a line that could not be read may be anywhere. */
function nowText(lines: readonly PlanLine[]): string {
  const known = lines.flatMap(({ before }) => (before === undefined ? [] : [before]));
  if (known.length === 0) return lines.length === 0 ? '-' : 'N/A';
  const text = cpuText(unionOf(...known));
  return known.length < lines.length ? `${text} and N/A` : text;
}

function formatLoad(load: PlanLoad, isLong: boolean): string {
  const byWeight = [...load.cpus].sort(
    (a, b) => Math.max(b.now, b.planned) - Math.max(a.now, a.planned) || a.cpu - b.cpu,
  );
  const shown = isLong ? load.cpus : byWeight.slice(0, CPUS_SHOWN);
  const hidden = load.cpus.length - shown.length;
  const rows = shown.map(({ cpu, now, planned, staying }) =>
    [`CPU ${cpu}`, now, planned, staying].map(String),
  );
  const run = runLoad(load);
  const when = `${countedWhen(run)}${run === undefined ? '' : `; ${run.source}`}`;
  return (
    `interrupts of these NICs per CPU (${when})\n` +
    formatTable([
      ['', run === undefined ? 'now' : 'in the run', 'planned', 'of others, staying'],
      ['busiest', String(load.busiestNow), String(load.busiestPlanned)],
      ...rows,
    ]) +
    (hidden > 0 ? `and ${hidden} CPUs with less; --vectors shows all\n` : '')
  );
}

function formatWarnings(plan: IrqPlan): string {
  const whole = plan.warnings.map(({ code, text }) => `  ${code}: ${text}\n`);
  const folded = new Map<string, FoldedWarning>();
  for (const line of plan.lines) {
    for (const { code, text, cpus = [], what = text } of line.warnings) {
      const key = `${code}: ${line.nic} ${what}`;
      const old = folded.get(key) ?? { head: `${code}: ${line.nic}`, what, cpus: [], count: 0 };
      folded.set(key, { ...old, cpus: unionOf(old.cpus, cpus), count: old.count + 1 });
    }
  }
  const all = [...plan.warnings, ...plan.lines.flatMap((line) => line.warnings)];
  const found = new Set(all.map(({ code }) => code));
  if (found.size === 0) return 'no warnings\n';
  const meanings = [...found].map((code) => `  ${code} = ${WARNING_CODES[code]}\n`);
  const lines = [...folded.values()].slice(0, WARNINGS_SHOWN).map(foldedText);
  const hidden = folded.size - WARNINGS_SHOWN;
  const rest = hidden > 0 ? `  and ${hidden} more; --json has all\n` : '';
  return `warnings:\n${whole.join('')}${lines.join('')}${rest}${meanings.join('')}`;
}

/** Warnings of one NIC that differ in their CPUs alone. */
interface FoldedWarning {
  readonly head: string;
  readonly what: string;
  readonly cpus: CpuSet;
  readonly count: number;
}

function foldedText({ head, what, cpus, count }: FoldedWarning): string {
  const list = cpus.length === 0 ? '' : `${formatCpuList(cpus)} `;
  return `  ${head} ${list}${what} (${count === 1 ? '1 line' : `${count} lines`})\n`;
}
