// Which sockets of a lane are ready, edge-triggered, with a doorbell for other threads and a place
// for one nested set (the control sockets) whose events belong to somebody else.

import { assert } from '../base/assert.js';
import {
  addToEpoll,
  closeEpoll,
  createEpoll,
  EPOLLERR,
  EPOLLET,
  EPOLLHUP,
  EPOLLIN,
  EPOLLOUT,
  EPOLLRDHUP,
  type Epoll,
  epollEventBits,
  epollEventTag,
  waitEpoll,
} from '../ffi/libc/epoll.js';
import { clearEventFd, closeFd, createEventFd, ringEventFd } from '../ffi/libc/file-descriptor.js';

const TAG_DOORBELL = 0xffffffff;
const TAG_NESTED = 0xfffffffe;

export interface Ready {
  /** `isLast`: the peer has closed or broken its end. No event will follow: read to the end. */
  onReadable(tag: number, isLast: boolean): void;
  onWritable(tag: number): void;
  /** The nested set has something; only where there is one. */
  onNested?(): void;
}

export class Readiness {
  readonly #epoll: Epoll = createEpoll();
  readonly doorbellFd: number;

  /** Without a doorbell (−1) it tells of sockets alone. */
  constructor(doorbellFd: number) {
    this.doorbellFd = doorbellFd;
    if (doorbellFd >= 0) addToEpoll(this.#epoll, doorbellFd, EPOLLIN, TAG_DOORBELL);
  }

  /** For another set, in which this one is told of as a whole. */
  get fd(): number {
    return this.#epoll.fd;
  }

  nest(epollFd: number): void {
    addToEpoll(this.#epoll, epollFd, EPOLLIN | EPOLLET, TAG_NESTED);
  }

  /** The socket leaves the set by itself when it is closed. */
  add(fd: number, tag: number): void {
    addToEpoll(this.#epoll, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, tag);
  }

  /** Waits at most `timeoutMs` (0: only looks) and reports; returns the number of events. */
  wait(timeoutMs: number, ready: Ready): number {
    const count = waitEpoll(this.#epoll, timeoutMs);
    for (let index = 0; index < count; index++) {
      const tag = epollEventTag(this.#epoll, index);
      if (tag === TAG_DOORBELL) {
        clearEventFd(this.doorbellFd);
      } else if (tag === TAG_NESTED) {
        assert(ready.onNested !== undefined, 'whoever nests a set hears of it');
        ready.onNested();
      } else {
        const bits = epollEventBits(this.#epoll, index);
        const isLast = (bits & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) !== 0;
        if (isLast || (bits & EPOLLIN) !== 0) ready.onReadable(tag, isLast);
        if ((bits & (EPOLLOUT | EPOLLHUP | EPOLLERR)) !== 0) ready.onWritable(tag);
      }
    }
    return count;
  }

  close(): void {
    closeEpoll(this.#epoll);
  }
}

export { closeFd as closeDoorbell, createEventFd as createDoorbell, ringEventFd as ringDoorbell };
