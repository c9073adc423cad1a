// Which queue each vector of a NIC serves. The vectors themselves come from the PCI device, never
// from a search for the interface's name: gve rows do not contain it. Their meaning comes from
// netlink where the driver tells, else from the driver's own rule.

import type { NicVector, VectorRole, VectorSource } from './model.js';
import type { NetdevQueues } from './probes.js';

export interface VectorFacts {
  readonly driver: string | undefined;
  readonly ifindex: number | undefined;
  /** IRQ numbers in vector order, each with the name the driver registered. */
  readonly irqs: readonly number[];
  readonly nameOf: (irq: number) => string | undefined;
  /** Position among the device's vectors, where the interrupt table tells it. */
  readonly indexOf: (irq: number) => number | undefined;
  readonly rxQueueCount: number | undefined;
  readonly txQueueCount: number | undefined;
}

interface Meaning {
  readonly role: VectorRole;
  readonly queue: number | undefined;
  readonly source: VectorSource;
}

export interface NamedVectors {
  readonly vectors: readonly NicVector[];
  /** Where two sources contradict each other. */
  readonly conflicts: readonly string[];
}

export function nameVectors(facts: VectorFacts, netdev: NetdevQueues | undefined): NamedVectors {
  const told = netlinkMeanings(facts.ifindex, netdev);
  const conflicts: string[] = [];
  const vectors = facts.irqs.map((irq, position): NicVector => {
    const name = facts.nameOf(irq);
    const index = facts.indexOf(irq) ?? position;
    const byRule = ruleMeaning(facts, index, name);
    const byNetlink = told.get(irq);
    if (byNetlink !== undefined && isContradiction(byNetlink, byRule)) {
      conflicts.push(
        `irq ${irq}: netlink says ${describe(byNetlink)}, ${byRule.source} ${describe(byRule)}`,
      );
    }
    return { irq, index, name, ...(byNetlink ?? byRule) };
  });
  return { vectors, conflicts };
}

function describe(meaning: Meaning): string {
  return meaning.queue === undefined ? meaning.role : `${meaning.role} ${meaning.queue}`;
}

function isContradiction(a: Meaning, b: Meaning): boolean {
  if (b.role === 'unknown') return false;
  return a.role !== b.role || a.queue !== b.queue;
}

// Every attribute is optional: virtio_net names no IRQ, gve did not before 6.13.
function netlinkMeanings(
  ifindex: number | undefined,
  netdev: NetdevQueues | undefined,
): Map<number, Meaning> {
  const meanings = new Map<number, Meaning>();
  if (ifindex === undefined || netdev === undefined) return meanings;
  for (const napi of netdev.napis) {
    if (napi.ifindex !== ifindex || napi.irq === undefined) continue;
    const queues = netdev.queues.filter(
      (queue) => queue.ifindex === ifindex && queue.napiId === napi.id,
    );
    const rx = queues.find((queue) => queue.type === 'rx');
    const tx = queues.find((queue) => queue.type === 'tx');
    const first = rx ?? tx;
    if (first === undefined) continue;
    const role = rx !== undefined && tx !== undefined ? 'rxtx' : first.type;
    meanings.set(napi.irq, { role, queue: first.id, source: 'netlink napi-get' });
  }
  return meanings;
}

function ruleMeaning(facts: VectorFacts, index: number, name: string | undefined): Meaning {
  if (facts.driver === 'gve') return gveMeaning(facts, index, name);
  if (facts.driver === 'virtio_net') return virtioMeaning(name);
  return patternMeaning(name);
}

/**
 * gve: the last vector manages; the others are an even number B of blocks. TX queue q uses block q,
 * RX queue q uses block B/2 + q. B follows the device's maximum, so blocks beyond the queues in
 * use are registered and silent. Names changed in 6.3 (before, all NICs carry the same names
 * with a literal `eth%d`), the rule did not.
 */
function gveMeaning(facts: VectorFacts, index: number, name: string | undefined): Meaning {
  const source = 'gve rule';
  const blockCount = gveBlockCount(facts);
  const named = /ntfy-(?:blk|block\.)(\d+)/.exec(name ?? '')?.[1];
  const isManagement = name === undefined ? index === blockCount : /mgmnt/.test(name);
  if (isManagement) return { role: 'management', queue: undefined, source };
  if (blockCount === undefined) return { role: 'unknown', queue: undefined, source };
  const block = named === undefined ? index : Number(named);
  const half = blockCount / 2;
  const isRx = block >= half;
  const queue = isRx ? block - half : block;
  const queueCount = isRx ? facts.rxQueueCount : facts.txQueueCount;
  if (queueCount !== undefined && queue >= queueCount) {
    return { role: 'unused', queue: undefined, source };
  }
  return { role: isRx ? 'rx' : 'tx', queue, source };
}

/** Blocks of the device; undefined where vectors are missing, since every queue would be off. */
function gveBlockCount(facts: VectorFacts): number | undefined {
  const blockCount = facts.irqs.length - 1;
  const indices = facts.irqs.map((irq, position) => facts.indexOf(irq) ?? position);
  const isWhole = blockCount % 2 === 0 && Math.max(-1, ...indices) <= blockCount;
  return isWhole ? blockCount : undefined;
}

/** virtio: `virtio2-input.0` receives, `virtio2-output.0` sends, `virtio2-config` manages. */
function virtioMeaning(name: string | undefined): Meaning {
  const source = 'virtio rule';
  const match = /^virtio\d+-(input|output)\.(\d+)$/.exec(name ?? '');
  if (match !== null) {
    return { role: match[1] === 'input' ? 'rx' : 'tx', queue: Number(match[2]), source };
  }
  // With too few vectors all queues share one.
  if (/^virtio\d+-virtqueues$/.test(name ?? '')) return { role: 'rxtx', queue: undefined, source };
  const isManagement = /^virtio\d+-(config|control)$/.test(name ?? '');
  return { role: isManagement ? 'management' : 'unknown', queue: undefined, source };
}

const PATTERNS: readonly (readonly [RegExp, VectorRole])[] = [
  [/(?:tx-?rx|rx-?tx)-?(\d+)$/i, 'rxtx'],
  [/comp(\d+)(?:@|$)/, 'rxtx'],
  [/[-_.]rx[-_.]?(\d+)$/i, 'rx'],
  [/[-_.]tx[-_.]?(\d+)$/i, 'tx'],
  [/(?:mgmnt|async|mailbox|misc|config)/i, 'management'],
];

/** Usual ways in which other drivers name their vectors: a guess, marked as such. */
function patternMeaning(name: string | undefined): Meaning {
  for (const [pattern, role] of PATTERNS) {
    const match = pattern.exec(name ?? '');
    if (match === null) continue;
    const queue = match[1] === undefined ? undefined : Number(match[1]);
    return { role, queue, source: 'name pattern' };
  }
  return { role: 'unknown', queue: undefined, source: 'none' };
}
