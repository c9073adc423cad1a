import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { createFixedMemory } from './fixed-memory.js';
import {
  peekRecord,
  publishRecords,
  recordKind,
  releaseRecord,
  reserveRecord,
  ringFreeBytes,
} from './record-ring.hot.js';
import { RecordRing, RING_HEADER_BYTES } from './record-ring.js';

const CAPACITY = 1024;

function makeRing(capacity = CAPACITY) {
  const memory = createFixedMemory(RING_HEADER_BYTES + capacity);
  return {
    memory,
    writer: new RecordRing(memory, 0, capacity),
    reader: new RecordRing(memory, 0, capacity),
  };
}

function put(ring: RecordRing, kind: number, payload: readonly number[]): boolean {
  const at = reserveRecord(ring, kind, payload.length);
  if (at < 0) return false;
  payload.forEach((byte, index) => (ring.uint8[at + index] = byte));
  publishRecords(ring);
  return true;
}

function take(ring: RecordRing, bytes: number) {
  const at = peekRecord(ring);
  if (at < 0) return undefined;
  const record = { kind: recordKind(ring, at), payload: [...ring.uint8.slice(at, at + bytes)] };
  releaseRecord(ring, at);
  return record;
}

test('ring: records come out in order, nothing before they are published', () => {
  const { writer, reader } = makeRing();
  assert.equal(peekRecord(reader), -1);
  const at = reserveRecord(writer, 7, 4);
  writer.uint8[at] = 9;
  assert.equal(peekRecord(reader), -1);
  put(writer, 8, [1, 2]);
  assert.deepEqual(take(reader, 1), { kind: 7, payload: [9] });
  assert.deepEqual(take(reader, 2), { kind: 8, payload: [1, 2] });
  assert.equal(peekRecord(reader), -1);
});

test('ring: full is −1 and changes nothing; a release makes room', () => {
  const { writer, reader } = makeRing();
  let count = 0;
  while (put(writer, 1, [count, 0, 0, 0, 0, 0, 0, 0])) count++;
  assert.equal(count, CAPACITY / 16);
  assert.equal(ringFreeBytes(writer), 0);
  assert.equal(reserveRecord(writer, 1, 0), -1);
  assert.deepEqual(take(reader, 1), { kind: 1, payload: [0] });
  assert.ok(put(writer, 2, [77]));
  assert.ok(!put(writer, 2, [78]));
  for (let index = 1; index < count; index++) assert.equal(take(reader, 1)?.payload[0], index);
  assert.deepEqual(take(reader, 1), { kind: 2, payload: [77] });
});

test('ring: a record that does not fit before the end starts at the front, behind a filler', () => {
  const { writer, reader } = makeRing(64);
  assert.ok(put(writer, 1, new Array<number>(16).fill(1))); // 24 bytes
  assert.ok(put(writer, 2, new Array<number>(16).fill(2))); // 48
  take(reader, 1);
  take(reader, 1);
  assert.ok(put(writer, 3, new Array<number>(24).fill(3))); // 32 bytes, only 16 to the end
  assert.deepEqual(take(reader, 24), { kind: 3, payload: new Array<number>(24).fill(3) });
  assert.equal(ringFreeBytes(writer), 64);
});

test('ring: a filler alone shows no record, and the record behind it is found later', () => {
  const { writer, reader } = makeRing(64);
  put(writer, 1, new Array<number>(32).fill(1)); // 40 bytes
  take(reader, 1);
  // 24 bytes to the end: 32 need a filler.
  const at = reserveRecord(writer, 5, 24);
  assert.equal(at, writer.dataByte + 8);
  assert.equal(peekRecord(reader), -1);
  publishRecords(writer);
  assert.equal(peekRecord(reader), at);
  assert.equal(peekRecord(reader), at, 'looking twice shows the same record');
});

test('ring: any sequence of puts and takes keeps order, sizes and bytes', () => {
  const step = fc.oneof(
    fc.record({ put: fc.uint8Array({ maxLength: 300 }) }),
    fc.record({ take: fc.constant(true) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const { writer, reader } = makeRing();
      const queue: { kind: number; payload: number[] }[] = [];
      let kind = 1;
      for (const one of steps) {
        if ('put' in one) {
          const payload = [...one.put];
          if (put(writer, kind, payload)) queue.push({ kind: kind++, payload });
        } else {
          const expected = queue.shift();
          assert.deepEqual(take(reader, expected?.payload.length ?? 0), expected);
        }
      }
      for (const expected of queue)
        assert.deepEqual(take(reader, expected.payload.length), expected);
      assert.equal(peekRecord(reader), -1);
    }),
    { numRuns: 100 },
  );
});

test('ring: cursors wrap at 2^32 without a record lost', () => {
  const memory = createFixedMemory(RING_HEADER_BYTES + CAPACITY);
  memory.int32[0] = 0x7ffffff0 | 0;
  memory.int32[32] = 0x7ffffff0 | 0;
  const writer = new RecordRing(memory, 0, CAPACITY);
  const reader = new RecordRing(memory, 0, CAPACITY);
  for (let count = 0; count < 500; count++) {
    assert.ok(put(writer, 3, [count & 255]));
    assert.equal(take(reader, 1)?.payload[0], count & 255);
  }
  assert.ok(writer.tail < 0, 'the cursor has passed 2^31');
});

test('ring: a capacity that is no power of two is an assertion', () => {
  assert.throws(() => new RecordRing(createFixedMemory(8192), 0, 1000), /power of two/);
});

test('ring: 200,000 records from another thread arrive whole and in order', async () => {
  const count = 200_000;
  const { memory, reader } = makeRing(64 * 1024);
  const worker = new Worker(new URL('../../test/support/ring-writer-worker.js', import.meta.url), {
    workerData: { addr: memory.addr, bytes: memory.bytes, capacity: 64 * 1024, count },
  });
  await once(worker, 'online');
  const endMs = performance.now() + 60_000;
  let seen = 0;
  while (seen < count) {
    const at = peekRecord(reader);
    if (at < 0) {
      assert.ok(performance.now() < endMs, `${seen} records within the time`);
      await new Promise((resolve) => setImmediate(resolve));
      continue;
    }
    const words = reader.int32;
    const length = words[at >> 2]!;
    assert.equal(words[(at >> 2) + 1], seen, 'in order');
    assert.equal(recordKind(reader, at), (seen % 5) + 1);
    assert.equal(words[(at >> 2) + 1 + length], seen ^ 0x5a5a5a5a, 'the last word is there too');
    releaseRecord(reader, at);
    seen++;
  }
  assert.equal(peekRecord(reader), -1);
  await worker.terminate();
});
