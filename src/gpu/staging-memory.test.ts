// Staging memory that the GPU writes and the kernel refers to: a slot whose bytes are on their way
// gets other pages, and both go on. On a real GPU; skipped without one. What fails is tried with a
// driver that says yes or no as asked.

import assert from 'node:assert/strict';
import { readFileSync, readSync } from 'node:fs';
import { test } from 'node:test';
import { withGpu } from '../../test/support/gpu.js';
import { openStubGpu } from '../../test/support/stub-gpu.js';
import { verifyPattern } from '../base/pattern.js';
import { openStagingMemory, StagingMemory } from '../ffi/cuda/staging-memory.js';
import { closeFd, createPipe, growPipe } from '../ffi/libc/file-descriptor.js';
import { setIov } from '../ffi/libc/message.hot.js';
import { createIovTable, destroyIovTable } from '../ffi/libc/message.js';
import { fillPipe } from '../ffi/libc/splice.hot.js';
import { GpuCopyQueue } from './gpu-copy-queue.js';
import type { Span } from './kernel-queue.js';

const SLOT_BYTES = 512 * 1024;
const SLOTS = 8;

test('gpu staging: what is on its way from a slot stays when the slot gets other memory', (t) =>
  withGpu(t, ({ context, queue }) => {
    const { memory: staging } = openStagingMemory(context, SLOT_BYTES, SLOTS);
    assert.ok(staging instanceof StagingMemory, 'slots are registered one by one');
    const pipe = createPipe();
    assert.ok(growPipe(pipe.writeFd, SLOT_BYTES) >= SLOT_BYTES);
    const table = createIovTable();
    const received = new Uint8Array(SLOT_BYTES);
    for (const [lap, slot] of [0, 3, 7, 3].entries()) {
      const offset = slot * SLOT_BYTES;
      const span: Span = { addr: staging.deviceAddr + offset, bytes: SLOT_BYTES };
      queue.wait(queue.fill(span, lap, 0));
      setIov(table, 0, staging.addr + offset, SLOT_BYTES);
      assert.equal(fillPipe(pipe.writeFd, table, 1), SLOT_BYTES, 'the kernel refers to the slot');
      staging.renew(offset);
      queue.wait(queue.fill(span, lap + 100, 0));
      assert.equal(queue.verify(span, lap + 100, 0).count, 0, 'the GPU sees the new pages');
      for (let at = 0; at < SLOT_BYTES; ) at += readSync(pipe.readFd, received, { offset: at });
      assert.equal(verifyPattern(received, lap, 0).count, 0, 'what was sent is what it was');
    }
    destroyIovTable(table);
    closeFd(pipe.readFd);
    closeFd(pipe.writeFd);
    staging.free();
  }));

function isMapped(addr: number): boolean {
  const ranges = readFileSync('/proc/self/maps', 'utf8').matchAll(/^([0-9a-f]+)-([0-9a-f]+) /gm);
  return [...ranges].some(([, from = '', to = '']) => {
    return Number.parseInt(from, 16) <= addr && addr < Number.parseInt(to, 16);
  });
}

test('staging: memory is unmapped when freed, but not after a renewal that failed', () => {
  const gpu = openStubGpu();
  const whole = new StagingMemory(gpu.context, SLOT_BYTES, SLOTS);
  whole.renew(SLOT_BYTES);
  whole.free();
  assert.ok(!isMapped(whole.addr));
  const torn = new StagingMemory(gpu.context, SLOT_BYTES, SLOTS);
  // No page begins there: the kernel does not map it.
  assert.throws(() => torn.renew(1), /mmap.*EINVAL/);
  torn.renew(SLOT_BYTES);
  torn.free();
  assert.ok(isMapped(torn.addr), 'somebody else may have a part of it');
  const refused = new StagingMemory(gpu.context, SLOT_BYTES, SLOTS);
  gpu.refused.add('cuMemHostRegister_v2');
  assert.throws(() => refused.renew(0), /cuMemHostRegister_v2/);
  refused.free();
  assert.ok(isMapped(refused.addr));
});

test('staging: a renewal that fails, fails the queue with its cause', () => {
  const gpu = openStubGpu();
  const shape = { slotBytes: SLOT_BYTES, slotCount: SLOTS, blocksMax: 4 };
  const queue = new GpuCopyQueue(gpu.kernels, 'gather', shape);
  assert.ok(queue.isRenewable && queue.refusal === undefined);
  assert.ok(queue.renew(SLOT_BYTES));
  gpu.refused.add('cuMemHostRegister_v2');
  assert.ok(!queue.renew(SLOT_BYTES));
  assert.ok(queue.isFailed);
  assert.match(queue.error?.message ?? '', /cuMemHostRegister_v2/);
});

test("staging: memory that cannot be registered is the driver's own, and the cause is kept", () => {
  const gpu = openStubGpu();
  gpu.refused.add('cuMemHostRegister_v2');
  const shape = { slotBytes: SLOT_BYTES, slotCount: SLOTS, blocksMax: 4 };
  const queue = new GpuCopyQueue(gpu.kernels, 'gather', shape);
  assert.ok(!queue.isRenewable && !queue.isFailed);
  assert.match(queue.refusal?.message ?? '', /cuMemHostRegister_v2/);
  const into = new GpuCopyQueue(gpu.kernels, 'scatter', shape);
  assert.equal(into.refusal, undefined, 'nothing is sent from there');
});
