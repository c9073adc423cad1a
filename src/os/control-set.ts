// Sockets that the main thread serves: the listener, handshakes and control connections. They are
// few and slow; a lane watches the set as a whole and wakes the main thread, or callers poll it.

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

export class ControlSet {
  readonly buffers = new ControlBufferPool();
  readonly #epoll: Epoll = createEpoll();
  readonly #handlers = new Map<number, ControlHandler>();
  #isClosed = false;

  get fd(): number {
    return this.#epoll.fd;
  }

  assertOpen(): void {
    if (this.#isClosed) throw new TcpxError('ERR_USAGE_STATE', 'the engine is closed');
  }

  add(fd: number, handler: ControlHandler): void {
    this.assertOpen();
    this.#handlers.set(fd, handler);
    addToEpoll(this.#epoll, fd, EPOLLIN, fd);
  }

  /** What to be told of; failures are always told. */
  want(fd: number, isReadable: boolean, isWritable: boolean): void {
    const events = (isReadable ? EPOLLIN : 0) | (isWritable ? EPOLLOUT : 0);
    changeInEpoll(this.#epoll, fd, events, fd);
  }

  remove(fd: number): void {
    if (this.#handlers.delete(fd)) removeFromEpoll(this.#epoll, fd);
  }

  /** As `remove`, of a socket that others close: its number may be another handler's by now. */
  drop(fd: number, handler: ControlHandler): void {
    if (this.#handlers.get(fd) !== handler) return;
    this.#handlers.delete(fd);
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
      for (const fd of ready) this.#handlers.get(fd)?.onReady();
      served += count;
    }
    return served;
  }

  close(): void {
    for (const handler of [...this.#handlers.values()]) handler.onSetClosed?.();
    this.#isClosed = true;
    this.#handlers.clear();
    this.buffers.close();
    closeEpoll(this.#epoll);
  }
}
