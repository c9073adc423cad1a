// The shared memory of an application and a plugin host, seen from one of the two ends.

import { closeFd } from '../../ffi/libc/file-descriptor.js';
import { createMemoryFile } from '../../ffi/libc/mapping.js';
import { wakeFutex, waitFutex } from '../../ffi/libc/futex.js';
import {
  createFixedMemory,
  destroyFixedMemory,
  type FixedMemory,
} from '../../memory/fixed-memory.js';
import { RecordRing } from '../../memory/record-ring.js';
import {
  peekRecord,
  publishRecords,
  recordKind,
  releaseRecord,
  reserveRecord,
} from '../../memory/record-ring.hot.js';
import {
  COMMANDS_AT,
  COMMANDS_BYTES,
  EVENTS_AT,
  EVENTS_BYTES,
  RECORD_TEXT,
  SHARED_BYTES,
  WORD_DOORBELL,
  WORD_HOST_SLEEPS,
} from './host-layout.js';

export class SharedLink {
  readonly memory: FixedMemory;
  readonly commands: RecordRing;
  readonly events: RecordRing;
  readonly #fd: number;

  private constructor(fd: number) {
    this.#fd = fd;
    this.memory = createFixedMemory(SHARED_BYTES, { fd });
    this.commands = new RecordRing(this.memory, COMMANDS_AT, COMMANDS_BYTES);
    this.events = new RecordRing(this.memory, EVENTS_AT, EVENTS_BYTES);
  }

  static create(): SharedLink {
    return new SharedLink(createMemoryFile('tcpx-plugin-host', SHARED_BYTES));
  }

  /** The same memory in the process that inherited the descriptor. */
  static open(fd: number): SharedLink {
    return new SharedLink(fd);
  }

  get fd(): number {
    return this.#fd;
  }

  /** After this no view of the memory may be touched. */
  close(): void {
    closeFd(this.#fd);
    destroyFixedMemory(this.memory);
  }

  /** After commands were published: wakes a host that sleeps. */
  ring(): void {
    const { int32, addr } = this.memory;
    Atomics.add(int32, WORD_DOORBELL, 1);
    if (Atomics.exchange(int32, WORD_HOST_SLEEPS, 0) === 1) wakeFutex(addr + WORD_DOORBELL * 4, 1);
  }

  /** Host: sleeps until a command may be there, at most `timeoutMs`. */
  sleep(timeoutMs: number): void {
    const { int32, addr } = this.memory;
    const seen = Atomics.load(int32, WORD_DOORBELL);
    Atomics.store(int32, WORD_HOST_SLEEPS, 1);
    if (peekRecord(this.commands) < 0) waitFutex(addr + WORD_DOORBELL * 4, seen, timeoutMs);
    Atomics.store(int32, WORD_HOST_SLEEPS, 0);
  }
}

/** Puts a text record into a ring; false when there is no room. */
export function putText(ring: RecordRing, text: string): boolean {
  const bytes = new TextEncoder().encode(text);
  const at = reserveRecord(ring, RECORD_TEXT, 4 + bytes.length);
  if (at < 0) return false;
  ring.int32[at >> 2] = bytes.length;
  ring.uint8.set(bytes, at + 4);
  publishRecords(ring);
  return true;
}

/** The text of the record at `at`, which has kind RECORD_TEXT. */
export function textAt(ring: RecordRing, at: number): string {
  const bytes = ring.int32[at >> 2] ?? 0;
  return new TextDecoder().decode(ring.uint8.slice(at + 4, at + 4 + bytes));
}

export { peekRecord, publishRecords, recordKind, releaseRecord, reserveRecord };
