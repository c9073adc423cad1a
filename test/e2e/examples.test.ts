// The programs in examples/ run, and README.md shows the shortest of them as it is.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { cleanEnvironment, emulatorVariables } from '../native/plugin-environment.js';
import { pluginVariables } from '../native/plugin-params.js';
import { packageRoot, runChild } from './child.js';

const TIMEOUT_MS = 30_000;

const AGENT_EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  'two-peers': ['4096 bytes read from target', 'target was told: read'],
  'expanded-two-peers': [
    'round 1: buffers now hold 13 12 11 10',
    'round 2: buffers now hold 23 22 21 20',
    'round 3: buffers now hold 33 32 31 30',
    'target says: thank you',
    'released: true',
  ],
  'partial-metadata': [
    'connection alone: open false, hidden false',
    'first buffer: open true, hidden false',
    'read 1 from the open buffer',
    'second buffer: open true, hidden true',
  ],
  'kv-blocks': [
    ...[0, 1, 2, 3, 4, 5, 6, 7].map((layer) => `layer ${layer} complete`),
    '1600 blocks of 16384 bytes',
  ],
  'many-initiators': ['6 initiators, 393216 bytes in place'],
};

function readText(path: string): string {
  return readFileSync(`${packageRoot}${path}`, 'utf8');
}

describe('examples', () => {
  test('README: the first TypeScript block is examples/ten-lines.ts, ten lines long', () => {
    const block = /^```ts\n(.*?)^```$/ms.exec(readText('README.md'))?.[1];
    assert.equal(block, readText('examples/ten-lines.ts'));
    const lines = block.split('\n').filter((line) => line.trim() !== '');
    assert.equal(lines.length, 10);
  });

  test('ten-lines: the bytes land and the program ends by itself', async () => {
    const result = await runChild(process.execPath, ['dist/examples/ten-lines.js'], {
      timeoutMs: TIMEOUT_MS,
    });
    assert.equal(result.exitCode, 0, result.stderr);
    assert.match(result.stdout, /^1024 bytes landed in \d+ µs\n$/);
  });

  test('receive and send: a line crosses from one process to the other', async () => {
    const receiver = startReceiver();
    const port = await receiver.port;
    const words = ['dist/examples/send.js', '127.0.0.1', port, 'a line of text'];
    const sender = await runChild(process.execPath, words, { timeoutMs: TIMEOUT_MS });
    assert.equal(sender.exitCode, 0, sender.stderr);
    assert.match(sender.stdout, /^14 bytes confirmed in \d+ µs\n$/);
    const { exitCode, stdout } = await receiver.ended;
    assert.equal(exitCode, 0);
    assert.match(stdout, /^from sender \(127\.0\.0\.1:\d+\): a line of text$/m);
  });

  for (const [name, expected] of Object.entries(AGENT_EXAMPLES)) {
    test(`${name}: prints what it should and ends by itself`, async () => {
      const result = await runChild(process.execPath, [`dist/examples/${name}.js`], {
        timeoutMs: TIMEOUT_MS,
      });
      assert.equal(result.exitCode, 0, result.stderr);
      assert.equal(result.stdout, expected.map((line) => `${line}\n`).join(''));
    });
  }

  // Plain buffers go over tcp; kv-blocks has its caches from the agent: the plugin reaches them.
  for (const [name, isCarried] of [['two-peers', false] as const, ['kv-blocks', true] as const]) {
    test(`${name}: with the tcpx provider over the emulator it prints the same`, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'tcpx-example-'));
      const plugin = pluginVariables({ 'tcpx.traceDir': folder });
      const result = await runChild(process.execPath, [`dist/examples/${name}.js`], {
        timeoutMs: TIMEOUT_MS,
        env: { ...cleanEnvironment(), ...emulatorVariables, ...plugin },
      });
      assert.equal(result.exitCode, 0, result.stderr);
      const expected = AGENT_EXAMPLES[name] ?? [];
      assert.equal(result.stdout, expected.map((line) => `${line}\n`).join(''));
      const traces = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
      rmSync(folder, { recursive: true });
      assert.equal(traces.length, 2, 'a plugin process at each end');
      assert.equal(
        traces.some((trace) => /\bisend\b/.test(trace)),
        isCarried,
      );
    });
  }
});

/** Port 0: the kernel chooses, and the receiver prints which one it got. */
function startReceiver() {
  const child = spawn(process.execPath, ['dist/examples/receive.js', '0'], {
    cwd: packageRoot,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: TIMEOUT_MS,
  });
  let stdout = '';
  const port = new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      const found = /listening on port (\d+)/.exec(stdout)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.on('close', () => {
      reject(new Error(`the receiver ended before it listened: ${stdout}`));
    });
  });
  const ended = new Promise<{ exitCode: number | null; stdout: string }>((resolve) => {
    child.on('close', (exitCode) => {
      resolve({ exitCode, stdout });
    });
  });
  return { port, ended };
}
