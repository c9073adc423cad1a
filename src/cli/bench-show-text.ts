// Results that were kept, as people read them.

import { at } from '../base/assert.js';
import { formatBytes, formatUs, plural } from '../base/units.js';
import type { BenchResult } from '../bench/bench-result.js';
import type { MeshDocument } from '../bench/mesh/mesh-figures.js';
import type { Reference, Standing } from '../bench/references.js';
import { formatTable } from './print.js';

export function formatStore(
  folder: string,
  runs: readonly BenchResult[],
  baselines: readonly string[],
): string {
  if (runs.length === 0 && baselines.length === 0) return `nothing is kept in ${folder}\n`;
  const rows = runs.map((run) => [
    run.id ?? '',
    formatBytes(run.sizeBytes),
    run.bandwidthGBps.p50.toFixed(2),
    formatUs(run.latencyUs.p50),
    run.path,
    run.evidence,
    run.ok ? (run.partial === undefined ? 'ok' : 'partial') : 'WRONG',
  ]);
  const heading = ['run', 'size', 'GB/s', 'latency', 'path', 'evidence', ''];
  const table = rows.length === 0 ? '' : formatTable([heading, ...rows]);
  const named = baselines.length === 0 ? '' : `baselines: ${baselines.join(', ')}\n`;
  return `${table}${named}in ${folder}\n`;
}

/** A rate beside figures of others. */
export interface Standings {
  readonly references: readonly (Reference & Standing)[];
  readonly goal: { readonly gbps: number; readonly isReached: boolean };
}

/** What a figure is of, for people. */
export function placeOf({ evidence, memory, path, host, peer }: BenchResult): string {
  return `${evidence}, ${memory}, ${path}, ${host.hostname} to ${peer.hostname}`;
}

/** Of a mesh: a GPU sends to one other at a time, so the mean of the pairs is that of a GPU. */
export function meshPlaceOf({ evidence, provider, pairs, runs }: MeshDocument): string {
  return `${evidence}, ${at(runs, 0).memory}, ${provider}, mean of ${plural(pairs.length, 'pair')}`;
}

/** Of a ping-pong there is no bandwidth to hold against anything. */
export function formatStanding(op: string, where: string, { references, goal }: Standings) {
  if (op === 'pingpong') return '';
  const rows = references.map(({ name, ratio, gapGBps, isSuspect, ...one }) => [
    name,
    formatRange(one),
    `${ratio.toFixed(2)}×`,
    gapGBps > 0 ? gapGBps.toFixed(2) : 'none',
    isSuspect ? 'suspect' : '',
  ]);
  const table = formatTable([['held against', 'GB/s', 'ratio', 'gap GB/s', ''], ...rows]);
  const reached = goal.isReached ? 'reached' : 'not reached';
  return (
    `\n${table}goal of ${goal.gbps} GB/s per GPU: ${reached} (${where})\n` +
    'figures of others, on other machines: bench show --references\n'
  );
}

export function formatReferences(references: readonly Reference[]): string {
  return references
    .map((one) => {
      const mark = one.isSuspect ? ' SUSPECT' : '';
      const remark = one.remark === '' ? '' : `\n  ${one.remark}`;
      return (
        `${one.name}: ${formatRange(one)} GB/s${mark}\n  ${one.what}\n` +
        `  from ${one.source}${remark}\n`
      );
    })
    .join('\n');
}

function formatRange({ lowGBps, highGBps }: Pick<Reference, 'lowGBps' | 'highGBps'>): string {
  const low = lowGBps.toFixed(2);
  const high = highGBps.toFixed(2);
  return low === high ? low : `${low} … ${high}`;
}
