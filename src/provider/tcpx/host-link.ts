// The shared memory of an application and a plugin host, seen from one of the two ends.

import {
  clearPipe,
  closeFd,
  createPipe,
  type Pipe,
  writeByte,
} from '../../ffi/libc/file-descriptor.js';
import { createMemoryFile } from '../../ffi/libc/mapping.js';
import { waitReadable } from '../../ffi/libc/poll.js';
import { createFixedMemory, destroyFixedMemory, type FixedMemory } from '../../os/fixed-memory.js';
import {
  peekRecord,
  publishRecords,
  recordKind,
  releaseRecord,
  reserveRecord,
} from '../../os/record-ring.hot.js';
import { RecordRing } from '../../os/record-ring.js';
import {
  COMMANDS_AT,
  COMMANDS_BYTES,
  EVENTS_AT,
  EVENTS_BYTES,
  RECORD_TEXT,
  SHARED_BYTES,
  WORD_HOST_SLEEPS,
} from './host-layout.js';

export class HostLink {
  readonly memory: FixedMemory;
  readonly commands: RecordRing;
  readonly events: RecordRing;
  readonly #fd: number;
  /** The application writes, the host sleeps at the other end; −1 where it is not this end's. */
  readonly #bell: Pipe;

  private constructor(fd: number, bell: Pipe) {
    this.#fd = fd;
    this.#bell = bell;
    this.memory = createFixedMemory(SHARED_BYTES, { fd });
    this.commands = new RecordRing(this.memory, COMMANDS_AT, COMMANDS_BYTES);
    this.events = new RecordRing(this.memory, EVENTS_AT, EVENTS_BYTES);
  }

  static create(): HostLink {
    return new HostLink(createMemoryFile('tcpx-plugin-host', SHARED_BYTES), createPipe());
  }

  /** The same memory in the process that inherited the descriptor. */
  static open(fd: number, bellFd: number): HostLink {
    return new HostLink(fd, { readFd: bellFd, writeFd: -1 });
  }

  /** The host's end of the doorbell, for the process to inherit. */
  get bellFd(): number {
    return this.#bell.readFd;
  }

  get fd(): number {
    return this.#fd;
  }

  /** After this no view of the memory may be touched. */
  close(): void {
    closeFd(this.#fd);
    for (const fd of [this.#bell.readFd, this.#bell.writeFd]) if (fd >= 0) closeFd(fd);
    destroyFixedMemory(this.memory);
  }

  /** After commands were published: wakes a host that sleeps. */
  ring(): void {
    const { int32 } = this.memory;
    if (Atomics.exchange(int32, WORD_HOST_SLEEPS, 0) === 1) writeByte(this.#bell.writeFd);
  }

  /** Host: sleeps until a command may be there, at most `timeoutMs`. */
  sleep(timeoutMs: number): void {
    const { int32 } = this.memory;
    const { readFd } = this.#bell;
    Atomics.store(int32, WORD_HOST_SLEEPS, 1);
    const isRung = peekRecord(this.commands) < 0 && waitReadable([readFd], timeoutMs) > 0;
    Atomics.store(int32, WORD_HOST_SLEEPS, 0);
    if (isRung) clearPipe(readFd);
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
