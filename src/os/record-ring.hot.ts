// Writing and reading records. The writer publishes with one store, however many records it wrote.

import { RECORD_FILLER, RECORD_HEADER_BYTES, type RecordRing } from './record-ring.js';

/** Bytes that the writer may still use. */
export function ringFreeBytes(ring: RecordRing): number {
  return ring.capacityBytes - ((ring.tail - Atomics.load(ring.int32, ring.headWord)) | 0);
}

/**
 * Reserves a record and returns the byte index of its payload in `ring.uint8`, or −1 when there is
 * no room. The record becomes visible with publishRecords.
 */
export function reserveRecord(ring: RecordRing, kind: number, payloadBytes: number): number {
  const recordBytes = (RECORD_HEADER_BYTES + payloadBytes + 7) & ~7;
  const position = ring.tail & (ring.capacityBytes - 1);
  const untilEnd = ring.capacityBytes - position;
  const fillerBytes = untilEnd < recordBytes ? untilEnd : 0;
  if (ringFreeBytes(ring) < recordBytes + fillerBytes) return -1;
  let at = ring.dataByte + position;
  if (fillerBytes > 0) {
    ring.int32[at >> 2] = fillerBytes;
    ring.int32[(at >> 2) + 1] = RECORD_FILLER;
    at = ring.dataByte;
  }
  ring.int32[at >> 2] = recordBytes;
  ring.int32[(at >> 2) + 1] = kind;
  ring.tail = (ring.tail + fillerBytes + recordBytes) | 0;
  return at + RECORD_HEADER_BYTES;
}

export function publishRecords(ring: RecordRing): void {
  Atomics.store(ring.int32, ring.tailWord, ring.tail);
}

/** Byte index of the next record's payload, or −1. The record stays until releaseRecord. */
export function peekRecord(ring: RecordRing): number {
  if (ring.head === Atomics.load(ring.int32, ring.tailWord)) return -1;
  let at = ring.dataByte + (ring.head & (ring.capacityBytes - 1));
  if (ring.int32[(at >> 2) + 1] === RECORD_FILLER) {
    ring.head = (ring.head + ring.int32[at >> 2]!) | 0;
    if (ring.head === Atomics.load(ring.int32, ring.tailWord)) return -1;
    at = ring.dataByte + (ring.head & (ring.capacityBytes - 1));
  }
  return at + RECORD_HEADER_BYTES;
}

export function recordKind(ring: RecordRing, payloadAt: number): number {
  return ring.int32[(payloadAt >> 2) - 1]!;
}

/** Frees the record that peekRecord returned. */
export function releaseRecord(ring: RecordRing, payloadAt: number): void {
  ring.head = (ring.head + ring.int32[(payloadAt >> 2) - 2]!) | 0;
  Atomics.store(ring.int32, ring.headWord, ring.head);
}
