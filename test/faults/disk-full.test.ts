// A log that cannot be written must not hurt a transfer.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { test } from 'node:test';
import { packageRoot } from '../e2e/child.js';

test('fault: a full disk behind the log, every byte lands all the same', async () => {
  const full = openSync('/dev/full', 'w');
  const words = ['bench', 'loopback', '--size', '8MiB', '--iters', '5', '--json'];
  words.push('--warmup-seconds', '0');
  const bench = spawn(process.execPath, ['bin/tcpx.js', ...words, '--log-level', 'trace'], {
    cwd: packageRoot,
    stdio: ['ignore', 'pipe', full],
  });
  let text = '';
  bench.stdout?.setEncoding('utf8').on('data', (part: string) => (text += part));
  const [code] = (await once(bench, 'close', { signal: AbortSignal.timeout(30_000) })) as [number];
  closeSync(full);
  assert.equal(code, 0);
  const { ok, verified } = JSON.parse(text) as { ok: boolean; verified: { mismatches: number } };
  assert.ok(ok);
  assert.equal(verified.mismatches, 0);
});
