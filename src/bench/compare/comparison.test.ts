import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bindingRoofs, compareSeries, type Roof, type Series } from './comparison.js';

const six = (figure: number): number[] => Array.from({ length: 6 }, () => figure);

const own: Series = { name: 'ours', work: 'write', isOurs: true, figures: six(6e9) };
const series: readonly Series[] = [
  own,
  { name: 'ours', work: 'latency', isOurs: true, figures: six(8) },
  { name: 'slower', work: 'write', isOurs: false, figures: six(5e9) },
  { name: 'varies', work: 'write', isOurs: false, figures: [5e9, 7e9, 5e9, 7e9, 5e9, 7e9] },
  { name: 'quicker', work: 'latency', isOurs: false, figures: six(6) },
  { name: 'reads', work: 'read', isOurs: false, figures: six(1) },
];

test('compare: like with like, and above 1 is better for us in either unit', () => {
  const rows = compareSeries(series);
  assert.deepEqual(
    rows.map(({ peer, verdict, ratio }) => [peer, verdict, Number(ratio.median.toFixed(2))]),
    [
      ['slower', 'better', 1.2],
      ['varies', 'not decided', 0.86],
      ['quicker', 'worse', 0.75],
    ],
  );
});

test('compare: fewer than six turns make nothing better or worse; two may show it is far', () => {
  const verdictOf = (figure: number, turns: number) => {
    const figures = six(figure).slice(0, turns);
    return compareSeries([own, { ...own, name: 'few', isOurs: false, figures }])[0]?.verdict;
  };
  for (const figure of [1e9, 5e9, 7e9, 25e9]) assert.equal(verdictOf(figure, 1), 'not decided');
  assert.equal(verdictOf(5e9, 5), 'not decided');
  assert.equal(verdictOf(1e9, 2), 'peer far behind');
  assert.equal(verdictOf(25e9, 2), 'peer far ahead');
  assert.equal(verdictOf(1e9, 6), 'better');
  assert.equal(verdictOf(25e9, 6), 'worse');
});

test('compare: a round that failed for one is left out of the pair, not counted as nothing', () => {
  const lame = { ...own, name: 'lame', isOurs: false, figures: [3e9, Number.NaN, 3e9] };
  const [row] = compareSeries([own, lame]);
  assert.equal(row?.ratio.pairs, 2);
  assert.equal(row.ratio.median, 2);
  assert.deepEqual(compareSeries([own, { ...lame, figures: [] }]), []);
});

test('compare: the lowest roof that is known and in the path binds', () => {
  const roof = (name: string, figures: readonly number[], applies = true): Roof => {
    return { name, figures, applies, detail: '' };
  };
  const copy = roof('memory copy', [9e9, 10e9, 8e9]);
  const roofs = [copy, roof('GPU copy', [1e9], false), roof('link', []), roof('loopback', [12e9])];
  const [binding] = bindingRoofs(series, roofs);
  assert.equal(binding?.name, 'memory copy');
  assert.equal(binding.share.toFixed(3), '0.667');
  assert.deepEqual(bindingRoofs(series, [roof('link', [])]), [], 'unknown binds nothing');
});
