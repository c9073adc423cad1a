import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fitShellWords, fitText, wrapWords } from './fit-text.js';
import { layTable } from './table.js';

test('fit: words are kept whole where they fit, and broken after separators where not', () => {
  assert.deepEqual(wrapWords('one two three', 7), ['one two', 'three']);
  assert.deepEqual(wrapWords('see eth1,eth2,eth3 now', 9), ['see eth1,', 'eth2,eth3', 'now']);
  assert.deepEqual(wrapWords('abcdefghij', 4), ['abcd', 'efgh', 'ij']);
});

test('fit: what goes on stands below where the text began', () => {
  assert.equal(fitText('remedy: raise the limit', 16), 'remedy: raise\n        the\n        limit');
  assert.equal(
    fitText('latency   4 us p50, 9 us p99', 20),
    'latency   4 us p50,\n          9 us p99',
  );
  assert.equal(fitText('├─ eth0  up  speed 100', 18), '├─ eth0  up  speed\n│        100');
  assert.equal(fitText('as it is', Number.POSITIVE_INFINITY), 'as it is');
});

test('fit: a command line is joined again by its backslashes', () => {
  const line = '  SECRET=abcdefgh tcpx bench client host --port 20000';
  const fitted = fitShellWords(line, 30);
  assert.ok(fitted.split('\n').every(({ length }) => length <= 30));
  assert.equal(fitted.replaceAll(/ \\\n +/g, ' '), line);
});

test('fit: no line of any text is wider, and no letter is lost', () => {
  const words = fc.array(fc.stringMatching(/^[a-z,:=]{1,30}$/), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(words, fc.integer({ min: 20, max: 80 }), (list, columns) => {
      const fitted = fitText(list.join(' '), columns);
      assert.ok(fitted.split('\n').every((line) => line.length <= columns));
      assert.equal(fitted.replaceAll(/\s/g, ''), list.join(''));
    }),
  );
});

test('table: fits as it is, then by broken cells, then in several parts', () => {
  const rows = [
    ['NIC', 'link', 'note'],
    ['eth0', '100', 'carries the control connection'],
  ];
  assert.equal(layTable(rows, 80).split('\n')[1], 'eth0   100  carries the control connection');
  assert.equal(
    layTable(rows, 28),
    'NIC   link  note\neth0   100  carries the\n            control\n            connection\n',
  );
  const wide = [
    ['', ...Array.from({ length: 8 }, (_, index) => `column${index}`)],
    ['row', ...Array.from({ length: 8 }, () => 'x')],
  ];
  const parts = layTable(wide, 40);
  assert.equal(parts.match(/^row/gm)?.length, 3);
  for (let index = 0; index < 8; index++) assert.match(parts, new RegExp(`column${index}`));
});

test('table: no row of any table is wider', () => {
  const cell = fc.stringMatching(/^[a-z0-9 ,]{0,25}$/);
  const rows = fc.integer({ min: 1, max: 9 }).chain((count) =>
    fc.array(fc.array(cell, { minLength: count, maxLength: count }), {
      minLength: 1,
      maxLength: 6,
    }),
  );
  fc.assert(
    fc.property(rows, fc.integer({ min: 20, max: 90 }), (table, columns) => {
      const lines = layTable(table, columns).split('\n');
      assert.ok(
        lines.every((line) => line.length <= columns),
        lines.join('\n'),
      );
    }),
  );
});
