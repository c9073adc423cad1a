// A link that has become a tenth slower: `bench diff` says so. A run against itself is the same.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { netLabObstacle, openNetLab } from '../support/net-lab.js';
import { packageRoot, runChild, runTcpx, TEST_VARIABLES } from './child.js';

const VARIABLES = { ...TEST_VARIABLES, NIXL_TCPX_TRUST_SECRET: 'a secret for the link' };
const PORT = '20110';
const START_MS = 15_000;

/** The result of a run over one link of that rate. */
async function runOver(t: TestContext, rateMbit: number): Promise<string> {
  const lab = openNetLab([rateMbit]);
  try {
    const env = { ...process.env, ...VARIABLES };
    const tcpx = [process.execPath, 'bin/tcpx.js', 'bench'];
    const server = [...tcpx, 'server', '--once', '--json', '--port', PORT];
    const [program = '', ...rest] = lab.inside('right', server);
    const options = { cwd: packageRoot, env, stdio: ['ignore', 'pipe', 'inherit'] } as const;
    const target = spawn(program, rest, { ...options, stdio: [...options.stdio] });
    t.after(() => target.kill('SIGKILL'));
    await once(target.stdout, 'data', { signal: AbortSignal.timeout(START_MS) });
    const host = lab.links[0]?.rightHost ?? '';
    const flags = ['--port', PORT, '--size', '4MiB', '--iters', '40', '--warmup', '5', '--json'];
    const [client = '', ...words] = lab.inside('left', [...tcpx, 'client', host, ...flags]);
    const { exitCode, stdout, stderr } = await runChild(client, words, { env });
    assert.equal(exitCode, 0, stderr);
    return stdout;
  } finally {
    lab.close();
  }
}

test('bench diff: a link of nine tenths of the rate is slower, by its samples', async (t) => {
  const obstacle = netLabObstacle();
  if (obstacle !== undefined) {
    t.skip(obstacle);
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-slowed-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [whole, slowed] = [join(folder, 'whole.json'), join(folder, 'slowed.json')];
  writeFileSync(whole, await runOver(t, 400));
  writeFileSync(slowed, await runOver(t, 360));
  const same = await runTcpx(['bench', 'diff', whole, whole, '--json']);
  assert.equal((JSON.parse(same.stdout) as { verdict: string }).verdict, 'same');
  const diff = await runTcpx(['bench', 'diff', whole, slowed, '--json']);
  assert.equal(diff.exitCode, 1, diff.stdout);
  const { verdict, speed } = JSON.parse(diff.stdout) as {
    verdict: string;
    speed: { ratio: number };
  };
  assert.equal(verdict, 'slower');
  // A busy machine takes some of the slower run too.
  assert.ok(Math.abs(speed.ratio - 0.9) < 0.07, String(speed.ratio));
});
