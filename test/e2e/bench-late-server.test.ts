// A client that is started before its server, on a host whose clock is an hour behind: it waits for
// the server, and no figure hangs on what the two clocks say.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sleepMs } from '../../src/base/clock.js';
import type { BenchResult } from '../../src/bench/bench-result.js';
import { RunningTcpx } from './running-tcpx.js';

const HOUR_MS = 3_600_000;
const LIMIT_MS = 40_000;
const PORT = '23530';
/** Loaded before the program: every time of day is an hour ago. */
const SKEW =
  'const Real=Date;globalThis.Date=class extends Real{' +
  `static now(){return Real.now()-${HOUR_MS}}` +
  'constructor(...a){if(a.length)super(...a);else super(Date.now())}};';

test('bench client: before its server, with a clock of its own', async (t) => {
  const env = { NIXL_TCPX_TRUST_SECRET: 'a secret of this test alone' };
  const few = ['--size', '64KiB', '--iters', '20', '--warmup', '1', '--warmup-seconds', '0'];
  const words = ['bench', 'client', '127.0.0.1', '--port', PORT, '--json', ...few];
  const client = new RunningTcpx(words, {
    ...env,
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(SKEW)}`,
  });
  t.after(() => client.kill());
  await sleepMs(1000);
  const listening = ['--bind', '127.0.0.1', '--port', PORT, '--once', '--json'];
  const server = new RunningTcpx(['bench', 'server', ...listening], env);
  t.after(() => server.kill());
  assert.equal(await client.end(LIMIT_MS), 0, client.stderr);
  assert.equal(await server.end(LIMIT_MS), 0, server.stderr);
  const result = JSON.parse(client.stdout) as BenchResult;
  const recordedMs = Date.parse(result.recordedAt ?? '');
  assert.ok(Date.now() - recordedMs > HOUR_MS / 2, 'the clock was behind');
  assert.ok(result.ok && result.verified.iterations === 21 && result.bandwidthGBps.min > 0);
  const [interval] = result.intervals ?? [];
  assert.ok(interval !== undefined && interval.fromS === 0 && interval.toS < LIMIT_MS / 1000);
});
