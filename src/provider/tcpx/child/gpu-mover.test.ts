// What a GPU mover keeps for each unpack slot; with a driver that does nothing.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openStubGpu } from '../../../../test/support/stub-gpu.js';
import type { PreparedLaunch } from '../../../ffi/cuda/module.js';
import { CHUNKS_MAX } from '../../../gpu/scatter-entry.js';
import { GpuMover } from './gpu-mover.js';
import type { UnpackSlot } from './unpack-queue.js';

function makeSlots(): UnpackSlot[] {
  return Array.from({ length: CHUNKS_MAX }, () => ({
    entries: new Uint32Array(4),
    entriesAddr: 4096,
    bounceAddr: 8192,
  }));
}

test('gpu mover: slots of a channel that is closed leave no parameters behind', (t) => {
  const { kernels } = openStubGpu();
  const mover = new GpuMover(kernels, 'kernel', 4096);
  const prepare = kernels.prepare.bind(kernels);
  const frees: unknown[] = [];
  t.mock.method(kernels, 'prepare', (name: 'unpack_few'): PreparedLaunch => {
    const launch = prepare(name);
    const free = launch.free.bind(launch);
    t.mock.method(launch, 'free', () => {
      frees.push(launch.parameters.parts);
      free();
    });
    return launch;
  });
  const [kept, closed] = [makeSlots(), makeSlots()];
  const keptParts = kept.map((slot) => mover.packedOf(slot));
  const closedParts = closed.map((slot) => mover.packedOf(slot));
  assert.equal(mover.packedOf(closed[3]!), closedParts[3], 'one for each slot');
  mover.finish();
  mover.forget(closed);
  assert.deepEqual(new Set(frees), new Set(closedParts));
  assert.equal(frees.length, CHUNKS_MAX);
  mover.forget(closed);
  assert.equal(frees.length, CHUNKS_MAX, 'once');
  kept.forEach((slot, index) => assert.equal(mover.packedOf(slot), keptParts[index]));
});
