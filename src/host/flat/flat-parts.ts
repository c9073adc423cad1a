// Which file of a flat bundle is what, and of which moment: before a run, after it, or sampled
// while it ran. By name alone: collectors differ in their contents, not in what they call them.

import type { FlatFile } from './flat-files.js';

export const FLAT_KINDS = [
  'interrupts',
  'affinity',
  'cpus',
  'nics',
  'environment',
  'gpus',
  'hostname',
  'kernel',
] as const;
export type FlatKind = (typeof FLAT_KINDS)[number];

export type FlatMoment = 'before' | 'during' | 'after' | 'once';

/** Which end of a run a reader wants to see. */
export interface FlatMomentWanted {
  readonly phase: 'before' | 'after';
  /** The other end must not stand in for it: the two are about to be compared. */
  readonly isAlone: boolean;
}

export interface FlatPart {
  readonly kind: FlatKind;
  readonly moment: FlatMoment;
  readonly file: FlatFile;
}

// The first that fits counts: `irq_affinity_before.txt` is no table of interrupts.
const PATTERNS: readonly (readonly [RegExp, FlatKind])[] = [
  [/^(irq_)?(smp_)?affinity([_.-]|$)/, 'affinity'],
  [/^(irq_snapshot|irq_(before|during|after)|(proc_)?interrupts)([_.-]|$)/, 'interrupts'],
  [/^(cpu_topology|lscpu)([_.-]|$)/, 'cpus'],
  [/^(nic_(info|stats|numa_topology)|ethtool)([_.-]|$)/, 'nics'],
  [/^(env_vars|env|environment)([_.-]|$)/, 'environment'],
  [/^(gpu_topology|gpus|nvidia[_-]smi)([_.-]|$)/, 'gpus'],
  [/^hostname([_.-]|$)/, 'hostname'],
  [/^(uname|kernel)([_.-]|$)/, 'kernel'],
];

/** What no bundle of snapshots holds: made from others, or of another program. */
const NOT_PLAIN = /([_-]delta[_.-]|\.(log|json|html|svg|tgz|gz|md)$)/;

export function flatKindOf(name: string): FlatKind | undefined {
  const base = name.slice(name.lastIndexOf('/') + 1).toLowerCase();
  if (NOT_PLAIN.test(base)) return undefined;
  return PATTERNS.find(([pattern]) => pattern.test(base))?.[1];
}

export function flatMomentOf(name: string): FlatMoment {
  const words = name.toLowerCase().split(/[^a-z]+/);
  return (['before', 'during', 'after'] as const).find((word) => words.includes(word)) ?? 'once';
}

export function partsOf(files: readonly FlatFile[]): readonly FlatPart[] {
  const parts: FlatPart[] = [];
  for (const file of files) {
    const kind = flatKindOf(file.name);
    if (kind !== undefined) parts.push({ kind, moment: flatMomentOf(file.name), file });
  }
  return parts;
}

/**
 * The files of a kind, the one that shows the wanted moment best first: its own, then one that was
 * taken once, then the other end's. Where the moment is meant alone, only its own, or the earliest
 * and the latest of several that were taken once. A series is not among them: it holds many.
 */
export function filesFor(
  parts: readonly FlatPart[],
  kind: FlatKind,
  { phase, isAlone }: FlatMomentWanted,
): readonly FlatFile[] {
  const own = parts.filter((part) => part.kind === kind);
  const at = (moment: FlatMoment) => {
    const files = own.filter((part) => part.moment === moment).map(({ file }) => file);
    // Names carry the time: the first is the earliest.
    return phase === 'before' ? files : files.reverse();
  };
  const once = at('once');
  if (isAlone) return [...at(phase), ...(once.length > 1 ? once.slice(0, 1) : [])];
  return [...at(phase), ...once, ...at(phase === 'before' ? 'after' : 'before')];
}

export function seriesFiles(parts: readonly FlatPart[], kind: FlatKind): readonly FlatFile[] {
  return parts.filter((p) => p.kind === kind && p.moment === 'during').map(({ file }) => file);
}
