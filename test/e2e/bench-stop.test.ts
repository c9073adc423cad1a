// Ctrl-C at either end: what was measured so far is printed and kept, and the other end stops too.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { BenchResult } from '../../src/bench/bench-result.js';
import { until } from '../support/until.js';
import { RunningTcpx } from './running-tcpx.js';

const LIMIT_MS = 40_000;
const store = mkdtempSync(join(tmpdir(), 'tcpx-stop-'));
after(() => rmSync(store, { recursive: true, force: true }));

const LONG = ['--size', '64KiB', '--seconds', '60'];
/** Both ends hold their thread for as long as it lasts. */
const ENDLESS = ['--op', 'pingpong', '--size', '64', '--iters', '100000000'];

/** One of each kind: files of the store that hold a result. */
function keptRuns(): BenchResult[] {
  return readdirSync(store)
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(store, name), 'utf8')) as BenchResult);
}

describe('bench: stopped in mid-run', () => {
  test('at the client: figures so far, kept as partial, and the server hears of it', async (t) => {
    const server = new RunningTcpx(['bench', 'server', '--bind', '127.0.0.1', '--port', '0']);
    t.after(() => server.kill());
    await until('it listens', LIMIT_MS, () => / --port \d+/.test(server.stdout));
    const [, port = ''] = / --port (\d+)/.exec(server.stdout) ?? [];
    const [, secret = ''] = /NIXL_TCPX_TRUST_SECRET=(\S+)/.exec(server.stdout) ?? [];
    const run = (shape: readonly string[], hosts = '127.0.0.1') => {
      const words = ['bench', 'client', hosts, '--port', port, ...shape];
      const quick = ['--warmup', '0', '--warmup-seconds', '0', '-i', '1'];
      const kept = ['--store', store, '--keep', '9', '--progress', 'lanes'];
      const env = { NIXL_TCPX_TRUST_SECRET: secret };
      const client = new RunningTcpx([...words, ...quick, ...kept], env);
      t.after(() => client.kill());
      return client;
    };
    const hasMeasured = (client: RunningTcpx) =>
      until('a line of an interval', LIMIT_MS, () => / GB\/s {2}\d/.test(client.stderr));

    const game = run(ENDLESS);
    await hasMeasured(game);
    game.child.kill('SIGINT');
    assert.equal(await game.end(LIMIT_MS), 4, game.stderr);
    assert.match(game.stdout, /^PARTIAL +stopped by the user$/m);
    assert.match(game.stdout, /\(half round trip\)/);
    await until('the server is told', LIMIT_MS, () => /client .* pingpong/.test(server.stderr));

    const pair = run(LONG, '127.0.0.1,127.0.0.1');
    await until('both have measured', LIMIT_MS, () =>
      [0, 1].every((one) => pair.stderr.includes(`initiator ${one}  `)),
    );
    pair.child.kill('SIGINT');
    assert.equal(await pair.end(LIMIT_MS), 4, pair.stderr);
    assert.match(pair.stdout, /^2 initiators, one-to-many$/m);
    assert.match(pair.stdout, /^PARTIAL +stopped by the user$/m);
    const writes = keptRuns().filter(({ op }) => op === 'write');
    assert.equal(writes.length, 2);
    for (const { partial, iterations, bytesMoved, verified } of writes) {
      assert.equal(partial, 'stopped by the user');
      assert.ok(iterations > 0 && bytesMoved === iterations * 65_536);
      assert.ok(verified.iterations > 0 && verified.mismatches === 0);
    }
    await until('the server is told', LIMIT_MS, () => {
      return (server.stderr.match(/client .* of write.* all correct/g) ?? []).length === 2;
    });

    const second = run(ENDLESS);
    await hasMeasured(second);
    server.child.kill('SIGINT');
    assert.equal(await second.end(LIMIT_MS), 4, second.stderr);
    assert.match(second.stderr, /^ERR_\w+: .*bench-target/m);
    assert.match(second.stdout, /^PARTIAL +/m);
    assert.equal(keptRuns().length, 4);
    assert.equal(await server.end(LIMIT_MS), 0, server.stderr);
  });
});
