// Results as rows: in the columns of nixlbench, whose readers know them, and as CSV with more. GB
// is 10^9 bytes in both. Pure.

import type { BenchResult } from '../bench/bench-result.js';
import { formatTable } from './print.js';

type Column = readonly [heading: string, cell: (run: BenchResult) => string];

const NIXLBENCH: readonly Column[] = [
  ['Block Size (B)', (run) => String(run.blockBytes)],
  ['Batch Size', (run) => String(blocksOf(run))],
  ['B/W (GB/Sec)', (run) => run.bandwidthGBps.mean.toFixed(6)],
  ['Avg Lat. (us)', (run) => us(blockUs(run))],
  // A request is made once and posted many times: there is one figure.
  ['Avg Prep (us)', (run) => us(run.phases?.prepareUs)],
  ['P99 Prep (us)', (run) => us(run.phases?.prepareUs)],
  ['Avg Post (us)', (run) => us(run.phases?.postUs.mean)],
  ['P99 Post (us)', (run) => us(run.phases?.postUs.p99)],
  ['Avg Tx (us)', (run) => us(run.phases?.flightUs.mean)],
  ['P99 Tx (us)', (run) => us(run.phases?.flightUs.p99)],
];

const MORE: readonly Column[] = [
  ['op', (run) => run.op],
  ['size (B)', (run) => String(run.sizeBytes)],
  ['chunk (B)', (run) => String(run.chunkBytes)],
  ['channels', (run) => String(run.channels)],
  ['lanes', (run) => String(run.lanes)],
  ['iterations', (run) => String(run.iterations)],
  ['B/W median (GB/s)', (run) => run.bandwidthGBps.p50.toFixed(6)],
  ['latency p50 (us)', (run) => us(run.latencyUs.p50)],
  ['latency p99 (us)', (run) => us(run.latencyUs.p99)],
  ['initiator CPU (s/GB)', (run) => run.cpuSecondsPerGB.initiator.toFixed(4)],
  ['target CPU (s/GB)', (run) => run.cpuSecondsPerGB.target.toFixed(4)],
  ['provider', (run) => run.provider],
  ['path', (run) => run.path],
  ['memory', (run) => run.memory],
  ['ok', (run) => String(run.ok)],
  ['partial', (run) => run.partial ?? ''],
  ['warnings', (run) => (run.warnings ?? []).join('; ')],
  ['evidence', (run) => run.evidence],
  ['host', (run) => run.host.hostname],
  ['peer', (run) => run.peer.hostname],
  ['recorded at', (run) => run.recordedAt ?? ''],
  ['id', (run) => run.id ?? ''],
];

export function formatNixlbench(runs: readonly BenchResult[]): string {
  return formatTable([
    NIXLBENCH.map(([heading]) => heading),
    ...runs.map((run) => NIXLBENCH.map(([, cell]) => cell(run))),
  ]);
}

export function formatCsv(runs: readonly BenchResult[]): string {
  const columns = [...NIXLBENCH, ...MORE];
  const rows = [
    columns.map(([heading]) => heading),
    ...runs.map((run) => columns.map(([, cell]) => cell(run))),
  ];
  return rows.map((row) => `${row.map(quote).join(',')}\n`).join('');
}

function quote(cell: string): string {
  return /[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** Of one iteration. */
function blocksOf({ requestDepth, op }: BenchResult): number {
  const directions = op === 'both' ? 2 : 1;
  return directions * (requestDepth?.blocks ?? 1) * (requestDepth?.transfers ?? 1);
}

/** All the time over all blocks, as nixlbench reckons: per block, not per request. */
function blockUs(run: BenchResult): number {
  const moved = run.bytesMoved ?? run.sizeBytes * run.iterations;
  const totalUs = moved / run.bandwidthGBps.mean / 1e3;
  return totalUs / (run.iterations * blocksOf(run));
}

function us(value: number | undefined): string {
  return value === undefined || Number.isNaN(value) ? '' : value.toFixed(1);
}
