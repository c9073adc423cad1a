// Staging memory that the GPU writes and the kernel refers to: a slot whose bytes are on their way
// gets other pages, and both go on. On a real GPU; skipped without one.

import assert from 'node:assert/strict';
import { readSync } from 'node:fs';
import { test } from 'node:test';
import { openStagingMemory, StagingMemory } from '../ffi/cuda/staging-memory.js';
import { closeFd, createPipe, growPipe } from '../ffi/libc/file-descriptor.js';
import { setIov } from '../ffi/libc/message.hot.js';
import { createIovTable, destroyIovTable } from '../ffi/libc/message.js';
import { fillPipe } from '../ffi/libc/splice.hot.js';
import { withGpu } from '../testing/gpu.js';
import type { Span } from './kernel-queue.js';
import { verifyPattern } from './pattern.js';

const SLOT_BYTES = 512 * 1024;
const SLOTS = 8;

test('gpu staging: what is on its way from a slot stays when the slot gets other memory', (t) =>
  withGpu(t, ({ context, queue }) => {
    const staging = openStagingMemory(context, SLOT_BYTES, SLOTS);
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
      assert.ok(staging.renew(offset));
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
