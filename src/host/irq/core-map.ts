// Questions that plans ask about CPUs: node, hardware threads of one core, physical cores of a set.
// Built once from the host model. Pure.

import type { CpuModel, NumaNode } from '../read/model.js';
import { type CpuSet, cpuSet, intersectionOf } from './cpu-choice.js';

export interface CoreMap {
  /** One more than the highest CPU number the kernel may ever use: the width of its masks. */
  readonly possibleCount: number;
  readonly online: CpuSet;
  readonly nodes: readonly number[];
  nodeOf(cpu: number): number | undefined;
  /** Whether the hardware threads of every online CPU are known. */
  readonly areSiblingsKnown: boolean;
  /** Hardware threads of the same core, the CPU itself included; alone where they are unknown. */
  siblingsOf(cpu: number): CpuSet;
  /** Whether it is known which CPUs the node has. */
  isNodeKnown(node: number | undefined): boolean;
  /** Online CPUs of a node; of all nodes when it is not known. */
  nodeCpus(node: number | undefined): CpuSet;
}

export interface CoreMapSource {
  readonly cpus: CpuModel;
  readonly nodes: readonly NumaNode[];
}

export function coreMapOf(host: CoreMapSource): CoreMap {
  const cpuById = new Map(host.cpus.cpus.map((cpu) => [cpu.id, cpu]));
  const nodeById = new Map<number, number>();
  for (const node of host.nodes) for (const cpu of node.cpus ?? []) nodeById.set(cpu, node.id);
  const online = cpuSet(host.cpus.online);
  const known = [...host.cpus.possible, ...host.cpus.present, ...online];
  const cpusOf = (node: number | undefined) =>
    host.nodes.find((candidate) => candidate.id === node)?.cpus;
  return {
    possibleCount: Math.max(0, ...known) + 1,
    online,
    nodes: host.nodes.map((node) => node.id),
    nodeOf: (cpu) => nodeById.get(cpu) ?? cpuById.get(cpu)?.node,
    areSiblingsKnown: online.every((cpu) => cpuById.get(cpu)?.siblings !== undefined),
    isNodeKnown: (node) => cpusOf(node) !== undefined,
    siblingsOf: (cpu) => cpuById.get(cpu)?.siblings ?? [cpu],
    nodeCpus(node) {
      const cpus = cpusOf(node);
      return cpus === undefined ? online : intersectionOf(online, cpus);
    },
  };
}

/** The first hardware thread of each physical core that the set touches. */
export function physicalCores(cpus: CpuSet, map: CoreMap): CpuSet {
  return cpuSet(cpus.map((cpu) => map.siblingsOf(cpu)[0] ?? cpu));
}

/** The set with every hardware thread of its cores that is online. */
export function withSiblings(cpus: CpuSet, map: CoreMap): CpuSet {
  return intersectionOf(cpuSet(cpus.flatMap((cpu) => map.siblingsOf(cpu))), map.online);
}

/** Nodes that a set touches; unknown nodes are left out. */
export function nodesOf(cpus: CpuSet, map: CoreMap): readonly number[] {
  const nodes = cpus.map((cpu) => map.nodeOf(cpu)).filter((node) => node !== undefined);
  return cpuSet(nodes);
}

/**
 * Cuts a list of cores into consecutive parts of nearly equal size; with fewer cores than parts,
 * parts share cores in turn, so that no part is empty.
 */
export function cutEvenly(cores: CpuSet, partCount: number): readonly CpuSet[] {
  if (cores.length === 0) return Array.from({ length: partCount }, () => []);
  if (cores.length < partCount) {
    return Array.from({ length: partCount }, (_, index) => [cores[index % cores.length] ?? 0]);
  }
  return Array.from({ length: partCount }, (_, index) =>
    cores.slice(
      Math.floor((index * cores.length) / partCount),
      Math.floor(((index + 1) * cores.length) / partCount),
    ),
  );
}
