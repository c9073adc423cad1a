// A comparison as people read it.

import { formatBytes, plural } from '../base/units.js';
import type { CompareOutcome } from '../bench/compare/compare-run.js';
import type { BindingRoof, ComparedRow, Roof, Work } from '../bench/compare/comparison.js';
import { medianOf } from '../bench/statistics.js';
import { formatTable } from './print.js';

const NAMES: Readonly<Record<Work, string>> = {
  write: 'WRITE',
  read: 'READ',
  latency: '4 KiB half trip',
};

export function formatComparisonTable(outcome: CompareOutcome, congestion: string): string {
  const { checked, rounds, rows, roofs, binding, absent, failed, partial } = outcome;
  const { host, evidence } = checked;
  const heading = ['what', 'against', 'ours', 'theirs', 'ours better by', 'interval', ''];
  return (
    `${formatBytes(checked.sizeBytes)}, ${plural(checked.channels, 'channel')}, ${congestion}; ` +
    `${plural(rounds, 'round')} in turn, medians\n\n` +
    (rows.length === 0 ? formatOwn(outcome) : formatTable([heading, ...rows.map(cellsOf)])) +
    `\n${formatTable([['roof', 'GB/s', ''], ...roofs.map(roofCells)])}\n` +
    binding.map(formatBinding).join('') +
    (absent.length === 0 ? '' : `not installed   ${absent.join(', ')}\n`) +
    failed.map(({ name, reason }) => `no figure       ${name}: ${firstLine(reason)}\n`).join('') +
    (partial === undefined ? '' : `PARTIAL         ${partial}\n`) +
    `${evidence} on     ${host.cpu}, ${host.cores} cores, Linux ${host.kernel}, Node ${host.node}\n`
  );
}

function figureText(work: Work, value: number): string {
  return work === 'latency' ? `${value.toFixed(2)} µs` : `${(value / 1e9).toFixed(2)} GB/s`;
}

/** Ours alone: there is no peer, or none has had its turn. */
function formatOwn({ series, partial }: CompareOutcome): string {
  const rows = series
    .filter(({ isOurs }) => isOurs)
    .map(({ work, figures }) => [NAMES[work], figureText(work, medianOf(figures))]);
  const why = partial === undefined ? 'nobody to compare with' : 'no peer has had its turn';
  return `${rows.length === 0 ? '' : formatTable([['what', 'ours'], ...rows])}${why}\n`;
}

function cellsOf({ work, peer, ours, theirs, ratio, verdict }: ComparedRow): string[] {
  const figure = (value: number): string => figureText(work, value);
  const { pairs, low, high, confidence } = ratio;
  const percent = (100 * confidence).toFixed(0);
  const range = pairs === 1 ? 'one turn' : `${low.toFixed(2)} … ${high.toFixed(2)}, ${percent} %`;
  const isFar = verdict === 'peer far behind' || verdict === 'peer far ahead';
  return [
    NAMES[work],
    peer,
    figure(ours),
    figure(theirs),
    `${ratio.median.toFixed(2)}×`,
    range,
    isFar ? `${verdict}, ${plural(pairs, 'turn')}` : verdict,
  ];
}

/** A roof is measured as inexactly as what is below it; more than this is no roof. */
const SHARE_MAX = 1.1;

function roofCells({ name, figures, detail }: Roof): string[] {
  const rate = figures.length === 0 ? '-' : (medianOf(figures) / 1e9).toFixed(2);
  return [name, rate, detail];
}

function formatBinding({ work, name, bytesPerSecond, share }: BindingRoof): string {
  const percent = (100 * share).toFixed(0);
  const rate = (bytesPerSecond / 1e9).toFixed(2);
  const of = `${percent} % of ${rate} GB/s`;
  if (share <= SHARE_MAX) return `${NAMES[work]} is bound by ${name}: ${of}\n`;
  return `${NAMES[work]} is above ${name}, ${of}: the machine was not alike in all turns\n`;
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}
