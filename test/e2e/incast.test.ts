// Many senders to one target: nobody is taken for dead, and shares are nearly equal.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { packageRoot } from './child.js';

/** The cells of the last row. */
async function measure(...words: string[]): Promise<string[]> {
  const script = join(packageRoot, 'dist/scripts/incast.js');
  const options = { timeout: 60_000 };
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...words], options);
  const row = stdout.trim().split('\n').at(-1) ?? '';
  return row
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

test('incast: eight initiators at one target, no false alarm, fair shares', async () => {
  const row = await measure('--seconds', '2', '8');
  const [count, rate, shares = '', alarms] = row;
  assert.equal(count, '8');
  assert.ok(Number(rate) > 0, row.join());
  assert.equal(alarms, '0', row.join());
  const [least = 0, most = 0] = shares.split(' … ').map(Number);
  assert.ok(least > 0.7 && most < 1.3, row.join());
});

test('incast --quiet: both peers move, and the small writes are timed', async () => {
  const row = await measure('--quiet', '--seconds', '1', '--runs', '1');
  assert.equal(row.length, 6);
  assert.ok(
    row.every((cell) => Number(cell) > 0),
    row.join(),
  );
});
