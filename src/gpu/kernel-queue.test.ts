// The kernels against the CPU contract, on a real GPU; skipped without one. Targets lie between
// guard bytes, which must stay as they were.

import assert from 'node:assert/strict';
import { PerformanceObserver } from 'node:perf_hooks';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { GPU_ROUNDS, type TestGpu, withGpu } from '../../test/support/gpu.js';
import {
  type ListShape,
  randomBytes,
  randomList,
  randomTable,
} from '../../test/support/scatter-lists.js';
import { fillPattern, verifyPattern } from '../base/pattern.js';
import { type Random, seededRandom } from '../base/random.js';
import { DeviceMemory } from '../ffi/cuda/device-memory.js';
import { PinnedMemory } from '../ffi/cuda/pinned-memory.js';
import { validateBlockTable } from './block-table.js';
import { checksumHost } from './checksum.js';
import { gatherHost, scatterHost, unpackHost } from './host-copy.js';
import { CHUNKS_MAX, ENTRY_PARTS, FRAGMENTS_MAX, PACKED_FRAGMENTS_MAX } from './scatter-entry.js';
import { checkFragments, isPackable } from './scatter-list.hot.js';
import { validateScatterList } from './scatter-list.js';

const GUARD = 0xa7;
const SHAPES: readonly Omit<ListShape, 'messageBytes'>[] = [
  { fragmentBytesMin: 1, fragmentBytesMax: 70, slotBytes: 96, isAligned: false },
  { fragmentBytesMin: 1, fragmentBytesMax: 4096, slotBytes: 4096, isAligned: false },
  { fragmentBytesMin: 1448, fragmentBytesMax: 1448, slotBytes: 4096, isAligned: true },
  { fragmentBytesMin: 4096, fragmentBytesMax: 4096, slotBytes: 4096, isAligned: true },
  { fragmentBytesMin: 1, fragmentBytesMax: 20_000, slotBytes: 20_480, isAligned: false },
];

function pick<T>(random: Random, items: readonly T[]): T {
  return items[random.nextBetween(0, items.length - 1)]!;
}

/** Device memory with the content, exactly as long, so that a memory checker sees every overrun. */
function toDevice(gpu: TestGpu, content: Uint8Array): DeviceMemory {
  const memory = new DeviceMemory(gpu.context, Math.max(1, content.length));
  memory.write(0, content);
  return memory;
}

interface PlacedChunk {
  readonly targetOffset: number;
  readonly free: () => void;
}

interface Destination {
  readonly target: DeviceMemory;
  readonly wanted: Uint8Array;
  readonly messageBytesMax: number;
  /** The CPU may read the lists, so that short ones travel in the parameters. */
  readonly isReadable: boolean;
}

// Parameters that hold the list, undefined where it is not for them.
function packList(gpu: TestGpu, entries: Uint32Array, count: number, longestBytes: number) {
  const packed = gpu.queue.prepareList();
  let reachBytes = 0;
  for (let at = 0; at < count * ENTRY_PARTS; at += ENTRY_PARTS) {
    reachBytes = Math.max(reachBytes, (entries[at + 2] ?? 0) + (entries[at + 1] ?? 0));
  }
  checkFragments(entries, count, reachBytes, 2 ** 32, packed.parameters.parts);
  return isPackable(count, longestBytes, reachBytes) ? packed : undefined;
}

// Adds a random chunk to the batch and does the same on the CPU's copy of the target.
function addChunk(gpu: TestGpu, random: Random, destination: Destination, at: number) {
  const { target, wanted, messageBytesMax, isReadable } = destination;
  const messageBytes = random.nextBetween(1, messageBytesMax);
  const shape = { ...pick(random, SHAPES), messageBytes };
  const list = randomList(random, shape);
  const count = list.fragments.length;
  const bounceContent = randomBytes(random, list.bounceBytes);
  const longest = validateScatterList(list.entries, {
    count,
    expectedBytes: shape.messageBytes,
    bounceBytes: list.bounceBytes,
  });
  const bounce = toDevice(gpu, bounceContent);
  const entries = new PinnedMemory(gpu.context, list.entries.byteLength);
  new Uint32Array(entries.buffer).set(list.entries);
  const packed = isReadable ? packList(gpu, list.entries, count, longest) : undefined;
  const targetAddr = target.addr + at;
  gpu.queue.unpack.add(entries.deviceAddr, packed, count, bounce.addr, targetAddr, longest);
  unpackHost(list.entries, count, bounceContent, wanted.subarray(at, at + shape.messageBytes));
  const free = () => {
    bounce.free();
    entries.free();
  };
  return { targetOffset: at + shape.messageBytes, free } satisfies PlacedChunk;
}

test('gpu unpack: random chunks of any alignment land as on the CPU, guards stay', (t) =>
  withGpu(t, (gpu) => {
    for (let round = 0; round < GPU_ROUNDS; round++) {
      const random = seededRandom(1000 + round);
      const chunkCount = random.nextBetween(1, CHUNKS_MAX);
      const target = new DeviceMemory(gpu.context, chunkCount * 60_100 + 64);
      target.clear(GUARD);
      const wanted = new Uint8Array(target.bytes).fill(GUARD);
      const messageBytesMax = pick(random, [600, 60_000]);
      const isReadable = random.nextChance(0.7);
      const destination = { target, wanted, messageBytesMax, isReadable };
      gpu.queue.unpack.partBytes = pick(random, [512, 1000, 2048, 4096]);
      gpu.queue.unpack.partBytesMin = pick(random, [128, 1024, 4096]);
      const chunks: PlacedChunk[] = [];
      for (let index = 0; index < chunkCount; index++) {
        const at = (chunks.at(-1)?.targetOffset ?? 0) + random.nextBetween(1, 40);
        chunks.push(addChunk(gpu, random, destination, at));
      }
      gpu.queue.wait(gpu.queue.launchUnpack());
      assert.ok(Buffer.from(target.read(0, target.bytes)).equals(wanted), `round ${round}`);
      for (const chunk of chunks) chunk.free();
      target.free();
    }
  }));

test('gpu unpack: launches that feed each other run in the order of the stream', (t) =>
  withGpu(t, (gpu) => {
    const bytes = 4 * 1024 * 1024;
    const memories = Array.from({ length: 3 }, () => new DeviceMemory(gpu.context, bytes));
    const [first, second, third] = memories as [DeviceMemory, DeviceMemory, DeviceMemory];
    const count = bytes / 4096;
    const entries = new PinnedMemory(gpu.context, count * 16);
    const parts = new Uint32Array(entries.buffer);
    for (let index = 0; index < count; index++) {
      // Far apart, so that what one launch reads another block of the launch before has written.
      const offset = ((index * 389) % count) * 4096;
      parts.set([offset, 4096, offset, 0], index * 4);
    }
    const few = new PinnedMemory(gpu.context, 16 * 16);
    const fewParts = new Uint32Array(few.buffer);
    for (let index = 0; index < 16; index++) {
      const offset = ((index * 37) % 128) * 4096;
      fewParts.set([offset, 4096, offset, 0], index * 4);
    }
    const packed = packList(gpu, fewParts, 16, 4096);
    assert.ok(packed !== undefined);
    for (let lap = 0; lap < GPU_ROUNDS * 5; lap++) {
      const filled = gpu.queue.fill(first, lap, 0);
      // An idle stream is launched on in another way than a busy one.
      if (lap % 2 === 0) gpu.queue.wait(filled);
      gpu.queue.unpack.add(entries.deviceAddr, undefined, count, first.addr, second.addr, 4096);
      gpu.queue.launchUnpack();
      gpu.queue.unpack.add(entries.deviceAddr, undefined, count, second.addr, third.addr, 4096);
      gpu.queue.launchUnpack();
      // A few fragments of another lap's bytes, by parameters, over what was just written.
      gpu.queue.fill(first, lap + 1000, 0);
      gpu.queue.unpack.add(few.deviceAddr, packed, 16, first.addr, third.addr, 4096);
      gpu.queue.launchUnpack();
      gpu.queue.unpack.add(few.deviceAddr, packed, 16, second.addr, third.addr, 4096);
      gpu.queue.launchUnpack();
      assert.equal(gpu.queue.verify(third, lap, 0).count, 0, `lap ${lap}`);
    }
    for (const memory of [...memories, entries, few]) memory.free();
  }));

// What fits into the parameters, and what is just too much for them: one fragment more, a target
// offset of 2^19, a length of 2^13.
test(`gpu unpack: short lists on both sides of what the parameters hold`, (t) =>
  withGpu(t, (gpu) => {
    const random = seededRandom(8);
    for (const [count, bytes] of [
      [PACKED_FRAGMENTS_MAX, 333],
      [PACKED_FRAGMENTS_MAX + 1, 333],
      [64, 8191],
      [65, 8191],
      [66, 8191],
      [7, 8192],
    ] as const) {
      const lengths = { fragmentBytesMin: bytes, fragmentBytesMax: bytes, slotBytes: bytes + 67 };
      const messageBytes = count * bytes;
      const list = randomList(random, { ...lengths, messageBytes, isAligned: false });
      const content = randomBytes(random, list.bounceBytes);
      const wanted = new Uint8Array(messageBytes);
      unpackHost(list.entries, count, content, wanted);
      const [bounce, target] = [
        toDevice(gpu, content),
        new DeviceMemory(gpu.context, messageBytes),
      ];
      const entries = new PinnedMemory(gpu.context, list.entries.byteLength);
      new Uint32Array(entries.buffer).set(list.entries);
      const packed = packList(gpu, list.entries, count, bytes);
      const { unpack } = gpu.queue;
      unpack.add(entries.deviceAddr, packed, count, bounce.addr, target.addr, bytes);
      gpu.queue.wait(gpu.queue.launchUnpack());
      assert.ok(Buffer.from(target.read(0, messageBytes)).equals(wanted), `${count} × ${bytes}`);
      for (const memory of [bounce, entries, target]) memory.free();
    }
  }));

test('gpu unpack: 16 chunks of 2048 fragments in one launch', (t) =>
  withGpu(t, (gpu) => {
    const random = seededRandom(5);
    const lengthOf = {
      fragmentBytesMin: 37,
      fragmentBytesMax: 37,
      slotBytes: 48,
      isAligned: false,
    };
    const messageBytes = FRAGMENTS_MAX * 37;
    const list = randomList(random, { ...lengthOf, messageBytes });
    const content = randomBytes(random, list.bounceBytes);
    const wanted = new Uint8Array(messageBytes);
    unpackHost(list.entries, FRAGMENTS_MAX, content, wanted);
    const [bounce, entries] = [
      toDevice(gpu, content),
      toDevice(gpu, new Uint8Array(list.entries.buffer)),
    ];
    const target = new DeviceMemory(gpu.context, CHUNKS_MAX * messageBytes);
    for (let chunk = 0; chunk < CHUNKS_MAX; chunk++) {
      const at = target.addr + chunk * messageBytes;
      assert.ok(gpu.queue.unpack.add(entries.addr, undefined, FRAGMENTS_MAX, bounce.addr, at, 37));
    }
    assert.ok(gpu.queue.unpack.isFull);
    assert.equal(
      gpu.queue.unpack.add(entries.addr, undefined, 1, bounce.addr, target.addr, 37),
      false,
    );
    gpu.queue.wait(gpu.queue.launchUnpack());
    for (let chunk = 0; chunk < CHUNKS_MAX; chunk++) {
      const seen = target.read(chunk * messageBytes, messageBytes);
      assert.ok(Buffer.from(seen).equals(wanted), `chunk ${chunk}`);
    }
    for (const memory of [bounce, entries, target]) memory.free();
  }));

test('gpu unpack: pages rewritten between launches are read anew', (t) =>
  withGpu(t, (gpu) => {
    const bytes = 65_536;
    const list = randomList(seededRandom(6), {
      messageBytes: bytes,
      fragmentBytesMin: 1448,
      fragmentBytesMax: 4096,
      slotBytes: 4096,
      isAligned: true,
    });
    const bounce = new PinnedMemory(gpu.context, list.bounceBytes);
    const content = new Uint8Array(bounce.buffer);
    const entries = new PinnedMemory(gpu.context, list.entries.byteLength);
    new Uint32Array(entries.buffer).set(list.entries);
    const packed = packList(gpu, list.entries, list.fragments.length, 4096);
    const target = new DeviceMemory(gpu.context, bytes);
    for (let lap = 0; lap < GPU_ROUNDS * 5; lap++) {
      for (const { sourceOffset, targetOffset, bytes: length } of list.fragments) {
        fillPattern(content.subarray(sourceOffset, sourceOffset + length), lap, targetOffset);
      }
      gpu.queue.unpack.add(
        entries.deviceAddr,
        packed,
        list.fragments.length,
        bounce.deviceAddr,
        target.addr,
        4096,
      );
      gpu.queue.wait(gpu.queue.launchUnpack());
      assert.equal(gpu.queue.verify(target, lap, 0).count, 0, `lap ${lap}`);
    }
    for (const memory of [bounce, entries, target]) memory.free();
  }));

test('gpu gather and scatter: random tables copy as on the CPU, other bytes stay', (t) =>
  withGpu(t, (gpu) => {
    for (let round = 0; round < GPU_ROUNDS; round++) {
      const random = seededRandom(2000 + round);
      const blockBytesMax = pick(random, [40, 1000, 20_000]);
      const shape = { blockBytesMin: 1, blockBytesMax, slotBytes: blockBytesMax + 32 };
      const count = random.nextBetween(1, 150);
      const made = randomTable(random, { ...shape, count, isAligned: false });
      const longestBytes = validateBlockTable(made.table, { count, ...made });
      const content = randomBytes(random, made.regionBytes);
      const region = toDevice(gpu, content);
      const table = toDevice(gpu, new Uint8Array(made.table.buffer));
      // Mapped host memory in half of the rounds: what the CPU sends from and receives into.
      const staging = new PinnedMemory(gpu.context, made.stagingBytes);
      const copy = { tableAddr: table.addr, count, baseAddr: region.addr, longestBytes };
      const partBytes = pick(random, [512, 4096, 8192]);
      gpu.queue.wait(gpu.queue.gather({ ...copy, stagingAddr: staging.deviceAddr }, partBytes));
      const wanted = new Uint8Array(made.stagingBytes);
      gatherHost(made.table, count, content, wanted);
      assert.ok(Buffer.from(staging.buffer).equals(wanted), `gather, round ${round}`);
      region.clear(GUARD);
      const returned = new Uint8Array(made.regionBytes).fill(GUARD);
      scatterHost(made.table, count, wanted, returned);
      const staged = random.nextChance(0.5) ? toDevice(gpu, wanted) : undefined;
      const stagingAddr = staged?.addr ?? staging.deviceAddr;
      gpu.queue.wait(gpu.queue.scatter({ ...copy, stagingAddr }, partBytes));
      const seen = Buffer.from(region.read(0, region.bytes));
      assert.ok(seen.equals(returned), `scatter, round ${round}`);
      for (const memory of [region, table, staging]) memory.free();
      staged?.free();
    }
  }));

test('gpu fill, verify and checksum: agree with the CPU at any alignment and position', (t) =>
  withGpu(t, (gpu) => {
    for (let round = 0; round < GPU_ROUNDS; round++) {
      const random = seededRandom(3000 + round);
      const bytes = random.nextBetween(1, pick(random, [40, 5000, 300_000]));
      const before = random.nextBetween(0, 33);
      const memory = new DeviceMemory(gpu.context, before + bytes + 5);
      memory.clear(GUARD);
      const span = { addr: memory.addr + before, bytes };
      const position = random.nextBetween(0, 100) + (random.nextChance(0.3) ? 2 ** 34 - 50 : 0);
      const seed = random.nextUint32();
      gpu.queue.wait(gpu.queue.fill(span, seed, position));
      const wanted = new Uint8Array(memory.bytes).fill(GUARD);
      fillPattern(wanted.subarray(before, before + bytes), seed, position);
      assert.ok(Buffer.from(memory.read(0, memory.bytes)).equals(wanted), `fill, round ${round}`);
      assert.equal(gpu.queue.verify(span, seed, position).count, 0);
      const content = wanted.subarray(before, before + bytes);
      for (let change = random.nextBetween(0, 5); change > 0; change--) {
        const index = random.nextBetween(0, bytes - 1);
        content[index] = content[index]! ^ random.nextBetween(1, 255);
      }
      memory.write(0, wanted);
      const seen = gpu.queue.verify(span, seed, position);
      assert.deepEqual(seen, verifyPattern(content, seed, position), `verify, round ${round}`);
      assert.equal(gpu.queue.checksum(span), checksumHost(content), `checksum, round ${round}`);
      memory.free();
    }
  }));

test('gpu launches: no object per launch, so the collector stays quiet', (t) =>
  withGpu(t, async (gpu) => {
    const launches = GPU_ROUNDS < 10 ? 1000 : 50_000;
    const target = toDevice(gpu, new Uint8Array(4096));
    const entries = new PinnedMemory(gpu.context, 16);
    const list = new Uint32Array(entries.buffer);
    list.set([0, 64, 0, 0]);
    const packed = packList(gpu, list, 1, 64);
    const run = (count: number) => {
      for (let index = 0; index < count; index++) {
        const carried = index % 2 === 0 ? packed : undefined;
        gpu.queue.unpack.add(entries.deviceAddr, carried, 1, target.addr, target.addr + 128, 64);
        gpu.context.check(gpu.queue.unpack.launch(), 'cuLaunchKernel');
        if (index % 64 === 0) gpu.queue.wait(gpu.queue.completion.lastIssued);
      }
    };
    run(2000);
    let collections = 0;
    const observer = new PerformanceObserver((list) => {
      collections += list.getEntries().length;
    });
    observer.observe({ entryTypes: ['gc'] });
    run(launches);
    await setImmediate();
    await setImmediate();
    observer.disconnect();
    gpu.queue.wait(gpu.queue.completion.lastIssued);
    assert.ok(collections <= 2, `${collections} collections in ${launches} launches`);
    for (const memory of [target, entries]) memory.free();
  }));
