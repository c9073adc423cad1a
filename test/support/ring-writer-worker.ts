// A thread that writes numbered records of many lengths into a ring as fast as there is room.
// Record n: [words, n, … , n ^ 0x5a5a5a5a], the last word at index words + 1.

import { workerData } from 'node:worker_threads';
import { openFixedMemory } from '../../src/os/fixed-memory.js';
import { publishRecords, reserveRecord } from '../../src/os/record-ring.hot.js';
import { RecordRing } from '../../src/os/record-ring.js';

interface WriterData {
  readonly addr: number;
  readonly bytes: number;
  readonly capacity: number;
  readonly count: number;
}

const { addr, bytes, capacity, count } = workerData as WriterData;
const ring = new RecordRing(openFixedMemory(addr, bytes), 0, capacity);

for (let number = 0; number < count; ) {
  const words = 1 + ((number * 7) % 61);
  const at = reserveRecord(ring, (number % 5) + 1, (words + 2) * 4);
  if (at < 0) {
    publishRecords(ring);
    continue;
  }
  ring.int32[at >> 2] = words;
  ring.int32[(at >> 2) + 1] = number;
  ring.int32[(at >> 2) + 1 + words] = number ^ 0x5a5a5a5a;
  number++;
  // Now and then, so that batches of several records are published at once.
  if (number % 3 === 0) publishRecords(ring);
}
publishRecords(ring);
