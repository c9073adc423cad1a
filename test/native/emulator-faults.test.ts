// Every fault switch of the emulator: what each end sees. The plugin's own exit is status 1.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runDriver } from './driver.js';
import type { Variables } from './plugin-environment.js';

const BYTES = ['--bytes', String(16 * 1024 * 1024)];

async function runFault(side: 'recv' | 'send', fault: string, words: readonly string[] = []) {
  const run = await runDriver([
    ...['--quiet', ...BYTES, '--deadline-ms', '3000', ...words],
    ...[`--${side}-env`, `TCPX_EMU_FAULT=${fault}`],
  ]);
  assert.equal(run.exitCode, 4, `${fault} had no effect: ${run.stdout}`);
  return run.stderr;
}

describe('emulator: faults that end the receiving process', () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['no-cmsg:3', /fatal, \S+<\d+><-\S+<\d+> rx no cmsg/],
    ['header-landing', /data landed on host memory 1 times/],
    ['cmsg-truncated', /fatal, cmsg truncated/],
    ['bytes-mismatch', /cmsg total bytes \d+, expected \d+/],
    ['too-many-fragments', /request too many pages/],
  ];
  for (const [fault, pattern] of cases) {
    test(`emulator: ${fault} exits with 1`, async () => {
      const stderr = await runFault('recv', fault);
      assert.match(stderr, pattern);
      assert.match(stderr, /driver: receiver exited 1\n/);
    });
  }

  test('emulator: crash ends it by a signal', async () => {
    assert.match(await runFault('recv', 'crash:5'), /driver: receiver killed by signal 11/);
    assert.match(await runFault('send', 'crash:5'), /driver: sender killed by signal 11/);
  });
});

describe('emulator: faults that are errors or silence', () => {
  test('emulator: RxDM absent is tried three times, then accept and connect fail', async () => {
    const stderr = await runFault('recv', 'rxdm-absent');
    const tries = stderr.match(/receive-datapath-manager: .*connect\(\) error: 2/g);
    assert.equal(tries?.length, 3);
    assert.match(stderr, /accept returned 3/);
    assert.match(stderr, /connect returned 3/);
  });

  test('emulator: RxDM that refuses is not tried again', async () => {
    const stderr = await runFault('recv', 'rxdm-refused');
    assert.equal(stderr.match(/Create FlowSteerRule Failed/g)?.length, 1);
    assert.match(stderr, /accept returned 3/);
  });

  for (const side of ['recv', 'send'] as const) {
    test(`emulator: peer-closed on the ${side} side gives 2 from test`, async () => {
      assert.match(await runFault(side, 'peer-closed:5'), /test returned 2/);
    });

    test(`emulator: socket-death on the ${side} side hangs without an error`, async () => {
      const stderr = await runFault(side, 'socket-death:5', ['--deadline-ms', '800']);
      // The end that gives up second sees a closed peer; the first has seen nothing but silence.
      const first = stderr.split('\n').find((line) => line.startsWith('driver: '));
      assert.match(first ?? '', /^driver: deadline: (send|receive), channel 0/);
    });

    test(`emulator: hang on the ${side} side blocks inside test`, async () => {
      const stderr = await runFault(side, 'hang:5', ['--deadline-ms', '800']);
      assert.match(stderr, /killed by signal 9/);
    });
  }

  test('emulator: accept-stuck never completes', async () => {
    const stderr = await runFault('recv', 'accept-stuck', ['--deadline-ms', '800']);
    assert.match(stderr, /deadline: accept, channel 0/);
  });

  test('emulator: a fault can be bound to one NIC', async () => {
    const stderr = await runFault('recv', 'socket-death@eth2', [
      ...['--nics', '2', '--deadline-ms', '1500'],
    ]);
    assert.match(stderr, /deadline: (send|receive), channel 1, message \d+\n/);
    assert.doesNotMatch(stderr, /channel 0/);
  });

  test('emulator: an unknown fault or setting fails init', async () => {
    for (const variables of [{ TCPX_EMU_FAULT: 'gremlin' }, { TCPX_EMU_FRAGMENTS: 'round' }]) {
      const run = await runDriver([], variables);
      assert.match(run.stderr, /init returned 3/);
    }
  });

  test('emulator: init that fails is reported as result 3', async () => {
    assert.match(await runFault('recv', 'init'), /init returned 3/);
  });
});

describe('emulator: "rx no cmsg"', () => {
  async function expectNoCmsg(variables: Variables): Promise<void> {
    const run = await runDriver(['--quiet'], variables);
    assert.equal(run.exitCode, 4);
    assert.match(run.stderr, /fatal, \S+ rx no cmsg/);
    assert.match(run.stderr, /driver: receiver exited 1\n/);
  }

  test('emulator: a peer on the same host, without the override, 10 of 10', async () => {
    for (let run = 0; run < 10; run++) await expectNoCmsg({ TCPX_EMU_SAME_HOST: '0' });
  });

  test('emulator: a GPU that is not behind the NIC', async () => {
    await expectNoCmsg({ TCPX_EMU_GPU_NICS: '0=eth2,1=eth1' });
    const bound = { TCPX_EMU_GPU_NICS: '0=eth2,1=eth1', TCPX_EMU_GPU: '1' };
    const run = await runDriver(['--quiet'], bound);
    assert.equal(run.exitCode, 0, run.stderr);
  });

  test('emulator: host receives on the same host need no override', async () => {
    const run = await runDriver(['--quiet', '--memory', 'host'], { TCPX_EMU_SAME_HOST: '0' });
    assert.equal(run.exitCode, 0, run.stderr);
  });
});
