// Whether the plugin's helper threads run where the bindings say, in receipts and benchmarks.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { parseCpuList } from '../../src/base/cpu-set.js';
import type { BenchResult } from '../../src/bench/bench-result.js';
import { getThreadAffinity } from '../../src/ffi/libc/cpu-affinity.js';
import { runTcpx } from '../e2e/child.js';
import { emulatorPath, emulatorVariables, type Variables } from './plugin-environment.js';
import {
  closeProviders,
  epochsOf,
  makeMemory,
  openPair,
  temporaryFolder,
  wholeBlock,
} from './tcpx-pair.js';

after(closeProviders);

const MIB = 1024 * 1024;
const cpus = getThreadAffinity();
const FIRST = cpus[0] ?? 0;
const LAST = cpus.at(-1) ?? 0;
const GOOD: Variables = {
  NCCL_GPUDIRECTTCPX_TX_BINDINGS: `eth1:${FIRST}-${FIRST}`,
  NCCL_GPUDIRECTTCPX_RX_BINDINGS: `eth1:${LAST}-${LAST};eth9:0-0`,
};
// Cores that no machine of today has: the plugin's threads stay where they were.
const BAD: Variables = {
  NCCL_GPUDIRECTTCPX_TX_BINDINGS: 'eth1:1020-1021',
  NCCL_GPUDIRECTTCPX_RX_BINDINGS: 'eth1:1022-1023',
};

async function threadsOf(plugin: Variables) {
  const pair = await openPair({ plugin });
  const local = makeMemory(pair.initiator, 2 * MIB);
  const remote = makeMemory(pair.target, 2 * MIB);
  const receipt = await pair.session.write(wholeBlock(local, remote)).done;
  const target = epochsOf(pair.targetSession).set.placements();
  await pair.close();
  return { initiator: receipt.plugin?.threads ?? [], target };
}

describe('tcpx: the plugin’s helper threads', () => {
  test('tcpx: on the bound cores; the receipt names thread and cores of each end', async () => {
    const { initiator, target } = await threadsOf(GOOD);
    assert.deepEqual([initiator.length, target.length], [1, 1], 'one process each');
    assert.equal(initiator[0]?.verdict, 'bound');
    assert.deepEqual(
      initiator[0].threads.map((one) => one.cpus),
      [String(FIRST)],
    );
    assert.equal(target[0]?.verdict, 'bound');
    assert.deepEqual(
      target[0].threads.map((one) => one.cpus),
      [String(LAST)],
    );
    assert.deepEqual(target[0].nics, ['eth1']);
  });

  test('tcpx: on other cores; the receipt says which', async () => {
    const { initiator, target } = await threadsOf(BAD);
    for (const one of [...initiator, ...target]) {
      assert.equal(one.verdict, 'differs');
      assert.match(one.reason, /thread \d+ may run on [\d,-]+; bound are TX eth1:1020-1021/);
      assert.deepEqual(parseCpuList(one.threads[0]?.cpus ?? ''), cpus);
    }
  });

  test('tcpx: nothing is claimed without bindings', async () => {
    const { initiator } = await threadsOf({});
    assert.equal(initiator[0]?.verdict, 'none');
    assert.equal(initiator[0].threads.length, 1);
  });

  test('tcpx bench: the verdict of both ends is in the result and in the text', async () => {
    const words = ['--provider', 'tcpx', '--plugin', emulatorPath, '--nics', 'eth1'];
    const amount = ['--size', '1MiB', '--iters', '1', '--warmup', '0'];
    const env = { ...emulatorVariables, NIXL_TCPX_TCPX_STATE_DIR: temporaryFolder() };
    const good = await runTcpx(['bench', 'loopback', ...words, ...amount, '--json'], {
      ...env,
      ...GOOD,
    });
    assert.equal(good.exitCode, 0, good.stderr);
    const { threads } = JSON.parse(good.stdout) as BenchResult;
    assert.deepEqual(threads, { initiator: 'bound', target: 'bound' });
    const bad = await runTcpx(['bench', 'loopback', ...words, ...amount], { ...env, ...BAD });
    assert.match(bad.stdout, /plugin threads {2}differs: thread \d+ may run on .*\(initiator\)/);
  });

  test('tcpx: bindings without a range, the plugin’s division by zero, are refused', async () => {
    await assert.rejects(
      threadsOf({ NCCL_GPUDIRECTTCPX_TX_BINDINGS: 'eth1:8' }),
      /NCCL_GPUDIRECTTCPX_TX_BINDINGS=eth1:8: eth1: /,
    );
  });
});
