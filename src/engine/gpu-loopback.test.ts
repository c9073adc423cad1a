// GPU memory between two processes over loopback TCP, verified where it landed: on simulated GPUs
// everywhere, on a real one where there is one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openEngine } from '../../test/support/engine-pair.js';
import { withCode } from '../../test/support/expect-error.js';
import { GPU_ROUNDS } from '../../test/support/gpu.js';
import { GpuLoopback, type Hardware } from '../../test/support/gpu-loopback.js';
import { gpuAbsence } from '../ffi/cuda/driver.js';
import { GpuBuffer } from '../gpu/gpu-buffer.js';

const MIB = 1024 * 1024;
const KINDS = ['dram', 'vram'] as const;
const SESSIONS = GPU_ROUNDS < 10 ? 20 : 1000;
/** Enough for the driver to have grown its own pools. */
const WARM_UP_SESSIONS = 20;

const absence = gpuAbsence();
/** Options of tests by what they need. */
const SKIP = { cuda: absence === undefined ? false : `needs a GPU: ${absence}`, simulated: false };

for (const hardware of ['simulated', 'cuda'] as const satisfies readonly Hardware[]) {
  const options = { skip: SKIP[hardware] };
  const isReal = hardware === 'cuda';

  test(`gpu loopback, ${hardware}: all combinations of memory, both ways`, options, async () => {
    const loopback = await GpuLoopback.open(hardware, { 'lane.count': 2, 'flow.channels': 2 });
    for (const here of KINDS) {
      for (const there of KINDS) {
        for (const blockBytes of [1, 4097, 3 * MIB + 5]) {
          const seen = await loopback.moveBothWays({ here, there, count: 1, blockBytes });
          assert.deepEqual(seen, { write: -1, read: -1 }, `${here} ${there} ${blockBytes}`);
        }
      }
    }
    await loopback.close();
  });

  test(`gpu loopback, ${hardware}: many small blocks of one request`, options, async () => {
    const loopback = await GpuLoopback.open(hardware);
    const count = isReal ? 10_000 : 1000;
    const shape = { here: 'vram', there: 'vram', count, blockBytes: 16 * 1024 } as const;
    assert.deepEqual(await loopback.moveBothWays(shape), { write: -1, read: -1 });
    const odd = { ...shape, blockBytes: 1023 };
    assert.deepEqual(await loopback.moveBothWays(odd), { write: -1, read: -1 });
    await loopback.close();
  });
}

test(`gpu loopback: ${SESSIONS} sessions leave device memory as it was`, {
  skip: SKIP.cuda,
}, async () => {
  const loopback = await GpuLoopback.open('cuda');
  const probe = new GpuBuffer(0, 4096);
  const shape = { here: 'vram', there: 'vram', count: 3, blockBytes: 100_000 } as const;
  const right = { write: -1, read: -1 };
  for (let index = 0; index < WARM_UP_SESSIONS; index++) {
    assert.deepEqual(await loopback.moveBothWays(shape), right);
  }
  const before = probe.freeDeviceBytes();
  for (let index = 0; index < SESSIONS; index++) {
    assert.deepEqual(await loopback.moveBothWays(shape), right);
  }
  assert.equal(probe.freeDeviceBytes(), before);
  probe.free();
  await loopback.close();
});

test('gpu loopback: a write behind its event carries what the GPU made before it', {
  skip: SKIP.cuda,
}, async () => {
  const engine = await openEngine();
  const buffer = new GpuBuffer(0, 256 * MIB);
  const target = new GpuBuffer(0, 256 * MIB);
  const port = engine.listen({ port: 0 });
  const session = await engine.connect('127.0.0.1', port);
  const local = engine.register({ device: 0, addr: buffer.addr, bytes: buffer.bytes });
  const remote = engine.register({ device: 0, addr: target.addr, bytes: target.bytes });
  for (let round = 0; round < 3; round++) {
    // Fills of the same bytes one after the other: only the last seed may arrive.
    for (let seed = 0; seed < 40; seed++) buffer.fill(0, buffer.bytes, seed + round, 0);
    const sourceReady = buffer.recordEvent();
    const block = { local, localOffset: 0, remote: remote.descriptor, remoteOffset: 0 };
    await session.write([{ ...block, bytes: buffer.bytes }], { sourceReady }).done;
    assert.equal(target.findMismatch(0, target.bytes, 39 + round, 0), -1);
  }
  await engine.close();
  buffer.free();
  target.free();
});

test('gpu loopback: memory that is not of the GPU is refused', { skip: SKIP.cuda }, async () => {
  const engine = await openEngine();
  const host = new Uint8Array(new ArrayBuffer(4096));
  const { addr } = engine.register(host);
  const isArgument = withCode('ERR_USAGE_ARGUMENT');
  assert.throws(() => engine.register({ device: 0, addr, bytes: 4096 }), isArgument);
  await engine.close();
});
