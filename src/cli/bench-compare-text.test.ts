import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CompareOutcome } from '../bench/compare/compare-run.js';
import { compareSeries, type Series } from '../bench/compare/comparison.js';
import { formatComparisonTable } from './bench-compare-text.js';

test('compare: each row has the confidence of its own turns, a far one its number of turns', () => {
  const series = (name: string, figure: number, turns: number, isOurs = false): Series => {
    const figures = Array.from({ length: turns }, () => figure);
    return { name, work: 'write', isOurs, figures };
  };
  const rows = compareSeries([
    series('ours', 6e9, 6, true),
    series('six', 5e9, 6),
    series('five', 5e9, 5),
    series('far', 1e9, 2),
    series('once', 1e9, 1),
  ]);
  const host = { cpu: 'c', cores: 2, kernel: 'k', node: 'n' };
  const checked = { sizeBytes: 4096, channels: 1, host, evidence: 'measured' };
  const lists = { roofs: [], binding: [], absent: [], failed: [] };
  // checked: the fields that the table reads
  const outcome = { checked, rounds: 6, rows, ...lists } as unknown as CompareOutcome;
  const text = formatComparisonTable(outcome, 'cubic');
  assert.match(text, /^WRITE +six .* 1\.20 … 1\.20, 97 % +better$/m);
  assert.match(text, /^WRITE +five .* 1\.20 … 1\.20, 94 % +not decided$/m);
  assert.match(text, /^WRITE +far .* 6\.00 … 6\.00, 50 % +peer far behind, 2 turns$/m);
  assert.match(text, /^WRITE +once .* one turn +not decided$/m);
  const roof = (share: number) => [{ work: 'write', name: 'loopback', bytesPerSecond: 1e9, share }];
  const bound = (share: number) =>
    // checked: as above
    formatComparisonTable({ ...outcome, binding: roof(share) } as CompareOutcome, 'cubic');
  assert.match(bound(0.9), /^WRITE is bound by loopback: 90 % of 1\.00 GB\/s$/m);
  assert.match(bound(1.6), /^WRITE is above loopback, 160 % .*: the machine was not alike/m);
  const alone = { ...outcome, rows: [], series: [series('ours', 6e9, 1, true)] };
  const stopped = formatComparisonTable({ ...alone, partial: 'stopped by the user' }, 'cubic');
  assert.match(stopped, /^WRITE +6\.00 GB\/s\nno peer has had its turn$/m);
});
