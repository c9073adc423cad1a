// `tcpx watch` beside a benchmark over the emulator: device-memory packets as they arrive.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { WatchRates } from '../../src/host/watch/watch-rates.js';
import { runTcpx } from '../e2e/child.js';
import { emulatorPath, emulatorVariables, requireNative } from './plugin-environment.js';
import { closeProviders, temporaryFolder } from './tcpx-pair.js';

after(closeProviders);

test('tcpx watch: shows the emulator’s device-memory packets while a benchmark runs', async () => {
  requireNative();
  const counters = temporaryFolder();
  const env = {
    ...emulatorVariables,
    TCPX_EMU_STATE_DIR: counters,
    NIXL_TCPX_TCPX_STATE_DIR: temporaryFolder(),
  };
  const watching = runTcpx(
    ['watch', '--nics', 'eth1,eth2', '--interval-ms', '200', '--count', '20', '--json'],
    env,
  );
  const provider = ['--provider', 'tcpx', '--plugin', emulatorPath, '--nics', 'eth1'];
  const words = [...provider, '--size', '8MiB', '--iters', '4', '--warmup', '0', '--json'];
  const bench = await runTcpx(['bench', 'loopback', ...words], env);
  assert.equal(bench.exitCode, 0, bench.stderr);
  const watch = await watching;
  assert.equal(watch.exitCode, 0, watch.stderr);
  // checked: written by the command under test
  const rates = watch.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as WatchRates);
  const seen = (nic: string, name: string): number =>
    rates.reduce((sum, rate) => {
      const perSecond = rate.nics[nic]?.counterRates[name] ?? 0;
      return sum + (perSecond * rate.intervalMs) / 1000;
    }, 0);
  assert.equal(rates[0]?.nics['eth1']?.evidence, 'emulated');
  // 4 × 8 MiB in pages of 4 KiB at least; intervals are rounded to milliseconds.
  const packets = (4 * 8 * 1024 * 1024) / 4096;
  assert.ok(seen('eth1', 'rx_devmem_pkts') >= packets * 0.95, `${seen('eth1', 'rx_devmem_pkts')}`);
  assert.equal(seen('eth2', 'rx_devmem_pkts'), 0);
  const table = await runTcpx(['watch', '--emulated', counters, '--count', '1']);
  assert.match(table.stdout, /^eth1 \(emulated\) /m);
  assert.match(table.stdout, /rx_devmem_pkts\/s/);
  const none = await runTcpx(['watch', '--emulated', '/nowhere', '--count', '1']);
  assert.equal(none.exitCode, 2);
  assert.match(none.stderr, /no counters in \/nowhere/);
});
