// Several initiators at once, on one machine and as clients of one server.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { BenchResult } from '../../src/bench/bench-result.js';
import type { GroupFigures } from '../../src/bench/group-figures.js';
import { until } from '../support/until.js';
import { runChild, runTcpx, TEST_VARIABLES } from './child.js';
import { RunningTcpx } from './running-tcpx.js';

type Group = GroupFigures & {
  readonly schema: string;
  readonly pattern: string;
  readonly runs: readonly BenchResult[];
};

const SECRET = { NIXL_TCPX_TRUST_SECRET: 'a secret for the group' };
const FEW = ['--size', '64KiB', '--iters', '20', '--warmup', '2', '--verify', 'sample'];
const START_MS = 30_000;

function assertGroup(text: string, pattern: string, members: number): Group {
  const group = JSON.parse(text) as Group;
  assert.deepEqual([group.schema, group.pattern, group.ok], ['tcpx.bench-group/1', pattern, true]);
  assert.equal(group.runs.length, members);
  assert.equal(group.bytes, members * 20 * 65_536);
  assert.ok(group.wallGBps > 0 && group.sumGBps > 0 && group.latencyUs.p50 > 0);
  assert.ok(group.fairness > 0 && group.fairness <= 1 && group.overlap >= 0);
  assert.deepEqual(
    group.runs.map(({ group: place }) => place?.member),
    [...group.runs.keys()],
  );
  return group;
}

describe('bench loopback --pattern', () => {
  for (const pattern of ['many-to-one', 'one-to-many']) {
    test(`${pattern}: all members in one document, each kept`, async (t) => {
      const store = mkdtempSync(join(tmpdir(), 'tcpx-group-'));
      t.after(() => rmSync(store, { recursive: true, force: true }));
      const words = ['bench', 'loopback', '--pattern', pattern, '--peers', '3', ...FEW, '--json'];
      const env = { NIXL_TCPX_BENCH_STORE_DIR: store, NIXL_TCPX_BENCH_KEEP: '9' };
      const { exitCode, stdout, stderr } = await runTcpx(words, env);
      assert.equal(exitCode, 0, stderr);
      assertGroup(stdout, pattern, 3);
      assert.equal(readdirSync(store).length, 3);
    });
  }

  test('for people, in a terminal: a bar, a line for each, and which is the slowest', async () => {
    const words = 'bench loopback --pattern many-to-one --peers 2 --size 64K --verify sample -t 1';
    const line = `'${process.execPath}' bin/tcpx.js ${words}`;
    const env = { ...process.env, ...TEST_VARIABLES, COLUMNS: '100' };
    const { stdout } = await runChild('script', ['-qec', line, '/dev/null'], { env });
    assert.match(stdout, /\[[#.]{20}\] \d+ % {2}\d+\.\d\d GB\/s/);
    assert.match(stdout, /2 initiators, many-to-one\r?$/m);
    assert.match(stdout, /^slowest +initiator [01]: \d+\.\d+ GB\/s\r?$/m);
  });

  test('flags that do not go together: exit 2', async () => {
    for (const flags of [
      ['--pattern', 'ring'],
      ['--peers', '2'],
      ['--pattern', 'many-to-one', '--peers', '0'],
      ['--pattern', 'many-to-one', '--runs', '3'],
    ]) {
      const { exitCode, stderr } = await runTcpx(['bench', 'loopback', ...flags]);
      assert.equal(exitCode, 2, stderr);
    }
  });
});

async function openServer(t: { after(close: () => void): void }, flags: readonly string[]) {
  const server = new RunningTcpx(['bench', 'server', ...flags], SECRET);
  t.after(() => server.kill());
  await until('the server listens', START_MS, () => /port \d+|"port": \d+/.test(server.stdout));
  return { server, port: /port"?:? (\d+)/.exec(server.stdout)?.[1] ?? '' };
}

describe('bench server --initiators', () => {
  test('two clients begin together; the server tells of each, and ends', async (t) => {
    const flags = ['--bind', '127.0.0.1', '--port', '0', '--once', '--initiators', '2'];
    const { server, port } = await openServer(t, flags);
    const client = ['bench', 'client', '127.0.0.1', '--port', port, ...FEW, '--json'];
    const results = await Promise.all([runTcpx(client, SECRET), runTcpx(client, SECRET)]);
    for (const { exitCode, stderr } of results) assert.equal(exitCode, 0, stderr);
    assert.equal(await server.end(START_MS), 0, server.stderr);
    const lines = server.stderr.split('\n').filter((line) => /^client .* 20 iterations/.test(line));
    assert.equal(lines.length, 2, server.stderr);
  });

  test('one that waits in vain for the other gives up, and says for what', async (t) => {
    const flags = ['--bind', '127.0.0.1', '--port', '0', '--once', '--initiators', '2'];
    const { port } = await openServer(t, flags);
    const client = ['bench', 'client', '127.0.0.1', '--port', port, ...FEW];
    const { exitCode, stderr } = await runTcpx([...client, '--deadline', '1500'], SECRET);
    assert.equal(exitCode, 4);
    assert.match(stderr, /^ERR_PEER_TIMEOUT: no begun from the target in 1500 ms/m);
  });
});

describe('bench client HOST,HOST', () => {
  test('one to many: a process for each server', async (t) => {
    const { port } = await openServer(t, ['--bind', '127.0.0.1', '--port', '0', '--once']);
    await openServer(t, ['--bind', '127.0.0.2', '--port', port, '--once']);
    const words = ['bench', 'client', '127.0.0.1,127.0.0.2', '--port', port, ...FEW, '--json'];
    const { exitCode, stdout, stderr } = await runTcpx(words, SECRET);
    assert.equal(exitCode, 0, stderr);
    assertGroup(stdout, 'one-to-many', 2);
  });

  test('one that is not there ends all: exit 4, and which', async (t) => {
    const { port } = await openServer(t, ['--bind', '127.0.0.1', '--port', '0', '--once']);
    const words = ['bench', 'client', '127.0.0.1,127.0.0.3', '--port', port, ...FEW];
    const env = { ...SECRET, NIXL_TCPX_SESSION_CONNECT_TIMEOUT_MS: '500' };
    const { exitCode, stderr } = await runTcpx(words, env);
    assert.equal(exitCode, 4, stderr);
    assert.match(stderr, /^ERR_PEER_UNREACHABLE: initiator 1: .*127\.0\.0\.3/m);
  });
});
