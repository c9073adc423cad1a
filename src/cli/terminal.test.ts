import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columnsOf, isColoured, paintVerdicts } from './terminal.js';

test('terminal: COLUMNS, then the terminal, else no limit', () => {
  const terminal = { isTTY: true, columns: 132 };
  assert.equal(columnsOf(terminal, { COLUMNS: '60' }), 60);
  assert.equal(columnsOf(terminal, {}), 132);
  assert.equal(columnsOf(terminal, { COLUMNS: 'wide' }), 132);
  assert.equal(columnsOf({ isTTY: true, columns: 0 }, {}), 80);
  assert.equal(columnsOf({}, {}), Number.POSITIVE_INFINITY);
  assert.equal(columnsOf({}, { COLUMNS: '3' }), 20, 'narrower than that nothing can be read');
});

test('terminal: colours where a terminal has them', () => {
  assert.equal(isColoured({ isTTY: true, hasColors: () => true }), true);
  assert.equal(isColoured({ isTTY: true, hasColors: () => false }), false);
  assert.equal(isColoured({ hasColors: () => true }), false);
});

test('terminal: verdicts are painted where they begin a line, nowhere else', () => {
  assert.equal(
    paintVerdicts('pass  a\nskip it'),
    '\u001b[32mpass\u001b[39m  a\n\u001b[2mskip\u001b[22m it',
  );
  assert.equal(paintVerdicts('to pass or fail'), 'to pass or fail');
  assert.equal(paintVerdicts('ERR_CAP_GPU: none'), '\u001b[31mERR_CAP_GPU\u001b[39m: none');
  assert.equal(paintVerdicts('passengers'), 'passengers');
});
