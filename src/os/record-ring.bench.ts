// The ring between main thread and lane: in one thread, and through another.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { MicroCase, OpenMicroCase } from '../../test/support/micro-bench.js';
import {
  PARTNER_ECHO,
  PARTNER_PAYLOAD_BYTES,
  PARTNER_STOP,
  PARTNER_WRITE,
} from '../../test/support/ring-partner-worker.js';
import { createFixedMemory, destroyFixedMemory } from './fixed-memory.js';
import { peekRecord, publishRecords, releaseRecord, reserveRecord } from './record-ring.hot.js';
import { RecordRing, RING_HEADER_BYTES } from './record-ring.js';

const CAPACITY = 64 * 1024;
const RING_BYTES = RING_HEADER_BYTES + CAPACITY;
const BATCH = 16;
const DEADLINE_MS = 10_000;

function openOneThread(batch: number): OpenMicroCase {
  const memory = createFixedMemory(RING_BYTES);
  const writer = new RecordRing(memory, 0, CAPACITY);
  const reader = new RecordRing(memory, 0, CAPACITY);
  return {
    run: (operations) => {
      for (let done = 0; done < operations; done += batch) {
        for (let index = 0; index < batch; index++) put(writer, 1, done + index);
        publishRecords(writer);
        for (let index = 0; index < batch; index++) expect(reader, done + index);
      }
    },
    close: () => destroyFixedMemory(memory),
  };
}

function put(ring: RecordRing, kind: number, number: number): void {
  const at = reserveRecord(ring, kind, PARTNER_PAYLOAD_BYTES);
  if (at < 0) throw new Error('ring is full');
  ring.int32[at >> 2] = number;
}

function expect(ring: RecordRing, number: number): void {
  const at = peekRecord(ring);
  if (at < 0) throw new Error('ring is empty');
  if (ring.int32[at >> 2] !== number) throw new Error(`record ${number} is another`);
  releaseRecord(ring, at);
}

// Two rings in one mapping: commands to the partner, its records back.
async function openPartner() {
  const memory = createFixedMemory(2 * RING_BYTES);
  const commands = new RecordRing(memory, 0, CAPACITY);
  const answers = new RecordRing(memory, RING_BYTES, CAPACITY);
  const worker = new Worker(new URL('../../test/support/ring-partner-worker.js', import.meta.url), {
    workerData: { addr: memory.addr, bytes: memory.bytes, capacity: CAPACITY },
  });
  await once(worker, 'online');
  const close = async (): Promise<void> => {
    const ended = once(worker, 'exit');
    put(commands, PARTNER_STOP, 0);
    publishRecords(commands);
    await ended;
    destroyFixedMemory(memory);
  };
  return { commands, answers, close };
}

function awaitRecord(ring: RecordRing, number: number): void {
  let at = peekRecord(ring);
  for (let spins = 1; at < 0; spins++) {
    if (spins % 1_000_000 === 0) checkDeadline(ring);
    at = peekRecord(ring);
  }
  if (ring.int32[at >> 2] !== number) throw new Error(`record ${number} is another`);
  releaseRecord(ring, at);
}

const waits = new WeakMap<RecordRing, { head: number; sinceMs: number }>();

// Nothing came for long: the partner has died. A ring that moves starts its time anew.
function checkDeadline(ring: RecordRing): void {
  const wait = waits.get(ring);
  if (wait?.head !== ring.head) {
    waits.set(ring, { head: ring.head, sinceMs: performance.now() });
  } else if (performance.now() - wait.sinceMs > DEADLINE_MS) {
    throw new Error(`no record from the other thread in ${DEADLINE_MS} ms`);
  }
}

async function openStream(): Promise<OpenMicroCase> {
  const { commands, answers, close } = await openPartner();
  return {
    run: (operations) => {
      put(commands, PARTNER_WRITE, operations);
      publishRecords(commands);
      for (let number = 0; number < operations; number++) awaitRecord(answers, number);
    },
    close,
  };
}

async function openEcho(): Promise<OpenMicroCase> {
  const { commands, answers, close } = await openPartner();
  return {
    run: (operations) => {
      for (let number = 0; number < operations; number++) {
        put(commands, PARTNER_ECHO, number);
        publishRecords(commands);
        awaitRecord(answers, 0);
      }
    },
    close,
  };
}

export const MICRO_CASES: readonly MicroCase[] = [
  {
    name: 'ring: write, publish, read one record, one thread',
    operations: 500_000,
    open: () => openOneThread(1),
  },
  {
    name: `ring: record of a batch of ${BATCH}, one thread`,
    operations: 512_000,
    open: () => openOneThread(BATCH),
  },
  { name: 'ring: record from another thread, stream', operations: 100_000, open: openStream },
  { name: 'ring: there and back, two spinning threads', operations: 10_000, open: openEcho },
];
