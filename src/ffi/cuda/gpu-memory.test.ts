// The driver's memory, copies, streams, events and sharing, on a real GPU; skipped without one.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, fstatSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { withGpu } from '../../../test/support/gpu.js';
import { randomBytes } from '../../../test/support/scatter-lists.js';
import { isTcpxError } from '../../base/errors.js';
import { seededRandom } from '../../base/random.js';
import { DeviceAttribute, deviceAttribute, deviceByOrdinal, deviceByPciAddress } from './device.js';
import { DeviceMemory } from './device-memory.js';
import { addressOf } from './fixed-memory.js';
import { exportIpc } from './ipc.js';
import { GpuModule } from './module.js';
import { PinnedMemory, RegisteredMemory } from './pinned-memory.js';
import {
  createSharedMemory,
  exportAllocationFd,
  exportDmaBufFd,
  importSharedMemory,
} from './shared-memory.js';
import { GpuEvent, GpuStream } from './stream.js';

const BYTES = 1_000_003;

test('gpu device: found by ordinal and by its PCI address; an absent one is named', (t) =>
  withGpu(t, ({ context }) => {
    const { driver, device } = context;
    assert.equal(deviceByPciAddress(driver, device.pciAddress).ordinal, device.ordinal);
    assert.ok(device.multiprocessors > 0 && device.memoryBytes > 2 ** 30);
    assert.ok(context.isCurrent());
    assert.throws(
      () => deviceByOrdinal(driver, 99),
      (error: unknown) => isTcpxError(error, 'ERR_CAP_GPU'),
    );
  }));

test('gpu errors: a refused call carries the driver’s name for it', (t) =>
  withGpu(t, ({ context }) => {
    assert.throws(
      () => new DeviceMemory(context, 2 ** 50),
      (error: unknown) =>
        isTcpxError(error, 'ERR_CUDA_CALL') &&
        error.facts['name']?.toString().startsWith('CUDA_ERROR_OUT_OF_MEMORY') === true,
    );
    assert.throws(
      () => new GpuModule(context, 'broken', '.version 7.0\n.target sm_80\nnonsense'),
      (error: unknown) => isTcpxError(error, 'ERR_CUDA_CALL') && /INVALID_PTX/.test(error.message),
    );
  }));

test('gpu copies: host to device to device to host gives the same bytes', (t) =>
  withGpu(t, ({ context }) => {
    const content = randomBytes(seededRandom(1), BYTES);
    const source = new PinnedMemory(context, BYTES);
    const target = new PinnedMemory(context, BYTES);
    new Uint8Array(source.buffer).set(content);
    const first = new DeviceMemory(context, BYTES);
    const second = new DeviceMemory(context, BYTES);
    const stream = new GpuStream(context);
    const event = new GpuEvent(context);
    const { queue } = stream;
    context.check(queue.copyHostToDevice(first.addr, source.addr, BYTES), 'cuMemcpyHtoDAsync_v2');
    context.check(queue.copyDeviceToDevice(second.addr, first.addr, BYTES), 'cuMemcpyDtoDAsync_v2');
    context.check(queue.copyDeviceToHost(target.addr, second.addr, BYTES), 'cuMemcpyDtoHAsync_v2');
    event.record(stream);
    event.synchronize();
    assert.ok(event.hasHappened() && stream.isIdle());
    assert.ok(Buffer.from(target.buffer).equals(content));
    for (const memory of [first, second, source, target]) memory.free();
    event.destroy();
    stream.destroy();
  }));

test('gpu events: a stream held back by an event runs after it; time passes between two', (t) =>
  withGpu(t, ({ context }) => {
    const memory = new DeviceMemory(context, 2 ** 28);
    const [first, second] = [new GpuStream(context), new GpuStream(context)];
    const [start, end] = [
      new GpuEvent(context, { isTimed: true }),
      new GpuEvent(context, { isTimed: true }),
    ];
    start.record(first);
    context.check(first.queue.fillDevice(memory.addr, 1, memory.bytes), 'cuMemsetD8Async');
    end.record(first);
    end.holdBack(second);
    context.check(second.queue.fillDevice(memory.addr + 7, 2, 1), 'cuMemsetD8Async');
    second.synchronize();
    assert.equal(memory.read(7, 1)[0], 2);
    assert.ok(end.hasHappened() && end.elapsedMs(start) > 0);
    for (const item of [start, end, first, second]) item.destroy();
    memory.free();
  }));

test('gpu registration: memory of another owner is read and written in place', (t) =>
  withGpu(t, ({ context, queue }) => {
    const bytes = new Uint8Array(new ArrayBuffer(2 ** 20));
    const registered = new RegisteredMemory(context, addressOf(bytes), bytes.length);
    const span = { addr: registered.deviceAddr, bytes: bytes.length };
    queue.wait(queue.fill(span, 3, 5));
    assert.equal(queue.verify(span, 3, 5).count, 0);
    registered.release();
    assert.notEqual(bytes[12345], undefined);
    assert.ok(bytes.some((value) => value !== 0));
  }));

test('gpu ipc: another process sees an allocation at its offset and writes to it', (t) =>
  withGpu(t, ({ context, queue }) => {
    const memory = new DeviceMemory(context, 2 ** 21);
    const span = { addr: memory.addr + 4099, bytes: BYTES };
    queue.wait(queue.fill(span, 1, 0));
    const exported = exportIpc(context, span.addr);
    assert.equal(exported.offset, 4099);
    const peer = fileURLToPath(new URL('../../../test/support/gpu-peer.js', import.meta.url));
    const handle = Buffer.from(exported.handle).toString('hex');
    const words = [peer, handle, String(exported.offset), String(span.bytes)];
    const answer = execFileSync(process.execPath, words, { encoding: 'utf8', timeout: 60_000 });
    assert.deepEqual(JSON.parse(answer), { mismatches: 0 });
    assert.equal(queue.verify(span, 2, 0).count, 0);
    memory.free();
  }));

test('gpu sharing by descriptor: two mappings of one allocation see each other', (t) =>
  withGpu(t, ({ context, queue }) => {
    const needed = [DeviceAttribute.VirtualMemorySupported, DeviceAttribute.PosixFdHandleSupported];
    if (
      needed.some((which) => deviceAttribute(context.driver, context.device.handle, which) === 0)
    ) {
      t.skip('needs a GPU driver with shareable virtual memory');
      return;
    }
    const memory = createSharedMemory(context, BYTES);
    const fd = exportAllocationFd(context, memory.addr + 100);
    const other = importSharedMemory(context, [{ fd, bytes: memory.bytes }]);
    closeSync(fd);
    queue.wait(queue.fill({ addr: memory.addr, bytes: BYTES }, 4, 0));
    assert.equal(queue.verify({ addr: other.addr, bytes: BYTES }, 4, 0).count, 0);
    other.unmap();
    memory.unmap();
  }));

test('gpu sharing by dma-buf: a range gives a descriptor', (t) =>
  withGpu(t, ({ context }) => {
    const { driver, device } = context;
    if (deviceAttribute(driver, device.handle, DeviceAttribute.DmaBufSupported) === 0) {
      t.skip('needs a GPU driver with dma-buf export (open kernel modules)');
      return;
    }
    const memory = new DeviceMemory(context, 2 ** 21);
    const fd = exportDmaBufFd(context, memory.addr, memory.bytes);
    assert.doesNotThrow(() => fstatSync(fd));
    closeSync(fd);
    memory.free();
  }));

test('gpu threads: a worker opens the context for itself', (t) =>
  withGpu(t, async () => {
    const worker = new Worker(new URL('../../../test/support/gpu-thread.js', import.meta.url));
    const mismatches = await new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
    assert.equal(mismatches, 0);
  }));
