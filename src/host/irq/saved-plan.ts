// A plan from a file, put on the host as it is now: vectors are found again by PCI address and
// index, since interrupt numbers may differ after a boot or a reset.

import { readFileSync } from 'node:fs';
import { formatCpuList, parseCpuMask } from '../../base/cpu-set.js';
import { TcpxError } from '../../base/errors.js';
import type { HostModel, Nic } from '../read/model.js';
import { differenceOf, isSameSet, unionOf } from './cpu-choice.js';
import { currentIrq } from './known-vector.js';
import {
  affinityPath,
  IRQ_PLAN_SCHEMA,
  type IrqPlan,
  type PlanLine,
  queueVectors,
} from './plan.js';
import type { XpsLine } from './xps-plan.js';

export function loadPlan(path: string): IrqPlan {
  let document: unknown;
  try {
    document = JSON.parse(readFileSync(path, 'utf8')) as unknown; // checked: line by line
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TcpxError('ERR_USAGE_ARGUMENT', `plan ${path}: ${reason}`, { cause: error });
  }
  return requirePlan(document, path);
}

/** `path`: of the file that holds it. */
export function requirePlan(value: unknown, path: string): IrqPlan {
  const document = Object(value) as Partial<IrqPlan>; // checked: by schema and line by line
  const hasParts = Array.isArray(document.allocations) && typeof document.txBindings === 'string';
  if (
    document.schema !== IRQ_PLAN_SCHEMA ||
    !hasParts ||
    !isLineList(document.lines) ||
    !isXpsList(document.xps)
  ) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', `plan ${path}: not a plan (${IRQ_PLAN_SCHEMA})`);
  }
  return {
    ...document,
    warnings: document.warnings ?? [],
    unknowns: document.unknowns ?? [],
  } as IrqPlan;
}

// The values are written to the kernel as root: their shape is checked before anything else.
function isLineList(lines: unknown): lines is readonly PlanLine[] {
  if (!Array.isArray(lines)) return false;
  return lines.every((line: Partial<PlanLine>) => {
    const isNumbered = Number.isInteger(line.irq) && (line.irq ?? -1) >= 0;
    const cpus = Array.isArray(line.cpus) && line.cpus.every(Number.isInteger) ? line.cpus : [];
    const isConsistent = line.value !== '' && line.value === formatCpuList(cpus);
    return isNumbered && isConsistent && typeof line.nic === 'string';
  });
}

// An interface's name becomes a part of a path that root writes to.
function isXpsList(lines: unknown): boolean {
  if (lines === undefined) return true;
  if (!Array.isArray(lines)) return false;
  return lines.every(({ nic, queue, value, cpus }: Partial<XpsLine>) => {
    const isNamed = typeof nic === 'string' && /^(?!\.{1,2}$)[^/\s]{1,15}$/.test(nic);
    const isNumbered = Number.isInteger(queue) && (queue ?? -1) >= 0;
    const mask = typeof value === 'string' ? parseCpuMask(value) : undefined;
    return isNamed && isNumbered && mask !== undefined && isSameSet(mask, cpus ?? [-1]);
  });
}

export interface RebasedPlan {
  readonly plan: IrqPlan;
  /** Lines whose vector has another number now, as text. */
  readonly moved: readonly string[];
}

export function rebasePlan(
  plan: IrqPlan,
  nics: readonly Nic[],
  hostname: string | undefined,
  onMissing: 'refuse' | 'keep' = 'refuse',
): RebasedPlan {
  if (plan.hostname !== hostname) {
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `the plan was made for host ${plan.hostname ?? '?'}, this host is ${hostname ?? '?'}`,
    );
  }
  const moved: string[] = [];
  const lines = plan.lines.map((line) => {
    const irq = currentIrq(line, nics) ?? missing(line, onMissing);
    if (irq === line.irq) return line;
    moved.push(`${line.nic} ${line.queue}: IRQ ${line.irq} is now ${irq}`);
    return { ...line, irq, path: affinityPath(irq) };
  });
  return { plan: { ...plan, lines }, moved };
}

/**
 * The plan under the numbers that its interrupts have now; an error where it would no longer bind
 * just the same: another host, a vector more or less, a CPU that is offline.
 */
export function samePlan(
  plan: IrqPlan,
  { nics, hostname, cpus }: Pick<HostModel, 'nics' | 'hostname' | 'cpus'>,
): IrqPlan {
  const { plan: now } = rebasePlan(plan, nics, hostname);
  const offline = differenceOf(unionOf(...now.lines.map((line) => line.cpus)), cpus.online);
  if (offline.length > 0) {
    const text = `the plan has CPUs ${formatCpuList(offline)}, which are not online`;
    throw new TcpxError('ERR_USAGE_STATE', text);
  }
  for (const name of new Set(now.lines.map(({ nic }) => nic))) {
    const planned = now.lines.filter(({ nic }) => nic === name).length;
    const found = queueVectors(nics.find((nic) => nic.name === name)).length;
    if (planned === found) continue;
    const text = `the plan has ${planned} queue interrupts of ${name}, which has ${found} now`;
    throw new TcpxError('ERR_USAGE_STATE', text);
  }
  return now;
}

function missing(line: PlanLine, onMissing: 'refuse' | 'keep'): number {
  if (onMissing === 'keep') return line.irq;
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `the plan names vector ${line.vectorIndex} of ${line.pciAddress ?? '?'} (${line.nic}), which ` +
      'this host does not have: make the plan again',
  );
}
