// Which send queue the threads of a plan use (XPS). The kernel picks a queue by the CPU that sends:
// a choice that was made for another placement sends through queues whose interrupts the plan has
// put elsewhere. So a plan deals its sending cores to the queues as well. Pure.

import { formatCpuList } from '../../base/cpu-set.js';
import type { Nic } from '../read/model.js';
import type { NicAllocation } from './allocation.js';
import { type CoreMap, physicalCores, withSiblings } from './core-map.js';
import { type CpuSet, cpuSet, intersectionOf, isSameSet } from './cpu-choice.js';
import { requireFormattedMask } from './cpu-mask.js';
import type { PreflightCheck } from './preflight.js';

export interface XpsLine {
  readonly nic: string;
  readonly queue: number;
  /** CPUs whose sends take this queue. */
  readonly cpus: CpuSet;
  /** Exactly what is written, and where. */
  readonly value: string;
  readonly path: string;
  /** undefined where it could not be read when the plan was made. */
  readonly before: CpuSet | undefined;
  readonly reason: string;
}

export interface XpsPlan {
  readonly lines: readonly XpsLine[];
  readonly notes: readonly string[];
}

export function xpsPath(nic: string, queue: number): string {
  return `/sys/class/net/${nic}/queues/tx-${queue}/xps_cpus`;
}

export function planXps(
  allocations: readonly NicAllocation[],
  nics: readonly Nic[],
  cores: CoreMap,
): XpsPlan {
  const lines: XpsLine[] = [];
  const notes: string[] = [];
  for (const { nic: name, tx } of allocations) {
    const nic = nics.find((candidate) => candidate.name === name);
    const queues = nic?.txSteering ?? [];
    const readable = queues.filter(({ xpsCpus }) => xpsCpus !== undefined);
    // One queue leaves no choice, and without sending cores there is nothing to deal.
    if (queues.length === 1 || tx.length === 0) continue;
    if (readable.length === 0 || readable.length < queues.length) {
      notes.push(`${name}: XPS could not be read; which send queue a thread takes stays as it is`);
      continue;
    }
    const parts = dealCores(tx, queues.length, cores);
    for (const [index, { queue, xpsCpus }] of queues.entries()) {
      const cpus = parts[index] ?? [];
      lines.push({
        nic: name,
        queue,
        cpus,
        value: requireFormattedMask(cpus, cores.possibleCount),
        path: xpsPath(name, queue),
        before: xpsCpus === undefined ? undefined : cpuSet(xpsCpus),
        reason:
          cpus.length === 0
            ? 'no sending core is left for it'
            : `sends of ${formatCpuList(cpus)} take TX queue ${queue}`,
      });
    }
    notes.push(...contradictions(name, nic, tx));
  }
  return { lines, notes };
}

/** Cores in turn, both threads of a core to one queue; queues beyond the cores get none. */
function dealCores(tx: CpuSet, queueCount: number, cores: CoreMap): readonly CpuSet[] {
  const physical = physicalCores(tx, cores);
  return Array.from({ length: queueCount }, (_, queue) => {
    const own = physical.filter((_core, index) => index % queueCount === queue);
    return intersectionOf(tx, withSiblings(cpuSet(own), cores));
  });
}

/** What XPS does now to the sending cores of the plan. */
function contradictions(name: string, nic: Nic | undefined, tx: CpuSet): readonly string[] {
  const used = (nic?.txSteering ?? []).filter(
    ({ xpsCpus }) => intersectionOf(tx, cpuSet(xpsCpus ?? [])).length > 0,
  );
  const queueCount = nic?.txSteering.length ?? 0;
  if (used.length === 0 || used.length === queueCount) return [];
  const queues = formatCpuList(used.map(({ queue }) => queue));
  return [
    `${name}: XPS as it is sends the plan’s threads through TX queues ${queues} of ` +
      `${queueCount} only`,
  ];
}

/** Does the host send by the planned queues? Unknown where it does not tell. */
export function checkXps(
  lines: readonly XpsLine[],
  nics: readonly Nic[],
): readonly PreflightCheck[] {
  const names = [...new Set(lines.map(({ nic }) => nic))];
  return names.map((nic): PreflightCheck => {
    const own = lines.filter((line) => line.nic === nic);
    const steering = nics.find(({ name }) => name === nic)?.txSteering ?? [];
    const state = own.map(({ queue, cpus }) => {
      const now = steering.find((candidate) => candidate.queue === queue)?.xpsCpus;
      return now === undefined ? 'unknown' : isSameSet(cpuSet(now), cpus) ? 'same' : 'other';
    });
    const count = (wanted: string) => state.filter((one) => one === wanted).length;
    const name = `XPS of ${nic}`;
    if (count('other') > 0) {
      const text = `${count('other')} of ${own.length} queues take other CPUs than planned`;
      return { name, status: 'fail', text };
    }
    if (count('unknown') > 0) return { name, status: 'unknown', text: 'could not be read' };
    return { name, status: 'pass', text: `${own.length} queues as planned` };
  });
}
