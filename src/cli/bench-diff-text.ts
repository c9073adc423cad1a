// The comparison of two benchmarks as people read it.

import type { RunsComparison } from '../bench/runs-comparison.js';
import { formatTable } from './print.js';

export function formatComparison(comparison: RunsComparison): string {
  const { speed, figures, differences } = comparison;
  const { ratio, low, high, verdict, reason, runs } = speed;
  const interval = Number.isNaN(low) ? '' : ` (95 %: ${times(low)} … ${times(high)})`;
  const lines = [
    `${verdict}: ${reason}`,
    '',
    `speed     ${times(ratio)} of the first${interval}, by ${comparison.metric}`,
    `runs      ${runs.first} and ${runs.second}`,
    '',
    formatTable([
      ['figure', 'first', 'second', 'ratio'],
      ...figures.map(({ name, first, second }) => [
        name,
        figure(first),
        figure(second),
        times(second / first),
      ]),
    ]).trimEnd(),
  ];
  if (differences.length > 0) {
    const rows = differences.map(({ name, first, second }) => [name, first, second]);
    lines.push('', formatTable([['differs', 'first', 'second'], ...rows]).trimEnd());
  }
  for (const note of comparison.notes) lines.push('', `note: ${note}`);
  return `${lines.join('\n')}\n`;
}

function times(value: number): string {
  return Number.isFinite(value) ? `${value.toFixed(3)}×` : '-';
}

function figure(value: number): string {
  return Number.isFinite(value) ? String(Number(value.toPrecision(4))) : '-';
}
