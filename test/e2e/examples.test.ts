// README.md shows the shortest example as it is; agents run theirs through the plugin too. How each
// runs from the package is in documented-programs.test.ts.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { cleanEnvironment, emulatorVariables } from '../native/plugin-environment.js';
import { pluginVariables } from '../native/plugin-params.js';
import { packageRoot, runChild } from './child.js';
import { AGENT_EXAMPLES } from './example-output.js';

const TIMEOUT_MS = 30_000;

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
