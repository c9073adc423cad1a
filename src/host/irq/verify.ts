// Does the host do what the plan says? A written affinity is first only *requested*; without
// interrupt remapping the kernel moves the line at its next interrupt, so the *effective* CPU may
// still be the old one (*pending*). Proof of movement is where interrupts were counted. Pure.

import { formatCpuList } from '../../base/cpu-set.js';
import type { Irq } from '../read/model.js';
import {
  type CpuSet,
  cpuSet,
  differenceOf,
  intersectionOf,
  isSameSet,
  isSubset,
} from './cpu-choice.js';
import type { PlanLine } from './plan.js';

export const LINE_STATES = {
  proven: 'interrupts were counted on planned CPUs only',
  bound: 'requested and effective as planned; no interrupt while watched',
  moved: 'the first interrupt still came on the old CPU, the line has moved since',
  pending: 'requested as planned; moves with its next interrupt, none came yet',
  stray: 'interrupts are counted on CPUs outside the plan',
  lost: 'requested CPUs differ from the plan: something overwrote them',
  gone: 'the interrupt no longer exists under this number',
  requested: 'requested as planned; where it is delivered cannot be read, and none came',
  unreadable: 'the affinity could not be read',
} as const;
export type LineState = keyof typeof LINE_STATES;

const FAILED: readonly LineState[] = ['stray', 'lost', 'gone'];
/** Neither good nor bad: a file that would tell is missing. */
const UNKNOWN: readonly LineState[] = ['requested', 'unreadable'];

export interface LineVerdict {
  readonly irq: number;
  readonly nic: string;
  readonly queue: string;
  readonly planned: CpuSet;
  readonly requested: CpuSet | undefined;
  readonly effective: CpuSet | undefined;
  readonly state: LineState;
  /** Interrupts during the window; undefined without a window. */
  readonly onPlan: number | undefined;
  readonly offPlan: number | undefined;
  readonly evidence: string;
}

export function isFailure(state: LineState): boolean {
  return FAILED.includes(state);
}

export function isUnknown(state: LineState): boolean {
  return UNKNOWN.includes(state);
}

/** Judges every line; `earlier` is the same host some seconds before, for the counter deltas. */
export function verifyLines(
  lines: readonly PlanLine[],
  now: readonly Irq[],
  earlier?: readonly Irq[],
): readonly LineVerdict[] {
  const nowById = new Map(now.map((irq) => [irq.irq, irq]));
  const earlierById = new Map((earlier ?? []).map((irq) => [irq.irq, irq]));
  return lines.map((line) => {
    const irq = nowById.get(line.irq);
    const before = earlierById.get(line.irq);
    const delta = irq === undefined || before === undefined ? undefined : countDelta(before, irq);
    // No line at all means that neither the table nor the folder could be read.
    return verifyLine(line, irq, delta, now.length > 0);
  });
}

/** Interrupts per CPU between two readings of one line; a reset counter counts from zero. */
function countDelta(before: Irq, after: Irq): ReadonlyMap<number, number> | undefined {
  if (before.countByCpu === undefined || after.countByCpu === undefined) return undefined;
  const delta = new Map<number, number>();
  for (const [cpu, count] of Object.entries(after.countByCpu)) {
    const earlier = before.countByCpu[Number(cpu)] ?? 0;
    const grown = count >= earlier ? count - earlier : count;
    if (grown > 0) delta.set(Number(cpu), grown);
  }
  return delta;
}

function verifyLine(
  line: PlanLine,
  irq: Irq | undefined,
  delta: ReadonlyMap<number, number> | undefined,
  isListRead: boolean,
): LineVerdict {
  const requested = irq?.requested === undefined ? undefined : cpuSet(irq.requested);
  const effective = irq?.effective === undefined ? undefined : cpuSet(irq.effective);
  const fired = cpuSet(delta?.keys() ?? []);
  const sum = (cpus: CpuSet) => cpus.reduce((total, cpu) => total + (delta?.get(cpu) ?? 0), 0);
  const onPlan = delta === undefined ? undefined : sum(intersectionOf(fired, line.cpus));
  const offPlan = delta === undefined ? undefined : sum(differenceOf(fired, line.cpus));
  const base = {
    irq: line.irq,
    nic: line.nic,
    queue: line.queue,
    planned: line.cpus,
    requested,
    effective,
    onPlan,
    offPlan,
  };
  const state = isListRead ? lineState(line, irq, base) : 'unreadable';
  return { ...base, state, evidence: evidenceText(base, state) };
}

type Measured = Omit<LineVerdict, 'state' | 'evidence'>;

function lineState(line: PlanLine, irq: Irq | undefined, seen: Measured): LineState {
  if (irq === undefined || isOtherVector(line, irq)) return 'gone';
  if (seen.requested === undefined) return 'unreadable';
  if (!isSameSet(seen.requested, line.cpus)) return 'lost';
  const { effective } = seen;
  const isEffective = effective === undefined ? undefined : isSubset(effective, line.cpus);
  const off = seen.offPlan ?? 0;
  if (off > 0) return off === 1 && isEffective === true ? 'moved' : 'stray';
  if (isEffective === false) return 'pending';
  if ((seen.onPlan ?? 0) > 0) return 'proven';
  return isEffective === undefined ? 'requested' : 'bound';
}

// The same number can belong to another device after a reset: compare what the row itself says.
function isOtherVector(line: PlanLine, irq: Irq): boolean {
  if (line.pciAddress !== undefined && irq.pciAddress !== undefined) {
    return line.pciAddress !== irq.pciAddress || irq.vectorIndex !== line.vectorIndex;
  }
  const actions = irq.actions ?? [];
  return line.vectorName !== undefined && actions.length > 0 && !actions.includes(line.vectorName);
}

function evidenceText(seen: Measured, state: LineState): string {
  const list = (cpus: CpuSet | undefined) =>
    cpus === undefined ? 'unreadable' : formatCpuList(cpus) || 'none';
  const counts =
    seen.onPlan === undefined
      ? ''
      : `, ${seen.onPlan} interrupts on planned CPUs and ${seen.offPlan ?? 0} elsewhere`;
  return (
    `${LINE_STATES[state]} (planned ${list(seen.planned)}, requested ${list(seen.requested)}, ` +
    `effective ${list(seen.effective)}${counts})`
  );
}
