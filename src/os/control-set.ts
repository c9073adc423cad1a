// Sockets that the main thread serves: the listener, handshakes and control connections. They are
// few and slow; a lane watches the set as a whole and wakes the main thread, or callers poll it.

import { assert } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import {
  addToEpoll,
  changeInEpoll,
  closeEpoll,
  createEpoll,
  dropFromEpoll,
  EPOLLIN,
  EPOLLOUT,
  type Epoll,
  epollEventTag,
  removeFromEpoll,
  waitEpoll,
} from '../ffi/libc/epoll.js';
import { ControlBufferPool } from './control-buffers.js';

export interface ControlHandler {
  /** The socket is readable or writable, or has failed. */
  onReady(): void;
  /** The set is closed: whoever waits for the socket waits no longer. */
  onSetClosed?(): void;
}

interface Watched {
  readonly handler: ControlHandler;
  /** What epoll tells of it. */
  events: number;
}

export class ControlSet {
  readonly buffers: ControlBufferPool;
  readonly #epoll: Epoll = createEpoll();
  readonly #watched = new Map<number, Watched>();
  #isClosed = false;

  /** `spareMax`: buffers of sockets that are kept for the next ones. */
  constructor(spareMax: number) {
    this.buffers = new ControlBufferPool(spareMax);
  }

  get fd(): number {
    return this.#epoll.fd;
  }

  assertOpen(): void {
    if (this.#isClosed) throw new TcpxError('ERR_USAGE_STATE', 'the engine is closed');
  }

  /** Told of what can be read, unless `want` says otherwise. */
  add(fd: number, handler: ControlHandler, events: number = EPOLLIN): void {
    this.assertOpen();
    this.#watched.set(fd, { handler, events });
    addToEpoll(this.#epoll, fd, events, fd);
  }

  /** What to be told of; failures are always told. Costs a system call where it is news. */
  want(fd: number, isReadable: boolean, isWritable: boolean): void {
    const watched = this.#watched.get(fd);
    assert(watched !== undefined, 'only a socket of the set is watched');
    const events = (isReadable ? EPOLLIN : 0) | (isWritable ? EPOLLOUT : 0);
    if (events === watched.events) return;
    watched.events = events;
    changeInEpoll(this.#epoll, fd, events, fd);
  }

  remove(fd: number): void {
    if (this.#watched.delete(fd)) removeFromEpoll(this.#epoll, fd);
  }

  /** As `remove`, of a socket that others close: its number may be another handler's by now. */
  drop(fd: number, handler: ControlHandler): void {
    if (this.#watched.get(fd)?.handler !== handler) return;
    this.#watched.delete(fd);
    dropFromEpoll(this.#epoll, fd);
  }

  /** Serves every socket that has something; returns how many were served. */
  poll(): number {
    let served = 0;
    for (let round = 0; round < 64; round++) {
      const count = waitEpoll(this.#epoll, 0);
      if (count <= 0) return served;
      const ready: number[] = [];
      for (let index = 0; index < count; index++) ready.push(epollEventTag(this.#epoll, index));
      // A handler may close another's socket: look each up again.
      for (const fd of ready) this.#watched.get(fd)?.handler.onReady();
      served += count;
    }
    return served;
  }

  close(): void {
    for (const { handler } of [...this.#watched.values()]) handler.onSetClosed?.();
    this.#isClosed = true;
    this.#watched.clear();
    this.buffers.close();
    closeEpoll(this.#epoll);
  }
}
