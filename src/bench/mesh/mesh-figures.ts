// What a mesh comes to: the figures of pairs and rounds, and which pair is the slowest. Pure.

import { assert, at } from '../../base/assert.js';
import { plural } from '../../base/units.js';
import type { BenchResult } from '../bench-result.js';
import { type GroupFigures, groupFigures } from '../group-figures.js';
import { commonWarnings } from '../result-warnings.js';
import { runFault } from '../run-fault.js';
import { sumKnown, type WireBytes, wireBytesOf } from '../wire-bytes.js';
import type { MeshOutcome, MeshRun, MeshWorker } from './mesh-conductor.js';
import { placeWorkers } from './mesh-plan.js';

export const MESH_SCHEMA = 'tcpx.bench-mesh/1';

export interface MeshWorkerPlace extends MeshWorker {
  /** Of the node, for people: its host name where those differ, else its address. */
  readonly name: string;
  /** Among the nodes, from 0. */
  readonly nodeIndex: number;
}

export interface MeshPairFigures {
  /** Indexes of workers. */
  readonly from: number;
  readonly to: number;
  readonly round: number;
  /** 10^9 bytes per second: mean and median of the iterations. */
  readonly meanGBps: number;
  readonly medianGBps: number;
  readonly latencyP50Us: number;
  readonly latencyP99Us: number;
  readonly bytes: number;
  readonly wireBytes: WireBytes;
  /** −1 where the kernel does not count them. */
  readonly retransmits: number;
  readonly ok: boolean;
  /** Why it is not. */
  readonly fault?: string;
  /** Iterations that were made, where it was stopped before its last. */
  readonly cutAfter?: number;
}

export interface MeshRound extends GroupFigures {
  readonly pairs: number;
}

export interface MeshDocument {
  readonly schema: typeof MESH_SCHEMA;
  /** Its name in the store; absent where it is not kept. */
  readonly id?: string;
  readonly recordedAt: string;
  readonly ok: boolean;
  /** Why it ended early, and how many pairs there are. */
  readonly partial?: string;
  readonly evidence: BenchResult['evidence'];
  readonly provider: string;
  readonly op: string;
  readonly sizeBytes: number;
  readonly iterations: number;
  readonly channels: number;
  readonly nodes: readonly string[];
  readonly workers: readonly MeshWorkerPlace[];
  readonly pairs: readonly MeshPairFigures[];
  /** Mean of each pair, from the worker of the row to that of the column; null where not one. */
  readonly matrixGBps: readonly (readonly (number | null)[])[];
  readonly rounds: readonly MeshRound[];
  readonly total: {
    readonly bytes: number;
    /** Of all pairs. */
    readonly meanGBps: number;
    /** Sums of the pairs that ran at once, over the rounds that were full. */
    readonly roundGBps: { readonly mean: number; readonly min: number; readonly max: number };
  };
  readonly slowest: MeshPairFigures;
  readonly command?: readonly string[];
  readonly warnings?: readonly string[];
  /** Of each pair, in the order of `pairs`. */
  readonly runs: readonly BenchResult[];
}

export function meshDocument(outcome: MeshOutcome, recordedAt: string): MeshDocument {
  const workers = namedWorkers(outcome.workers);
  const sorted = [...outcome.runs].sort((a, b) => a.from - b.from || a.to - b.to);
  const pairs = sorted.map(pairFigures);
  const first = at(sorted, 0).result;
  const rounds = Array.from({ length: outcome.rounds }, (_, round) =>
    outcome.runs.filter((run) => run.round === round),
  )
    .filter((runs) => runs.length > 0)
    .map(roundFigures);
  return {
    schema: MESH_SCHEMA,
    recordedAt,
    ok: pairs.every(({ ok }) => ok),
    ...partialOf(outcome, pairs),
    evidence: sorted.some(({ result }) => result.evidence === 'emulated') ? 'emulated' : 'measured',
    provider: first.provider,
    op: first.op,
    sizeBytes: first.sizeBytes,
    iterations: first.iterations,
    channels: first.channels,
    nodes: [...new Set(workers.map(({ name }) => name))],
    workers,
    pairs,
    matrixGBps: matrixOf(workers.length, pairs),
    rounds,
    total: totalOf(pairs, rounds),
    slowest: pairs.reduce((a, b) => (b.meanGBps < a.meanGBps ? b : a)),
    warnings: commonWarnings(
      sorted.map(({ result }) => result),
      'pairs',
    ),
    runs: sorted.map(({ result }, member) => ({
      ...result,
      group: { pattern: 'mesh', member, members: sorted.length },
    })),
  };
}

function partialOf({ failure, pairs }: MeshOutcome, measured: readonly MeshPairFigures[]) {
  if (failure === undefined) return {};
  const cut = measured.filter(({ cutAfter }) => cutAfter !== undefined).length;
  const short = cut === 0 ? '' : `, ${cut} of them cut short`;
  const count = `${measured.length} of ${plural(pairs, 'pair')} measured${short}`;
  return { partial: `${failure.message}; ${count}` };
}

function namedWorkers(workers: readonly MeshWorker[]): MeshWorkerPlace[] {
  const places = placeWorkers(workers.map(({ node }) => node));
  const nodes = Math.max(...places.map(({ node }) => node)) + 1;
  const areNames = new Set(workers.map(({ hostname }) => hostname)).size === nodes;
  return workers.map((worker, index) => ({
    ...worker,
    name: areNames ? worker.hostname : worker.host,
    nodeIndex: at(places, index).node,
  }));
}

function pairFigures({ from, to, round, result }: MeshRun): MeshPairFigures {
  const { bandwidthGBps, latencyUs, bytesMoved, kernel } = result;
  assert(bytesMoved !== undefined, 'a pair says what it moved');
  // Through the plugin the data has sockets of its own, which tell nothing.
  const isSeen = result.provider === 'tcp' && kernel !== undefined;
  const { channels } = isSeen ? kernel : { channels: [] };
  return {
    ...{ from, to, round },
    meanGBps: bandwidthGBps.mean,
    medianGBps: bandwidthGBps.p50,
    latencyP50Us: latencyUs.p50,
    latencyP99Us: latencyUs.p99,
    bytes: bytesMoved,
    wireBytes: wireBytesOf(result),
    retransmits: sumKnown(channels.map(({ retransmits }) => retransmits)),
    ok: result.ok,
    ...(result.ok ? {} : { fault: runFault(result)?.message ?? '' }),
    ...(result.partial === undefined ? {} : { cutAfter: result.iterations }),
  };
}

/** By the time since the start of the round, which every host measures with its own clock. */
function roundFigures(runs: readonly MeshRun[]): MeshRound {
  const members = runs.map(({ result, window }) => ({ ...result, window }));
  return { pairs: runs.length, ...groupFigures(members) };
}

function matrixOf(count: number, pairs: readonly MeshPairFigures[]): (number | null)[][] {
  const matrix = Array.from({ length: count }, () => new Array<number | null>(count).fill(null));
  for (const { from, to, meanGBps } of pairs) at(matrix, from)[to] = meanGBps;
  return matrix;
}

function totalOf(pairs: readonly MeshPairFigures[], rounds: readonly MeshRound[]) {
  const fullest = Math.max(...rounds.map((round) => round.pairs));
  const sums = rounds.filter((round) => round.pairs === fullest).map(({ sumGBps }) => sumGBps);
  return {
    bytes: pairs.reduce((sum, { bytes }) => sum + bytes, 0),
    meanGBps: meanOf(pairs.map(({ meanGBps }) => meanGBps)),
    roundGBps: { mean: meanOf(sums), min: Math.min(...sums), max: Math.max(...sums) },
  };
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
