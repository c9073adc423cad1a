// Many senders to one target: nobody is taken for dead, and shares are nearly equal.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { packageRoot } from './child.js';

test('incast: eight initiators at one target, no false alarm, fair shares', async () => {
  const script = join(packageRoot, 'dist/scripts/incast.js');
  const words = [script, '--seconds', '2', '8'];
  const { stdout } = await promisify(execFile)(process.execPath, words, { timeout: 60_000 });
  const row = stdout.trim().split('\n').at(-1) ?? '';
  const [count, rate, shares = '', alarms] = row
    .split('|')
    .slice(1)
    .map((cell) => cell.trim());
  assert.equal(count, '8');
  assert.ok(Number(rate) > 0, row);
  assert.equal(alarms, '0', row);
  const [least = 0, most = 0] = shares.split(' … ').map(Number);
  assert.ok(least > 0.7 && most < 1.3, row);
});
