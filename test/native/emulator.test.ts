// The plugin emulator, driven from C: payload, contract, limits and what it needs to stall.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { runDriver, runDriverWell } from './driver.js';
import { fakeCudaPath } from './plugin-environment.js';

const MIB = 1024 * 1024;

/** Of a process, by the stand-in for libcuda. */
interface CallCounts {
  readonly copiesIn: number;
  readonly copiesOut: number;
  readonly fills: number;
  readonly waits: number;
}

describe('emulator: bytes arrive as sent', () => {
  for (const bytes of [0, 1, 4095, 4096, 4097, 524_287, 524_289, MIB + 1, 64 * MIB]) {
    test(`emulator: ${bytes} bytes over one NIC`, async () => {
      await runDriverWell(['--bytes', String(bytes)]);
    });
  }

  for (const [nics, channels, sockets] of [
    [1, 2, 2],
    [2, 1, 1],
    [3, 1, 2],
    [4, 2, 2],
  ] as const) {
    test(`emulator: ${nics} NICs × ${channels} channels × ${sockets} sockets`, async () => {
      const words = ['--nics', String(nics), '--channels', String(channels)];
      await runDriverWell([...words, '--bytes', String(16 * MIB + 3), '--iters', '2'], {
        NCCL_NSOCKS_PERTHREAD: String(sockets),
      });
    });
  }

  test('emulator: fragments of random length at random places', async () => {
    for (const seed of ['1', '2', '3']) {
      await runDriverWell(['--bytes', String(4 * MIB + 5), '--nics', '2'], {
        TCPX_EMU_FRAGMENTS: 'random',
        TCPX_EMU_SEED: seed,
        NCCL_NSOCKS_PERTHREAD: '2',
      });
    }
  });

  test('emulator: the receiver-ready handshake and inline messages', async () => {
    await runDriverWell(['--bytes', String(4 * MIB)], { NCCL_GPUDIRECTTCPX_RECV_SYNC: '1' });
    await runDriverWell(['--bytes', '2000', '--message', '100', '--memory', 'host'], {
      NCCL_INLINE_THRESHOLD: '2048',
    });
  });

  test('emulator: host receives bypass the bounce buffer', async () => {
    const words = ['--bytes', String(16 * MIB), '--memory', 'host'];
    await runDriverWell(words);
    // As a host device the caller has no struct for the unpack queue.
    await runDriverWell(words, { TCPX_EMU_DEVICE: 'host' });
  });

  test('emulator: the GPU path never touches device memory with the CPU', async () => {
    // The stand-in for libcuda makes device addresses inaccessible.
    await runDriverWell(['--bytes', String(8 * MIB + 7), '--nics', '2'], {
      TCPX_EMU_MEMORY: 'cuda',
      TCPX_EMU_LIBCUDA: fakeCudaPath,
    });
  });

  test('emulator: 100000 small messages lose no page', async () => {
    const words = ['--bytes', '6400000', '--message', '64'];
    await runDriverWell(words, { TCPX_EMU_BOUNCE_BYTES: String(64 * 4096) });
  });

  test('emulator: a pool that holds little more than a message still moves', async () => {
    await runDriverWell(['--bytes', String(16 * MIB)], { TCPX_EMU_BOUNCE_BYTES: String(MIB) });
  });
});

test('emulator: the contract holds where callers break it', async () => {
  const gpu = { TCPX_EMU_MEMORY: 'cuda', TCPX_EMU_LIBCUDA: fakeCudaPath };
  const modes: readonly (readonly [readonly string[], Record<string, string>])[] = [
    [[], {}],
    [['--memory', 'host'], {}],
    [[], gpu],
    // The device handle is the GPU's, and nobody may follow it.
    [['--memory', 'host'], gpu],
  ];
  for (const [words, variables] of modes) {
    const run = await runDriver(['--mode', 'contract', ...words], variables);
    assert.equal(run.exitCode, 0, run.stderr);
    const rules = run.stdout.split('\n').filter((line) => line.startsWith('ok '));
    assert.equal(rules.length, 21, run.stdout);
  }
});

test('emulator: host receives with a plugin whose device handles are the GPU’s', async () => {
  const gpu = { TCPX_EMU_MEMORY: 'cuda', TCPX_EMU_LIBCUDA: fakeCudaPath };
  await runDriverWell(['--bytes', String(4 * MIB), '--memory', 'host'], gpu);
});

test('emulator: runs of pages, in host memory and in that of a GPU', async () => {
  for (const run of ['1', '7', '128']) {
    const variables = { TCPX_EMU_PAGE_RUN: run, TCPX_EMU_POISON: 'full' };
    await runDriverWell(['--bytes', String(8 * MIB + 7)], variables);
    const gpu = { ...variables, TCPX_EMU_MEMORY: 'cuda', TCPX_EMU_LIBCUDA: fakeCudaPath };
    await runDriverWell(['--bytes', String(8 * MIB + 7)], gpu);
    await runDriverWell(['--bytes', String(2 * MIB + 7)], { ...gpu, TCPX_EMU_FRAGMENTS: 'random' });
  }
});

test('emulator: a message costs the GPU’s driver one copy, one fill and no wait', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-emu-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const messages = 16;
  const words = ['--bytes', String((messages * MIB) / 2), '--iters', '1', '--warmup', '0'];
  // The longest run of pages in a scatter list, and the driver's own copies: one per run.
  for (const [run, least, most] of [
    ['1', messages * 100, messages * 128],
    ['128', messages, messages],
  ] as const) {
    const path = join(folder, run);
    await runDriverWell(words, {
      TCPX_EMU_MEMORY: 'cuda',
      TCPX_EMU_LIBCUDA: fakeCudaPath,
      TCPX_EMU_PAGE_RUN: run,
      FAKE_CUDA_COUNTS: path,
    });
    const ends = readFileSync(path, 'utf8').trimEnd().split('\n');
    const [sender, receiver] = ends
      .map((line) => JSON.parse(line) as CallCounts)
      .sort((one, other) => one.fills - other.fills);
    assert.ok(sender !== undefined && receiver !== undefined, `${ends.length} processes`);
    assert.equal(sender.copiesOut, messages);
    assert.equal(sender.waits, 2, 'both streams, at the end');
    // One more is the device handle, with its wait; the driver waits once for each message.
    assert.equal(receiver.copiesIn, messages + 1);
    assert.equal(receiver.fills, messages);
    assert.equal(receiver.waits, messages + 3);
    // One more is the driver's look at the device handle.
    const unpacked = receiver.copiesOut - 1;
    assert.ok(unpacked >= least && unpacked <= most, `${unpacked} runs of pages`);
  }
});

describe('emulator: traps of the original', () => {
  // Both ends stall; which of them notices first is open.
  const stalled = /driver: deadline: (send|receive), channel 0/;

  test('emulator: chunk size unset stalls every message', async () => {
    const run = await runDriver(['--deadline-ms', '600'], { NCCL_DYNAMIC_CHUNK_SIZE: '' });
    assert.equal(run.exitCode, 4);
    assert.match(run.stderr, stalled);
    assert.match(run.stderr, /dynamic chunk size: 0/);
  });

  test('emulator: messages above the chunk size lose pages until nothing moves', async () => {
    const words = ['--bytes', String(64 * MIB), '--message', String(4 * MIB)];
    const variables = { TCPX_EMU_BOUNCE_BYTES: String(16 * MIB) };
    const run = await runDriver([...words, '--deadline-ms', '1500'], variables);
    assert.equal(run.exitCode, 4);
    assert.match(run.stderr, stalled);
    await runDriverWell(words, { ...variables, TCPX_EMU_TOKEN_LEAK: '0' });
  });

  test('emulator: a message that needs more pages than exist stalls with a warning', async () => {
    const run = await runDriver(['--bytes', String(MIB), '--deadline-ms', '1000'], {
      TCPX_EMU_BOUNCE_BYTES: String(MIB / 4),
      NCCL_GPUDIRECTTCPX_TIMEOUT_THRESHOLD_NS: '100000000',
    });
    assert.match(run.stderr, stalled);
    assert.match(run.stderr, /rx recv timeout error 11/);
  });

  test('emulator: skipping the unpack fails verification', async () => {
    const run = await runDriver(['--quiet', '--skip-unpack']);
    assert.equal(run.exitCode, 4);
    assert.match(run.stderr, /byte 0 differs/);
  });

  test('emulator: unpacking after consume fails verification', async () => {
    const run = await runDriver(['--quiet', '--late-unpack', '--bytes', '4096']);
    assert.equal(run.exitCode, 4);
    assert.match(run.stderr, /byte 0 differs/);
  });

  test('emulator: skipping consume ends at the 17th receive', async () => {
    const run = await runDriver(['--quiet', '--skip-consume', '--bytes', String(16 * MIB)]);
    assert.equal(run.exitCode, 4);
    assert.match(run.stderr, /unable to allocate requests/);
  });

  test('emulator: accept takes 5 seconds unless set', async () => {
    const began = Date.now();
    const variables = { NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS: '' };
    await runDriverWell(['--bytes', '1'], variables);
    assert.ok(Date.now() - began >= 5000, `only ${Date.now() - began} ms`);
  });
});

// eslint-disable-next-line max-lines-per-function -- a list of tests
describe('emulator: what processes share about a NIC', () => {
  async function withState(use: (folder: string) => Promise<void>): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), 'tcpx-nics-'));
    try {
      await use(folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  function counter(folder: string, nic: string, name: string): number {
    const text = readFileSync(join(folder, `${nic}.stats`), 'utf8');
    return Number(new RegExp(`^ +${name}: (\\d+)$`, 'm').exec(text)?.[1]);
  }

  test('emulator: devmem counters rise by what arrived, and not in host receives', async () => {
    await withState(async (folder) => {
      const variables = { TCPX_EMU_STATE_DIR: folder };
      await runDriverWell(['--bytes', String(2 * MIB), '--nics', '2'], variables);
      for (const nic of ['eth1', 'eth2']) {
        assert.equal(counter(folder, nic, 'rx_devmem_bytes'), MIB);
        assert.ok(counter(folder, nic, 'rx_devmem_pkts') >= MIB / 4096);
        assert.equal(counter(folder, nic, 'tx_bytes'), MIB);
      }
      await runDriverWell(['--bytes', String(MIB), '--memory', 'host'], variables);
      assert.equal(counter(folder, 'eth1', 'rx_devmem_bytes'), MIB);
      assert.equal(counter(folder, 'eth1', 'rx_bytes'), 2 * MIB);
    });
  });

  test('emulator: the socket budget of a NIC is refused by name and given back', async () => {
    await withState(async (folder) => {
      const variables = { TCPX_EMU_STATE_DIR: folder, NCCL_NSOCKS_PERTHREAD: '2' };
      const words = ['--channels', '2'];
      const over = await runDriver(words, { ...variables, TCPX_EMU_SOCKET_BUDGET: '3' });
      assert.equal(over.exitCode, 4);
      assert.match(over.stderr, /eth1: budget of 3 data sockets used up, held by .*: \d+ 3;/);
      assert.match(over.stderr, /accept returned 3/);
      for (let run = 0; run < 2; run++) {
        await runDriverWell(words, { ...variables, TCPX_EMU_SOCKET_BUDGET: '4' });
      }
    });
  });

  test('emulator: two processes share a budget; sockets of a dead one are free again', async () => {
    await withState(async (folder) => {
      const variables = {
        TCPX_EMU_STATE_DIR: folder,
        NCCL_NSOCKS_PERTHREAD: '2',
        TCPX_EMU_SOCKET_BUDGET: '2',
      };
      const stuck = ['--recv-env', 'TCPX_EMU_FAULT=hang', '--deadline-ms', '2500'];
      const holding = runDriver(['--quiet', '--bytes', String(64 * MIB), ...stuck], variables);
      const holder = await firstHolder(join(folder, 'eth1.sockets'), '2');
      const second = await runDriver(['--quiet'], variables);
      assert.equal(second.exitCode, 4);
      assert.match(second.stderr, new RegExp(`used up, held by .*\\b${holder} 2;`));
      assert.match((await holding).stderr, /receiver killed by signal 9/);
      await runDriverWell([], variables);
    });
  });

  async function firstHolder(path: string, count: string): Promise<string> {
    for (let tries = 0; tries < 200; tries++) {
      const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
      const [pid = '', held] = text.trim().split(' ');
      if (held === count) return pid;
      await setTimeout(10);
    }
    throw new Error(`nobody holds ${count} sockets`);
  }
});
