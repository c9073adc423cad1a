// A channel that dies while GPU memory leaves through it by reference, and a peer that reads what
// it had received only after the slots carry other bytes: every byte at the target is compared. On
// simulated GPUs everywhere, whose slots get other pages as a real one's do, and on a real GPU
// where there is one.
//
// The other process is stopped in mid-transfer, with chunks in its kernel's queues. Then this end
// loses a channel and uses its slots for a session of its own; only then the other one goes on.
// What its kernel holds it still reads: only what had not left this kernel goes again. So in every
// other round it is stopped before the transfer, until more was sent than its kernel takes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GpuLoopback, type Hardware } from '../../test/support/gpu-loopback.js';
import { openPatternMemory } from '../../test/support/pattern-memory.js';
import { until } from '../../test/support/until.js';
import { sleepMs } from '../base/clock.js';
import { gpuAbsence } from '../ffi/cuda/driver.js';
import { unconfirmedBytes } from '../ffi/libc/socket.js';
import { breakSocket } from '../ffi/libc/socket-accident.js';
import type { Engine } from './engine.js';
import { liveSession } from './session-face.js';

const MIB = 1024 * 1024;
const CHANNELS = 2;
const SETTINGS = {
  'session.local': 'tcp',
  'flow.channels': CHANNELS,
  // Slots for every window, so that all chunks go by reference.
  'gpu.stagingBytes': 32 * MIB,
  // Less than a chunk: the kernel of a peer that does not read never holds all that is under way.
  'socket.bufferBytes': 128 * 1024,
} as const;
/** Longer than a kernel waits with an acknowledgement. */
const STUCK_MS = 60;
const OTHER_BYTES = 32 * MIB;
const OTHER_SEED = 99;

const absence = gpuAbsence();
const SKIP = { cuda: absence === undefined ? false : `needs a GPU: ${absence}`, simulated: false };
const SIZES = {
  simulated: { bytes: 24 * MIB + 5, rounds: 8 },
  cuda: { bytes: 384 * MIB + 5, rounds: 24 },
};

/** Chunks of another session, through the same slots. */
async function openOther(engine: Engine, kind: 'vram' | 'simulated') {
  const source = openPatternMemory(kind, OTHER_BYTES);
  const target = openPatternMemory(kind, OTHER_BYTES);
  source.fill(0, OTHER_BYTES, OTHER_SEED, 0);
  source.settle();
  const local = engine.register(source.source);
  const remote = engine.register(target.source).descriptor;
  const session = await engine.connect('127.0.0.1', engine.listen({ port: 0 }));
  const block = { local, localOffset: 0, remote, remoteOffset: 0, bytes: OTHER_BYTES };
  const move = async (): Promise<void> => {
    await session.write([block]).done;
    assert.equal(target.findMismatch(0, OTHER_BYTES, OTHER_SEED, 0), -1);
  };
  const free = (): void => [source, target].forEach((memory) => memory.free());
  return { move, free };
}

/** Nothing more leaves this kernel, although there is something. */
async function untilStuck(fd: number): Promise<void> {
  let last = 0;
  let sinceMs = performance.now();
  await until('more is sent than the peer takes', 5000, () => {
    const bytes = unconfirmedBytes(fd);
    if (bytes !== last || bytes === 0) sinceMs = performance.now();
    last = bytes;
    return performance.now() - sinceMs > STUCK_MS;
  });
}

async function loseChannels(hardware: Hardware): Promise<{ resent: number; late: number }> {
  const { bytes, rounds } = SIZES[hardware];
  const loopback = await GpuLoopback.open(hardware, SETTINGS);
  const kind = hardware === 'cuda' ? 'vram' : 'simulated';
  const other = await openOther(loopback.engine, kind);
  const there = { memory: loopback.kindOf('vram'), count: 1, blockBytes: bytes };
  const source = openPatternMemory(kind, bytes);
  const local = loopback.engine.register(source.source);
  const { descriptor: remote } = await loopback.ask({ ...there, kind: 'open', seed: 0 });
  assert.ok(remote !== undefined);
  const block = { local, localOffset: 0, remote, remoteOffset: 0, bytes };
  const seen = { resent: 0, late: 0 };
  for (let round = 0; round < rounds; round++) {
    const session = await loopback.engine.connect('127.0.0.1', loopback.port);
    const { durationUs } = await session.write([block]).done;
    source.fill(0, bytes, round, 0);
    source.settle();
    await loopback.ask({ ...there, kind: 'fill', seed: OTHER_SEED });
    const isFull = round % 2 === 0;
    if (isFull) loopback.pause();
    const transfer = session.write([block]);
    const { fd } = liveSession(session).sockets[(round >> 1) % CHANNELS]!;
    if (isFull) await untilStuck(fd);
    else await sleepMs(((durationUs / 1000) * ((round % 5) + 1)) / 10);
    loopback.pause();
    let isInTime = false;
    try {
      await sleepMs(3); // what is on its way fills the queues
      breakSocket(fd);
      await sleepMs(3);
      isInTime = transfer.status === 'active';
      await other.move();
    } finally {
      loopback.resume();
    }
    seen.resent += (await transfer.done).retries;
    if (isInTime) seen.late++;
    const { mismatchAt } = await loopback.ask({ ...there, kind: 'verify', seed: round });
    assert.equal(mismatchAt, -1, `round ${round}`);
    await session.close();
  }
  const sends = loopback.engine.zeroCopyStats().reduce((sum, one) => sum + one.zeroCopied, 0);
  assert.ok(sends > rounds, `${sends} sends by reference`);
  await loopback.ask({ ...there, kind: 'close', seed: 0 });
  await loopback.close();
  [source, other].forEach((memory) => memory.free());
  return seen;
}

for (const hardware of ['simulated', 'cuda'] as const) {
  test(`gpu failover, ${hardware}: a lost channel is read late, all bytes are right`, {
    skip: SKIP[hardware],
  }, async (t) => {
    const seen = await loseChannels(hardware);
    t.diagnostic(`${seen.late} losses in mid-transfer, ${seen.resent} chunks sent again`);
    assert.ok(seen.late >= SIZES[hardware].rounds / 2, JSON.stringify(seen));
    assert.ok(seen.resent >= SIZES[hardware].rounds / 2, JSON.stringify(seen));
  });
}
