// A benchmark over the plugin whose peer goes away: the reason at once, not the deadline.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { loadConfig, setDefaultVariables } from '../../src/base/config.js';
import { isTcpxError } from '../../src/base/errors.js';
import { createLog } from '../../src/base/log.js';
import { openBenchService } from '../../src/bench/bench-service.js';
import { runBench } from '../../src/bench/bench-session.js';
import { emulatorPath, emulatorVariables, requireNative } from './plugin-environment.js';
import { closeProviders, openProvider, temporaryFolder } from './tcpx-pair.js';

after(closeProviders);

const DEADLINE_MS = 60_000;
const SOON_MS = 10_000;

function benchOptions() {
  requireNative();
  setDefaultVariables(emulatorVariables);
  const config = loadConfig({
    environment: {},
    options: {
      'engine.provider': 'tcpx',
      'bench.sizeBytes': 1024 * 1024,
      'bench.iterations': 1_000_000,
      'bench.warmupSeconds': 0,
      'bench.deadlineMs': DEADLINE_MS,
      'plugin.path': emulatorPath,
      'session.nics': 'eth1',
      'tcpx.steeringWaitUs': 1000,
      'tcpx.sockets': 1,
      'tcpx.stateDir': temporaryFolder(),
    },
  });
  const log = createLog({ level: 'error', format: 'text', write: () => undefined });
  return { config, log, host: '127.0.0.1' };
}

async function assertSoon(run: Promise<unknown>): Promise<void> {
  const began = performance.now();
  await assert.rejects(run, (error) => {
    assert.ok(isTcpxError(error), String(error));
    assert.match(error.code, /^ERR_PEER_(LOST|GOODBYE)/, error.message);
    return true;
  });
  assert.ok(performance.now() - began < SOON_MS, 'long before the deadline');
}

describe('tcpx bench: the peer goes', () => {
  test('tcpx bench: a peer that closes while a question waits', async () => {
    const options = benchOptions();
    const target = await openProvider('target', {}, { onNotification: () => void target.close() });
    const port = target.listen({ host: '127.0.0.1', port: 0 });
    await assertSoon(runBench({ ...options, port, onProgress: () => undefined }));
  });

  test('tcpx bench: a target that closes in mid-run', async () => {
    const options = benchOptions();
    const service = await openBenchService({ ...options, port: 0 });
    let closing: Promise<void> | undefined;
    const onProgress = (): void => {
      closing ??= service.close();
    };
    await assertSoon(runBench({ ...options, port: service.port, onProgress }));
    await closing;
  });
});
