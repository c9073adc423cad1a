import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Mapping, mapMemory, unmapMemory, viewMapping } from '../../../ffi/libc/mapping.js';
import { cpuReader, UnpackQueue } from './unpack-queue.js';

const maps: Mapping[] = [];
after(() => maps.forEach((mapping) => unmapMemory(mapping)));

function memory(bytes: number): Mapping {
  const mapping = mapMemory(bytes);
  maps.push(mapping);
  return mapping;
}

const META_BYTES = 524_416;
const BOUNCE_BYTES = 64 * 1024;
const bounce = memory(BOUNCE_BYTES);

/** A struct as accept fills it; handle and lists behind it. */
function deviceStruct(metaAddr: number): number {
  const page = memory(4096);
  const view = new DataView(viewMapping(page));
  view.setInt32(0, 1, true);
  view.setInt32(4, 7, true);
  view.setBigUint64(8, BigInt(page.addr + 64), true);
  view.setBigUint64(16, 24n, true);
  view.setBigUint64(64, BigInt(metaAddr), true);
  view.setBigUint64(72, BigInt(bounce.addr), true);
  return page.addr;
}

const good = deviceStruct(memory(META_BYTES).addr);
const knowing = (bytes: number) => ({
  ...cpuReader,
  extent: (addr: number) => (addr === bounce.addr ? bytes : cpuReader.extent(addr)),
});

test('unpack queue: the bounce buffer is as large as the driver says, or as was told', () => {
  assert.equal(new UnpackQueue(good, knowing(BOUNCE_BYTES), 0).bounceBytes, BOUNCE_BYTES);
  assert.equal(new UnpackQueue(good, knowing(BOUNCE_BYTES), 4096).bounceBytes, 4096);
  assert.equal(new UnpackQueue(good, knowing(BOUNCE_BYTES), 2 ** 32).bounceBytes, BOUNCE_BYTES);
});

test('unpack queue: where nobody knows, the reach of an offset, and it is said', () => {
  const { bounceBytes, isExtentGuessed } = new UnpackQueue(good, knowing(0), 0);
  assert.equal(bounceBytes, 2 ** 32);
  assert.equal(isExtentGuessed, true);
  assert.equal(new UnpackQueue(good, knowing(0), 4096).isExtentGuessed, false);
});

test('unpack queue: lists that are not mapped as far as they go are refused', () => {
  assert.throws(() => new UnpackQueue(deviceStruct(0x1000), cpuReader, 0), {
    code: 'ERR_NCCLNET_SCATTER_LIST',
    message: /lists at 0x1000 have 0 bytes in memory/,
  });
});
