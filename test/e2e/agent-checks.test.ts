// getXferStatus while a transfer is in flight makes no system call, over either provider, but for
// the core that it lets go: seen by strace on the thread that asks.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  cleanEnvironment,
  emulatorVariables,
  requireNative,
} from '../native/plugin-environment.js';
import { pluginParams, pluginVariables } from '../native/plugin-params.js';
import { packageRoot, runChild } from './child.js';

/** Each lets go of the core: on a busy machine it comes back late. */
const LOOKS = 1000;
/** V8’s own: memory, and its helper threads. The last one lets waiting lanes have the core. */
const ALLOWED = /^(madvise|mprotect|munmap|mmap|futex|getpid|membarrier|sched_yield)\(/;

/** The peer stands still on purpose, and a traced process is slow. */
const PATIENT = {
  'session.stallMs': '60000',
  'session.reconnectMs': '600000',
  'session.progressMs': '600000',
} as const;

const WAYS = [
  { name: 'tcp', params: PATIENT, variables: {} },
  {
    name: 'tcpx',
    params: { ...pluginParams({ 'tcpx.deadlineMs': 600_000 }), ...PATIENT },
    variables: { ...emulatorVariables, ...pluginVariables() },
  },
] as const;

/** Why nothing can be traced here; undefined where it can. */
function obstacle(): string | undefined {
  const { status, error, stderr } = spawnSync('strace', ['-o', '/dev/null', 'true']);
  if (error !== undefined) return `strace: ${error.message} (Debian package strace)`;
  return status === 0 ? undefined : `strace: ${stderr.toString().trim()}`;
}

for (const { name, params, variables } of WAYS) {
  test(`agent, ${name}: ${LOOKS} checks make no system call`, async (t) => {
    const reason = obstacle();
    if (reason !== undefined) {
      t.skip(reason);
      return;
    }
    requireNative();
    const folder = mkdtempSync(join(tmpdir(), 'tcpx-checks-'));
    try {
      const trace = join(folder, 'trace');
      const main = ['dist/test/e2e/agent-checks-main.js', String(LOOKS), JSON.stringify(params)];
      // Without -f: the main thread alone.
      const words = ['-o', trace, process.execPath, ...main];
      const env = { ...cleanEnvironment(), ...variables };
      const run = await runChild('strace', words, { env, cwd: packageRoot, timeoutMs: 60_000 });
      assert.equal(run.exitCode, 0, run.stderr);
      const lines = readFileSync(trace, 'utf8').split('\n');
      const begin = lines.findIndex((line) => line.includes('/looks-begin'));
      const end = lines.findIndex((line) => line.includes('/looks-end'));
      assert.ok(begin >= 0 && end > begin, 'the looks are in the trace');
      const calls = lines.slice(begin + 1, end).filter((line) => !ALLOWED.test(line));
      assert.deepEqual(calls.slice(0, 10), [], `${calls.length} calls in ${LOOKS} checks`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
