// A mesh as people read it, and as rows. GB is 10^9 bytes. Pure.

import { at } from '../base/assert.js';
import { formatBytes, plural } from '../base/units.js';
import type { MeshDocument, MeshPairFigures, MeshWorkerPlace } from '../bench/mesh/mesh-figures.js';
import { formatTable } from './print.js';

/** Beyond this many a matrix for each pair of nodes is more than people read. */
const BLOCKS_MAX = 12;

export function formatMesh(mesh: MeshDocument): string {
  const { workers, pairs, nodes, rounds, total, sizeBytes, channels } = mesh;
  const shape =
    `${plural(workers.length, 'worker')} on ${plural(nodes.length, 'node')}, ` +
    `${plural(pairs.length, 'pair')} in ${plural(rounds.length, 'round')}; ${mesh.op} of ` +
    `${formatBytes(sizeBytes)} × ${iterationsText(mesh)}, ${plural(channels, 'channel')}, ` +
    `${mesh.provider}, ${mesh.evidence}`;
  const { mean, min, max } = total.roundGBps;
  return (
    `mesh: ${shape}\n\n${matrices(mesh)}` +
    `pairs      ${total.meanGBps.toFixed(2)} GB/s is their mean\n` +
    `at once    ${mean.toFixed(2)} GB/s is the sum in a round, ${min.toFixed(2)} to ` +
    `${max.toFixed(2)}; ${formatBytes(total.bytes)} in all\n` +
    `slowest    ${pairName(mesh, mesh.slowest)}: ${mesh.slowest.meanGBps.toFixed(2)} GB/s\n` +
    wrongLine(mesh) +
    (mesh.partial === undefined ? '' : `PARTIAL    ${mesh.partial}\n`) +
    (mesh.warnings ?? []).map((text) => `warning    ${text}\n`).join('')
  );
}

/** Pairs that are measured by time, or were cut short, have made more or fewer. */
function iterationsText({ runs }: MeshDocument): string {
  const counts = runs.map(({ iterations }) => iterations);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  return least === most ? String(least) : `${least} to ${most}`;
}

function wrongLine(mesh: MeshDocument): string {
  const wrong = mesh.pairs.filter(({ ok }) => !ok);
  return wrong
    .map((pair) => `WRONG      ${pairName(mesh, pair)}: ${pair.fault ?? 'no reason kept'}\n`)
    .join('');
}

/** `10.0.0.1 GPU 0 (eth1) → 10.0.0.2 GPU 4 (eth3)`. */
export function pairName({ workers }: MeshDocument, { from, to }: MeshPairFigures): string {
  return `${workerName(at(workers, from))} → ${workerName(at(workers, to))}`;
}

function workerName({ name, gpu, nic }: MeshWorkerPlace): string {
  return `${name} GPU ${gpu}${nic === '' ? '' : ` (${nic})`}`;
}

/** Of the nodes where there are several, then of the GPUs of each two nodes. */
function matrices(mesh: MeshDocument): string {
  const count = mesh.nodes.length;
  const blocks = nodePairs(mesh);
  const whole = count > 2 ? `GB/s, mean of the pairs of two nodes\n${nodeMatrix(mesh)}\n` : '';
  if (blocks.length > BLOCKS_MAX) return whole;
  return whole + blocks.map(([from, to]) => block(mesh, from, to)).join('');
}

function nodePairs({ workers, pairs }: MeshDocument): [number, number][] {
  const keys = pairs.map(({ from, to }) => {
    return `${at(workers, from).nodeIndex} ${at(workers, to).nodeIndex}`;
  });
  return [...new Set(keys)].map((key) => {
    const [from = '', to = ''] = key.split(' ');
    return [Number(from), Number(to)];
  });
}

function nodeMatrix({ workers, pairs, nodes }: MeshDocument): string {
  const rows = nodes.map((name, row) => {
    const cells = nodes.map((_, column) => {
      const rates = pairs
        .filter(({ from, to }) => {
          return at(workers, from).nodeIndex === row && at(workers, to).nodeIndex === column;
        })
        .map(({ meanGBps }) => meanGBps);
      if (rates.length === 0) return '-';
      return (rates.reduce((sum, rate) => sum + rate, 0) / rates.length).toFixed(2);
    });
    return [name, ...cells];
  });
  return formatTable([['from \\ to', ...nodes], ...rows]);
}

function block({ workers, nodes, matrixGBps }: MeshDocument, from: number, to: number): string {
  const indexed = workers.map((worker, index) => ({ ...worker, index }));
  const columns = indexed.filter(({ nodeIndex }) => nodeIndex === to);
  const rows = indexed
    .filter(({ nodeIndex }) => nodeIndex === from)
    .map(({ gpu, nic, index }) => {
      const cells = columns.map((one) => at(at(matrixGBps, index), one.index)?.toFixed(2) ?? '-');
      return [nic === '' ? `GPU ${gpu}` : `GPU ${gpu} ${nic}`, ...cells];
    });
  const heading = ['from \\ to', ...columns.map(({ gpu }) => `GPU ${gpu}`)];
  const within =
    from === to ? `within ${at(nodes, from)}` : `${at(nodes, from)} → ${at(nodes, to)}`;
  return `GB/s, ${within}\n${formatTable([heading, ...rows])}\n`;
}

/** While it runs: a round that is done. */
export function formatMeshRound(round: number, rounds: number, rates: readonly number[]): string {
  const sum = rates.reduce((total, rate) => total + rate, 0);
  return (
    `round ${round + 1} of ${rounds}: ${plural(rates.length, 'pair')}, ${sum.toFixed(2)} GB/s ` +
    `together, ${Math.min(...rates).toFixed(2)} to ${Math.max(...rates).toFixed(2)} each`
  );
}

const COLUMNS = [
  ...['from', 'from gpu', 'from nic', 'to', 'to gpu', 'to nic', 'round', 'B/W (GB/s)'],
  ...['B/W median (GB/s)', 'latency p50 (us)', 'latency p99 (us)', 'bytes', 'retransmits', 'ok'],
  ...['cut after', 'evidence'],
];

export function formatMeshCsv(mesh: MeshDocument): string {
  const rows = mesh.pairs.map((pair) => {
    const [from, to] = [at(mesh.workers, pair.from), at(mesh.workers, pair.to)];
    return [
      ...[from.name, String(from.gpu), from.nic, to.name, String(to.gpu), to.nic],
      ...[String(pair.round), pair.meanGBps.toFixed(6), pair.medianGBps.toFixed(6)],
      ...[pair.latencyP50Us.toFixed(1), pair.latencyP99Us.toFixed(1), String(pair.bytes)],
      ...[String(pair.retransmits), String(pair.ok)],
      ...[pair.cutAfter === undefined ? '' : String(pair.cutAfter), mesh.evidence],
    ];
  });
  return [COLUMNS, ...rows].map((row) => `${row.map(quoted).join(',')}\n`).join('');
}

function quoted(cell: string): string {
  return /[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** Of what a worker says about its GPU, before anything is measured. */
export function formatGpuMap(
  places: readonly { readonly gpu: number; readonly nic: string; readonly reason: string }[],
): string {
  return places
    .map(({ gpu, nic, reason }) => `GPU ${gpu} → ${nic === '' ? 'no NIC' : nic} (${reason})`)
    .join('\n');
}
