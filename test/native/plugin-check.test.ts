// `tcpx plugin check` as a user runs it, on the emulator and on what is none.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { RuleResult } from '../../src/provider/tcpx/check/check-rules.js';
import { runTcpx } from '../e2e/child.js';
import {
  emulatorPath,
  emulatorVariables,
  requireNative,
  type Variables,
} from './plugin-environment.js';

const folder = mkdtempSync(join(tmpdir(), 'tcpx-check-'));
after(() => rmSync(folder, { recursive: true, force: true }));

interface CheckDocument {
  readonly ok: boolean;
  readonly evidence: string;
  readonly rules: readonly RuleResult[];
}

async function check(more: Variables, words: readonly string[] = []) {
  requireNative();
  const env = { ...emulatorVariables, NIXL_TCPX_TCPX_STATE_DIR: folder, ...more };
  const run = await runTcpx(['plugin', 'check', emulatorPath, '--json', ...words], env);
  const found = run.stdout === '' ? undefined : (JSON.parse(run.stdout) as CheckDocument);
  const verdicts = (verdict: string): string[] =>
    (found?.rules ?? []).filter((rule) => rule.verdict === verdict).map(({ id }) => id);
  const seen = (id: string): string => found?.rules.find((rule) => rule.id === id)?.seen ?? '';
  return { ...run, found, verdicts, seen };
}

describe('tcpx plugin check', () => {
  test('plugin check: the emulator keeps every rule; virtual NICs are a difference', async () => {
    const { exitCode, found, verdicts, stderr } = await check({});
    assert.equal(exitCode, 0, stderr);
    assert.equal(found?.ok, true);
    assert.equal(found.evidence, 'emulated');
    assert.deepEqual(verdicts('differs'), ['pci']);
    assert.deepEqual(verdicts('skip'), []);
    assert.ok(verdicts('pass').length > 30);
  });

  test('plugin check: as a host device, on a NIC that is named', async () => {
    const { exitCode, seen } = await check({ TCPX_EMU_DEVICE: 'host' }, ['--nics', 'eth3']);
    assert.equal(exitCode, 1);
    assert.match(seen('unpack'), /netDeviceType 0/);
  });

  test('plugin check: what the provider relies on fails by name, comms are closed', async () => {
    const state = { TCPX_EMU_STATE_DIR: folder, TCPX_EMU_SOCKET_BUDGET: '1' };
    const bad = { ...state, TCPX_EMU_BAD_DEVICE: 'version' };
    for (let run = 0; run < 2; run++) {
      const { exitCode, verdicts, seen } = await check(bad);
      assert.equal(exitCode, 1);
      assert.deepEqual(verdicts('fail'), ['device'], 'the budget of one socket is free again');
      assert.match(seen('device'), /version 8/);
      assert.ok(verdicts('skip').includes('payload'));
    }
  });

  test('plugin check: a plugin that ends its process costs a rule, not the command', async () => {
    const { exitCode, verdicts, seen } = await check({ TCPX_EMU_FAULT: 'crash:3' });
    assert.equal(exitCode, 1);
    assert.deepEqual(verdicts('fail'), ['payload']);
    assert.match(seen('payload'), /ended by SIGSEGV/);
    assert.match(seen('close'), /process had ended \(payload\)/);
  });

  test('plugin check: a library that is none is an environment that lacks something', async () => {
    const run = await runTcpx(['plugin', 'check', '/nowhere.so'], {});
    assert.equal(run.exitCode, 3);
    assert.match(run.stderr, /ERR_CAP_NET_PLUGIN/);
    assert.match(run.stdout, /^fail +load /m);
  });
});
