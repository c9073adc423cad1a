// The forms of UCCL's benchmarks, and the line that a server prints, run as printed.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { until } from '../support/until.js';
import { packageRoot, runChild, TEST_VARIABLES } from './child.js';
import { RunningTcpx } from './running-tcpx.js';

const START_MS = 60_000;

function logFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-uccl-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The words that it prints for people, on one line. */
async function openServer(t: TestContext, words: readonly string[]) {
  const variables = { ...TEST_VARIABLES, COLUMNS: '2000' };
  const server = new RunningTcpx(['bench', 'server', ...words], variables);
  t.after(() => server.kill());
  await until('the server prints the line', START_MS, () =>
    / bench client .*\n/.test(server.stdout),
  );
  const line = /^ +(\S.* bench client .*)$/m.exec(server.stdout)?.[1] ?? '';
  return { server, line };
}

/** In a shell, as a person would; `tcpx` is the one of this tree. */
function runLine(line: string, more: string) {
  const command = line.replace(
    / (?:npx )?tcpx bench /,
    ` '${process.execPath}' bin/tcpx.js bench `,
  );
  const env = { ...process.env, ...TEST_VARIABLES };
  return runChild('bash', ['-c', `${command} ${more}`], { cwd: packageRoot, env });
}

describe('bench server: the printed line', () => {
  test('works as printed, and names no host by a word', async (t) => {
    const shape = ['--size=64KiB', '--iters=3', '--skip-warmup=1'];
    const own = ['--nsocks=2', '--nthreads=1', '--impl=d2d', '--no-unix'];
    const words = ['--port', '0', '--once', ...shape, ...own];
    const { server, line } = await openServer(t, words);
    const said =
      /^NIXL_TCPX_TRUST_SECRET=\S+ npx tcpx bench client [0-9a-f.:]+ --port \d+ --size 65536/;
    assert.match(line, said);
    const { exitCode, stdout, stderr } = await runLine(line, own.join(' '));
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /^write of 64 KiB, 3 iterations/);
    assert.equal(await server.end(START_MS), 0, server.stderr);
  });
});

describe('bench: UCCL form', () => {
  test('server GPU, client IP GPU: 4 MiB × 10, port by GPU, logs for its tools', async (t) => {
    const folder = logFolder(t);
    const words = ['1', '--port', '23410', '--once', '--log-dir', folder];
    const { server, line } = await openServer(t, words);
    assert.match(server.stdout, /listening on port 23411/);
    assert.match(line, / bench client \S+ 1 --port 23410$/);
    const { exitCode, stdout, stderr } = await runLine(line, `--log-dir '${folder}' --warmup 1`);
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /^write of 4 MiB, 10 iterations/);
    assert.equal(await server.end(START_MS), 0, server.stderr);
    const names = readdirSync(folder);
    const read = (role: string) => {
      const name = names.find((one) => new RegExp(`^bench_${role}_\\d{8}_\\d{6}\\.log$`).test(one));
      return readFileSync(join(folder, name ?? role), 'utf8');
    };
    assert.match(read('client'), /^\[PERF\] Avg: \d+\.\d{3} ms, BW: \d+\.\d{2} GB\/s$/m);
    assert.equal(read('client').match(/^\[PERF\] Iter \d+ time=/gm)?.length, 10);
    assert.match(read('server'), /^\[PERF\] Avg \(10 iter\): .* BW: \d+\.\d{2} GB\/s$/m);
    assert.match(read('info'), /core ranges of lanes/);
  });
});
