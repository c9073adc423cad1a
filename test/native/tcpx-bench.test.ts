// `tcpx bench loopback --provider tcpx` and `tcpx trace` as a user runs them, over the emulator.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchResult } from '../../src/bench/bench-result.js';
import { formatBenchResult } from '../../src/cli/bench-report.js';
import { gpuAbsence } from '../../src/ffi/cuda/driver.js';
import { runTcpx } from '../e2e/child.js';
import { emulatorPath, emulatorVariables, requireNative } from './plugin-environment.js';

const folder = mkdtempSync(join(tmpdir(), 'tcpx-bench-'));
after(() => rmSync(folder, { recursive: true, force: true }));

// Without the override: the benchmark of one host sets it by itself.
const variables = Object.fromEntries(
  Object.entries(emulatorVariables).filter(([name]) => name !== 'TCPX_EMU_SAME_HOST'),
);

function bench(words: readonly string[], more: Record<string, string> = {}) {
  requireNative();
  const common = ['--plugin', emulatorPath, '--iters', '2', '--warmup', '1', '--size', '4MiB'];
  const env = { ...variables, NIXL_TCPX_TCPX_STATE_DIR: folder, ...more };
  return runTcpx(['bench', 'loopback', '--provider', 'tcpx', ...common, ...words], env);
}

async function benchWell(words: readonly string[]): Promise<BenchResult> {
  const run = await bench([...words, '--json']);
  assert.equal(run.exitCode, 0, run.stderr);
  const result = JSON.parse(run.stdout) as BenchResult;
  assertWell(result);
  return result;
}

function assertWell({ evidence, provider, verified }: BenchResult): void {
  assert.deepEqual([evidence, provider], ['emulated', 'tcpx']);
  assert.deepEqual(verified, { iterations: 3, mismatches: 0 });
}

// eslint-disable-next-line max-lines-per-function -- a list of tests
describe('tcpx bench --provider tcpx', () => {
  test('tcpx bench: write says emulated, verifies, counts packets; twice', async () => {
    const run = await bench(['--nics', 'eth1', '--runs', '2', '--json']);
    assert.equal(run.exitCode, 0, run.stdout);
    const { runs } = JSON.parse(run.stdout) as { runs: readonly BenchResult[] };
    assert.equal(runs.length, 2);
    for (const result of runs) {
      assertWell(result);
      assert.equal(result.devmem?.verdict, 'good');
      // The plugin moved it: nothing went over TCP for want of a flag.
      assert.doesNotMatch(formatBenchResult(result), /^path /m);
      assert.ok(result.devmem.packets >= (2 * 4 * 1024 * 1024) / 4096);
    }
  });

  test('tcpx bench: --ifaces=eth2 alone is device 0 of the plugin', async () => {
    const traces = join(folder, 'eth2-alone');
    mkdirSync(traces);
    const result = await benchWell(['--ifaces=eth2', '--trace-dir', traces]);
    const { channels } = result.receipt as { channels: readonly { readonly nic: string }[] };
    assert.deepEqual(
      channels.map(({ nic }) => nic),
      ['eth2'],
    );
    for (const file of readdirSync(traces)) {
      const lines = readFileSync(join(traces, file), 'utf8');
      assert.match(lines, /properties dev=0 name=eth2 /);
      assert.match(lines, /listen channel=0 dev=0\n/);
      assert.doesNotMatch(lines, /dev=1|eth1/);
    }
  });

  test('tcpx bench: read over two NICs, blocks in any order', async () => {
    const result = await benchWell(['--nics', 'eth1,eth2', '--op', 'read', '--block', '300KiB']);
    assert.equal(result.channels, 2);
    assert.equal(result.devmem?.verdict, 'good');
  });

  test('tcpx bench: host receives leave the counter at 0', async () => {
    const result = await benchWell(['--nics', 'eth1', '--host-recv']);
    const { verdict, packets, nics } = result.devmem ?? {};
    assert.deepEqual([verdict, packets, nics?.[0]?.verdict], ['good', 0, 'good']);
    assert.equal((result.receipt as { path: string }).path, 'tcpx host-recv');
  });

  test('tcpx bench: one NIC past device memory fails the run, whatever the other did', async () => {
    for (const op of ['write', 'read']) {
      const words = ['--nics', 'eth1,eth2', '--op', op];
      const run = await bench([...words, '--json'], { TCPX_EMU_FAULT: 'uncounted@eth2' });
      assert.equal(run.exitCode, 1, run.stderr);
      assert.match(run.stderr, /ERR_XFER_PATH: eth2: data arrived, but not through device memory/);
      const { ok, devmem } = JSON.parse(run.stdout) as BenchResult;
      assert.equal(ok, false);
      assert.deepEqual(
        devmem?.nics.map(({ nic, verdict }) => [nic, verdict]),
        [
          ['eth1', 'good'],
          ['eth2', 'failed'],
        ],
      );
    }
  });

  test('tcpx bench: pingpong gives half round trips, what comes back is checked', async () => {
    for (const more of [[], ['--host-recv']]) {
      const words = ['--nics', 'eth1', '--op', 'pingpong', '--size', '4KiB', '--iters', '50'];
      const run = await bench([...words, ...more, '--json']);
      assert.equal(run.exitCode, 0, run.stderr);
      const result = JSON.parse(run.stdout) as BenchResult;
      assert.equal(result.evidence, 'emulated');
      assert.equal(result.op, 'pingpong');
      assert.equal(result.iterations, 50);
      assert.deepEqual(result.verified, { iterations: 1, mismatches: 0 });
      assert.ok(result.latencyUs.p50 > 1 && result.latencyUs.p50 < 1e6, `${result.latencyUs.p50}`);
      assert.equal(result.devmem?.verdict, 'good');
    }
  });

  test('tcpx bench: a window above the plugin’s pool is refused, not cut in silence', async () => {
    const run = await bench(['--nics', 'eth1'], { UCCL_TCPX_WINDOW_SIZE: '17' });
    assert.equal(run.exitCode, 2, run.stderr);
    assert.match(run.stderr, /ERR_CONFIG_VALUE: .*17 .*pool of 16.*UCCL_TCPX_WINDOW_SIZE/);
  });

  test('tcpx bench: the NICs and the rail GPUs follow the map, without a flag', async () => {
    const map = '0=eth1,1=eth1,2=eth2,3=eth2,4=eth3,5=eth3,6=eth4,7=eth4';
    const railsOf = async (words: readonly string[]): Promise<string> => {
      const run = await bench([...words, '--json'], { TCPX_EMU_GPU_NICS: map });
      assert.equal(run.exitCode, 0, run.stderr);
      const { receipt } = JSON.parse(run.stdout) as BenchResult;
      const { channels } = receipt as { channels: readonly { readonly nic: string }[] };
      return channels.map(({ nic }) => nic).join();
    };
    assert.equal(await railsOf([]), 'eth1');
    assert.equal(await railsOf(['--gpu', '5']), 'eth3');
    const all = 'eth1,eth2,eth3,eth4';
    assert.equal(await railsOf(['--gpu', '5', '--nics', all]), all);
    const wrong = await bench(['--gpu', '5', '--nics', 'eth1'], { TCPX_EMU_GPU_NICS: map });
    assert.equal(wrong.exitCode, 2);
    assert.match(wrong.stderr, /GPU 5 is not behind eth1/);
  });

  test('tcpx bench: pingpong without unpacking brings nothing back', async () => {
    const words = ['--nics', 'eth1', '--op', 'pingpong', '--size', '4KiB', '--unpack', 'none'];
    const run = await bench(words);
    assert.equal(run.exitCode, 1, run.stderr);
    assert.match(run.stderr, /ERR_XFER_VERIFY/);
  });

  test('tcpx bench: GPU memory without a GPU is refused with what it needs', async (t) => {
    if (gpuAbsence() === undefined) {
      t.skip('needs a host without a GPU');
      return;
    }
    const run = await bench(['--nics', 'eth1', '--memory', 'vram']);
    assert.equal(run.exitCode, 3);
    assert.match(run.stderr, /ERR_CAP_GPU: memory vram needs an NVIDIA GPU and its driver/);
  });

  test('tcpx bench: without unpacking the answer is no', async () => {
    const run = await bench(['--nics', 'eth1', '--unpack', 'none']);
    assert.equal(run.exitCode, 1);
    assert.match(run.stderr, /ERR_XFER_VERIFY: 3 of 3/);
  });

  test('tcpx bench: the same host without the override is refused, and no stack', async () => {
    const run = await bench(['--nics', 'eth1'], { TCPX_EMU_SAME_HOST: '0' });
    assert.equal(run.exitCode, 4);
    assert.match(run.stderr, /both ends are on one host/);
    assert.doesNotMatch(run.stderr, /\n {4}at /);
  });

  test('tcpx bench: `server GPU` and `client HOST GPU`, the port by base and index', async () => {
    requireNative();
    const stateDir = mkdtempSync(join(folder, 'state-'));
    const env = {
      ...emulatorVariables,
      NIXL_TCPX_TCPX_STATE_DIR: stateDir,
      NIXL_TCPX_TRUST_SECRET: 'a secret of this test alone',
      UCCL_TCPX_BOOTSTRAP_PORT_BASE: '21340',
      NIXL_TCPX_SESSION_PORT_INDEX: '3',
    };
    const plugin = ['--provider', 'tcpx', '--plugin', emulatorPath, '--ifaces=eth1'];
    const serving = runTcpx(['bench', 'server', '0', ...plugin, '--once', '--json'], env);
    const words = ['bench', 'client', '127.0.0.1', '0', ...plugin, '--size', '67108864'];
    let client = await runTcpx([...words, '--iters', '10', '--json'], env);
    // The server may need a moment to start.
    for (let tries = 0; client.exitCode === 4 && /ECONNREFUSED/.test(client.stderr); tries++) {
      assert.ok(tries < 20, client.stderr);
      await sleep(200);
      client = await runTcpx([...words, '--iters', '10', '--json'], env);
    }
    assert.equal(client.exitCode, 0, client.stderr);
    const result = JSON.parse(client.stdout) as BenchResult;
    assert.equal(result.iterations, 10);
    assert.equal(result.verified.mismatches, 0);
    assert.ok(result.bandwidthGBps.p50 > 0 && result.latencyUs.p50 > 0);
    const server = await serving;
    assert.equal(server.exitCode, 0, server.stderr);
    assert.match(server.stdout, /21343/);
  });

  test('tcpx bench: a missing plugin is an environment that lacks something', async () => {
    const run = await bench(['--plugin', '/nowhere.so']);
    assert.equal(run.exitCode, 3, run.stderr);
    assert.match(run.stderr, /ERR_CAP_NET_PLUGIN/);
  });

  test('tcpx bench: two processes over the budget; the refusal names the holder', async () => {
    const over = ['--nics', 'eth1', '--sockets', '2', '--socket-budget', '3'];
    const run = await bench(over);
    assert.notEqual(run.exitCode, 0);
    assert.match(
      run.stderr,
      /eth1: 2 data sockets more exceed the budget of 3; process \d+ holds 2/,
    );
    await benchWell([...over.slice(0, -1), '4']);
  });

  test('tcpx trace: diff of two runs, of both ends, and a summary', async () => {
    await benchWell(['--nics', 'eth1', '--trace-dir', folder]);
    await benchWell(['--nics', 'eth2', '--trace-dir', folder]);
    const named = (role: string, nic: string): string =>
      join(
        folder,
        readdirSync(folder).find((file) => file.startsWith(`trace-${role}-${nic}`)) ?? '',
      );
    const ours = named('bench-target', 'eth1');
    const same = await runTcpx(['trace', 'diff', ours, named('bench-target', 'eth2')]);
    assert.equal(same.exitCode, 0, same.stderr);
    assert.match(same.stdout, /no difference/);
    const other = await runTcpx([
      'trace',
      'diff',
      ours,
      named('bench-initiator', 'eth1'),
      '--json',
    ]);
    assert.equal(other.exitCode, 1);
    const { difference } = JSON.parse(other.stdout) as { difference: { field: string } };
    assert.equal(difference.field, 'call');
    const summary = await runTcpx(['trace', 'summary', ours]);
    assert.equal(summary.exitCode, 0, summary.stderr);
    assert.match(summary.stdout, /every chunk went through its steps in order/);
    assert.equal((await runTcpx(['trace', 'diff', ours])).exitCode, 2);
    assert.equal((await runTcpx(['trace', 'summary', '/nowhere'])).exitCode, 2);
  });

  test('tcpx bench: UCCL_TCPX_DEBUG=1 writes every call into the log', async () => {
    const run = await bench(['--nics', 'eth1'], { UCCL_TCPX_DEBUG: '1' });
    assert.equal(run.exitCode, 0, run.stderr);
    for (const call of ['init', 'listen', 'accept', 'regMr', 'irecv', 'isend', 'irecvConsumed']) {
      assert.match(run.stderr, new RegExp(`plugin call nic=eth1 call="\\d+ [\\d.]+ ${call}[ "]`));
    }
    assert.match(run.stderr, /irecv channel=0 chunk=3 tag=4 bytes=524288 offset=1572864 result=0/);
  });
});
