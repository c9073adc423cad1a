// The memory that one client and the service share, from the service's side: its command ring, and
// what is written for it: finished requests, connections, notifications.

import {
  CLIENT_BLOCK,
  type ClientShape,
  COMMAND_RING_DATA_BYTES,
  clientLayout,
  EVENT_NOTIFICATION,
  EVENT_RING_DATA_BYTES,
  NOTIFICATION_RECORD,
  PEER_BLOCK,
  REQUEST_BLOCK,
} from '../base/service-layout.js';
import { fieldIndex } from '../base/shared-block.js';
import { closeFd } from '../ffi/libc/file-descriptor.js';
import { createSealedFile } from '../ffi/libc/memory-file.js';
import { createFixedMemory, destroyFixedMemory, type FixedMemory } from '../os/fixed-memory.js';
import { publishRecords, reserveRecord } from '../os/record-ring.hot.js';
import { RecordRing } from '../os/record-ring.js';
import { wakeWaiters } from '../os/thread-wait.js';
import { CommandRing } from './command-ring.js';

const SLEEPS = fieldIndex(CLIENT_BLOCK, 'serviceSleeps');
const EVENTS = fieldIndex(CLIENT_BLOCK, 'events');
const ENDED = fieldIndex(CLIENT_BLOCK, 'ended');
const WAITERS = fieldIndex(CLIENT_BLOCK, 'waiters');

export class ClientMapping {
  readonly fd: number;
  readonly layout: ReturnType<typeof clientLayout>;
  readonly commands: CommandRing;
  readonly #memory: FixedMemory;
  readonly #events: RecordRing;
  #hasNews = false;

  constructor(shape: ClientShape) {
    this.layout = clientLayout(shape);
    this.fd = createSealedFile('tcpx-client', this.layout.bytes);
    this.#memory = createFixedMemory(this.layout.bytes, { fd: this.fd });
    const { commandsAt, eventsAt } = this.layout;
    this.commands = new CommandRing(this.#memory, commandsAt, COMMAND_RING_DATA_BYTES);
    this.#events = new RecordRing(this.#memory, eventsAt, EVENT_RING_DATA_BYTES);
  }

  finishRequest(request: number, number: number, status: number): void {
    this.#finish(this.layout.requestsAt + request * REQUEST_BLOCK.bytes, number, status);
  }

  finishConnect(peer: number, number: number, status: number): void {
    this.#finish(this.layout.peersAt + peer * PEER_BLOCK.bytes, number, status);
  }

  // Both entries begin with the number and the status.
  #finish(entryAt: number, number: number, status: number): void {
    const { int32 } = this.#memory;
    Atomics.store(int32, entryAt / 4 + 1, status);
    Atomics.store(int32, entryAt / 4, number);
    this.#hasNews = true;
  }

  /** False where the client has left no room: it stays with the caller. */
  putNotification(name: Uint8Array, message: Uint8Array): boolean {
    const bytes = NOTIFICATION_RECORD.bytes + name.length + message.length;
    const at = reserveRecord(this.#events, EVENT_NOTIFICATION, bytes);
    if (at < 0) return false;
    const { int32, uint8 } = this.#memory;
    int32[at / 4] = name.length;
    int32[at / 4 + 1] = message.length;
    uint8.set(name, at + NOTIFICATION_RECORD.bytes);
    uint8.set(message, at + NOTIFICATION_RECORD.bytes + name.length);
    publishRecords(this.#events);
    this.#hasNews = true;
    return true;
  }

  /** Something happened that the client has to ask for. */
  note(): void {
    this.#hasNews = true;
  }

  /** Tells threads of the client that sleep; once for everything since the last time: if any. */
  publishNews(): boolean {
    if (!this.#hasNews) return false;
    this.#hasNews = false;
    const { int32, addr } = this.#memory;
    Atomics.add(int32, EVENTS, 1);
    if (Atomics.load(int32, WAITERS) !== 0) wakeWaiters(addr + EVENTS * 4);
    return true;
  }

  /** True when nothing came in between: the next command is announced on the socket. */
  sleep(): boolean {
    Atomics.store(this.#memory.int32, SLEEPS, 1);
    if (this.commands.isEmpty) return true;
    this.wake();
    return false;
  }

  wake(): void {
    Atomics.store(this.#memory.int32, SLEEPS, 0);
  }

  /** The service lets the client go; what it asks for from now on fails with this. */
  end(status: number): void {
    Atomics.store(this.#memory.int32, ENDED, status);
    this.note();
    this.publishNews();
  }

  /** Nobody may touch it after this. */
  close(): void {
    closeFd(this.fd);
    destroyFixedMemory(this.#memory);
  }
}
