// Who measures against whom, and in which order: rounds in which every worker sends to one other at
// most and receives from one at most, so that no figure of a pair is that of a shared end. Pure.

import { at } from '../../base/assert.js';

/** What the plan knows of a worker. */
export interface PlannedWorker {
  /** Of its node, from 0. */
  readonly node: number;
  /** Its place among the workers of that node. */
  readonly place: number;
}

/** Indexes of workers. */
export interface MeshPair {
  readonly from: number;
  readonly to: number;
}

/**
 * `nodes`: all pairs between nodes; `rails`: equal places of them; `all`: also within a node;
 * `inward`: equal places, towards the first node alone.
 */
export const MESH_PAIRS = ['nodes', 'rails', 'all', 'inward'] as const;
export type MeshPairs = (typeof MESH_PAIRS)[number];

/** Between nodes; on one node alone there is nothing else than its own workers. */
export function defaultPairs(workers: readonly PlannedWorker[]): MeshPairs {
  return new Set(workers.map(({ node }) => node)).size > 1 ? 'nodes' : 'all';
}

export function planRounds(
  workers: readonly PlannedWorker[],
  pairs: MeshPairs,
  isAlone: boolean,
): MeshPair[][] {
  const wanted = pairsOf(workers, pairs);
  if (isAlone) return wanted.map((pair) => [pair]);
  const rounds: Round[] = [];
  for (const pair of wanted) {
    const free = rounds.find(({ from, to }) => !from.has(pair.from) && !to.has(pair.to));
    const round = free ?? { from: new Set<number>(), to: new Set<number>(), pairs: [] };
    if (free === undefined) rounds.push(round);
    round.from.add(pair.from);
    round.to.add(pair.to);
    round.pairs.push(pair);
  }
  return rounds.map((round) => round.pairs);
}

interface Round {
  readonly from: Set<number>;
  readonly to: Set<number>;
  readonly pairs: MeshPair[];
}

/**
 * By how far the other is, in nodes and then in places: those of one distance fill a round where
 * all nodes have as many workers. The first are those of equal places.
 */
function pairsOf(workers: readonly PlannedWorker[], pairs: MeshPairs): MeshPair[] {
  const nodes = Math.max(...workers.map(({ node }) => node)) + 1;
  const places = Math.max(...workers.map(({ place }) => place)) + 1;
  const found: (MeshPair & { readonly distance: number })[] = [];
  for (const [from, a] of workers.entries()) {
    for (const [to, b] of workers.entries()) {
      if (from === to || !isWanted(a, b, pairs)) continue;
      const nodeDistance = (b.node - a.node + nodes) % nodes;
      const placeDistance = (b.place - a.place + places) % places;
      found.push({ from, to, distance: nodeDistance * places + placeDistance });
    }
  }
  const byDistance = found.sort((a, b) => a.distance - b.distance || a.from - b.from);
  return byDistance.map(({ from, to }) => ({ from, to }));
}

function isWanted(a: PlannedWorker, b: PlannedWorker, pairs: MeshPairs): boolean {
  switch (pairs) {
    case 'all':
      return true;
    case 'nodes':
      return a.node !== b.node;
    case 'rails':
      return a.node !== b.node && a.place === b.place;
    case 'inward':
      return a.node !== 0 && b.node === 0 && a.place === b.place;
  }
}

/** Numbers of nodes and places, from the names of the nodes in the order of the workers. */
export function placeWorkers(nodes: readonly string[]): PlannedWorker[] {
  const names = [...new Set(nodes)];
  return nodes.map((name, index) => ({
    node: names.indexOf(name),
    place: nodes.slice(0, index).filter((other) => other === at(nodes, index)).length,
  }));
}

/** What the way of a pair depends on. */
export interface RailWorker {
  readonly node: string;
  readonly gpu: number;
  readonly nic: string;
}

export interface PairRail {
  /** For the one that sends; empty where none is bound. */
  readonly nic: string;
  /** A GPU of its node that is behind that NIC. */
  readonly gpu: number;
}

/**
 * The NIC by which one worker reaches another: the one on its own node that belongs to the
 * receiver's, by name or by its place in the order. NICs of A3 High have a network each, so another
 * one would not reach it; and what is received must come in where the receiving GPU is.
 */
export function railOf(workers: readonly RailWorker[], from: RailWorker, to: RailWorker): PairRail {
  const own = { nic: from.nic, gpu: from.gpu };
  if (from.node === to.node || to.nic === '') return own;
  const near = nicsOf(workers, from.node);
  const far = nicsOf(workers, to.node);
  const opposite = near.length === far.length ? near[far.indexOf(to.nic)] : undefined;
  const nic = near.includes(to.nic) ? to.nic : (opposite ?? from.nic);
  if (nic === from.nic) return own;
  const behind = workers.find((one) => one.node === from.node && one.nic === nic);
  return { nic, gpu: behind?.gpu ?? from.gpu };
}

function nicsOf(workers: readonly RailWorker[], node: string): string[] {
  const own = workers.filter((one) => one.node === node && one.nic !== '');
  return [...new Set(own.map(({ nic }) => nic))];
}
