// The processor's unpack, native and fragment by fragment, against a plain copy.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { randomList } from '../../../../test/support/scatter-lists.js';
import { seededRandom } from '../../../base/random.js';
import { type Mapping, mapMemory, unmapMemory, viewMapping } from '../../../ffi/libc/mapping.js';
import { openUnpackLibrary, type UnpackCall } from '../../../ffi/unpack-library.js';
import { CpuMover, DONE_AT_ONCE } from './chunk-mover.js';

const CHUNK_BYTES = 512 * 1024;
const ROUNDS = 60;
/** Around the place of a chunk: what lies there must stay. */
const MARGIN_BYTES = 64;
const UNTOUCHED = 0xee;

function mapFor(t: TestContext, bytes: number): Mapping {
  const mapping = mapMemory(bytes);
  t.after(() => unmapMemory(mapping));
  return mapping;
}

function unpackRandomLists(t: TestContext, native: UnpackCall | undefined): void {
  const bounce = mapFor(t, 4 * CHUNK_BYTES);
  const list = mapFor(t, 64 * 1024);
  const target = mapFor(t, CHUNK_BYTES + 2 * MARGIN_BYTES);
  const source = new Uint8Array(viewMapping(bounce));
  const entries = new Uint32Array(viewMapping(list));
  const memory = new Uint8Array(viewMapping(target));
  const mover = new CpuMover('kernel', CHUNK_BYTES, native);
  const random = seededRandom(11);
  for (let index = 0; index < source.length; index++) source[index] = random.nextUint32();
  for (let round = 0; round < ROUNDS; round++) {
    const messageBytes = random.nextBetween(1, 200_000);
    const { fragments, entries: made } = randomList(random, {
      messageBytes,
      fragmentBytesMin: 200,
      fragmentBytesMax: 4096,
      slotBytes: 4096,
      isAligned: random.nextChance(0.5),
    });
    entries.set(made);
    memory.fill(UNTOUCHED);
    const expected = memory.slice();
    for (const { sourceOffset, bytes, targetOffset } of fragments) {
      const part = source.subarray(sourceOffset, sourceOffset + bytes);
      expected.set(part, MARGIN_BYTES + targetOffset);
    }
    const slot = {
      entries,
      entriesAddr: list.addr,
      bounceAddr: bounce.addr,
    };
    const region = {
      ...target,
      isDevice: false,
      deviceAddr: 0,
      isRailMemory: false,
      unmap: () => undefined,
    };
    const chunk = { chunk: 0, tag: 1, offset: MARGIN_BYTES, bytes: messageBytes };
    assert.equal(mover.unpack(slot, fragments.length, 4096, region, chunk), DONE_AT_ONCE);
    assert.deepEqual(memory, expected, `round ${round}`);
  }
}

test('processor unpack, native: random lists', (t) => {
  const native = openUnpackLibrary();
  if (native === undefined) {
    t.skip('needs build/native/libtcpx-unpack.so (npm run build:native)');
    return;
  }
  unpackRandomLists(t, native);
});

test('processor unpack, by fragment: random lists', (t) => {
  const missing = openUnpackLibrary('/nonexistent/libtcpx-unpack.so');
  assert.equal(missing, undefined);
  unpackRandomLists(t, missing);
});
