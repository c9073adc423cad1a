// `tcpx diag run` around a benchmark over the emulator: device-memory packets of both NICs.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openRunView } from '../../src/diag/view/run-view.js';
import { packageRoot, runTcpx } from '../e2e/child.js';
import { emulatorPath, emulatorVariables, requireNative } from './plugin-environment.js';
import { closeProviders, temporaryFolder } from './tcpx-pair.js';

after(closeProviders);

test('tcpx diag run: device-memory packets of both emulated NICs are in the bundle', async () => {
  requireNative();
  const out = temporaryFolder();
  const env = {
    ...emulatorVariables,
    TCPX_EMU_STATE_DIR: temporaryFolder(),
    NIXL_TCPX_TCPX_STATE_DIR: temporaryFolder(),
  };
  const provider = ['--provider', 'tcpx', '--plugin', emulatorPath, '--nics', 'eth1,eth2'];
  const size = ['--size', '8MiB', '--iters', '4', '--warmup', '0', '--channels', '2'];
  const bench = ['bench', 'loopback', ...provider, ...size, '--json'];
  const words = ['diag', 'run', '--out', out, '--nics', 'eth1,eth2', '--json', '--'];
  const program = [process.execPath, join(packageRoot, 'bin', 'tcpx.js')];
  const run = await runTcpx([...words, ...program, ...bench], env);
  assert.equal(run.exitCode, 0, run.stderr);
  const { folder } = JSON.parse(run.stdout) as { folder: string };
  const view = openRunView(folder);
  assert.ok(view.begin.isEmulated);
  const summary = readFileSync(join(folder, 'SUMMARY.txt'), 'utf8');
  assert.match(summary, /^evidence +emulated/m);
  for (const name of ['eth1', 'eth2']) {
    const nic = view.nics.find((one) => one.nic === name);
    assert.ok((nic?.rx.devmemPackets ?? 0) > 0, `${name}: ${nic?.rx.devmemPackets ?? 'absent'}`);
    assert.match(summary, new RegExp(`^${name} .*pass$`, 'm'));
  }
});
