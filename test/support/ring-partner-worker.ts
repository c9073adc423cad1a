// The other thread of a ring in benchmarks. It obeys records of the command ring: write so many
// records, or answer each record with one; it spins while it waits, as a busy lane does.

import { workerData } from 'node:worker_threads';
import { openFixedMemory } from '../../src/os/fixed-memory.js';
import {
  peekRecord,
  publishRecords,
  recordKind,
  releaseRecord,
  reserveRecord,
} from '../../src/os/record-ring.hot.js';
import { RecordRing, RING_HEADER_BYTES } from '../../src/os/record-ring.js';

export interface RingPartnerData {
  readonly addr: number;
  readonly bytes: number;
  readonly capacity: number;
}

export const PARTNER_WRITE = 1;
export const PARTNER_ECHO = 2;
export const PARTNER_STOP = 3;
export const PARTNER_PAYLOAD_BYTES = 24;
/** Records that become visible together. */
const PUBLISH_EVERY = 8;

// Only as a thread: tests import the constants above.
if (workerData !== null) obey(workerData as RingPartnerData);

function obey({ addr, bytes, capacity }: RingPartnerData): void {
  const memory = openFixedMemory(addr, bytes);
  const commands = new RecordRing(memory, 0, capacity);
  const answers = new RecordRing(memory, RING_HEADER_BYTES + capacity, capacity);
  for (;;) {
    const at = peekRecord(commands);
    if (at < 0) continue;
    const kind = recordKind(commands, at);
    const count = commands.int32[at >> 2] ?? 0;
    releaseRecord(commands, at);
    if (kind === PARTNER_STOP) return;
    write(answers, kind === PARTNER_WRITE ? count : 1);
  }
}

function write(ring: RecordRing, count: number): void {
  for (let number = 0; number < count; ) {
    const at = reserveRecord(ring, PARTNER_WRITE, PARTNER_PAYLOAD_BYTES);
    if (at < 0) {
      publishRecords(ring);
      continue;
    }
    ring.int32[at >> 2] = number;
    number++;
    if (number % PUBLISH_EVERY === 0) publishRecords(ring);
  }
  publishRecords(ring);
}
