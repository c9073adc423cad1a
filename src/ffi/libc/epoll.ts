// epoll: which descriptors are ready. One event table per Epoll, in fixed memory.

import { EBADF, ENOENT } from './errno.js';
import { closeFd } from './file-descriptor.js';
import { bindFunction, checkCall, resultOrErrno } from './library.js';
import { mapMemory, unmapMemory, viewMapping } from './mapping.js';
import { scratchAddr, scratchView } from './scratch.js';

export const EPOLLIN = 0x001;
export const EPOLLOUT = 0x004;
export const EPOLLERR = 0x008;
export const EPOLLHUP = 0x010;
export const EPOLLRDHUP = 0x2000;
export const EPOLLET = 0x80000000;

const EPOLL_CLOEXEC = 0x80000;
const EPOLL_CTL_ADD = 1;
const EPOLL_CTL_DEL = 2;
const EPOLL_CTL_MOD = 3;

// struct epoll_event is packed on x86-64 only.
const EVENT_BYTES = process.arch === 'x64' ? 12 : 16;
const TAG_OFFSET = process.arch === 'x64' ? 4 : 8;
const EVENTS_MAX = 64;

/** No wait inside FFI exceeds this: thread termination and process exit have to wait for it. */
export const FFI_WAIT_MS_MAX = 100;

const epollCreateC = bindFunction<(flags: number) => number>('int epoll_create1(int flags)');
const epollCtlC = bindFunction<(epfd: number, op: number, fd: number, event: number) => number>(
  'int epoll_ctl(int epfd, int op, int fd, uintptr_t event)',
);
const epollWaitC = bindFunction<
  (epfd: number, events: number, countMax: number, timeoutMs: number) => number
>('int epoll_wait(int epfd, uintptr_t events, int max, int timeout)');

export interface Epoll {
  readonly fd: number;
  readonly eventsAddr: number;
  readonly events: DataView;
}

export function createEpoll(): Epoll {
  const fd = checkCall('epoll_create1', '', resultOrErrno(epollCreateC(EPOLL_CLOEXEC)));
  const mapping = mapMemory(EVENTS_MAX * EVENT_BYTES, { isLow: true });
  return { fd, eventsAddr: mapping.addr, events: new DataView(viewMapping(mapping)) };
}

/** The events must not be looked at after this. */
export function closeEpoll(epoll: Epoll): void {
  closeFd(epoll.fd);
  unmapMemory({ addr: epoll.eventsAddr, bytes: EVENTS_MAX * EVENT_BYTES });
}

function control(epoll: Epoll, op: number, fd: number, events: number, tag: number): number {
  scratchView.setUint32(0, events >>> 0, true);
  scratchView.setUint32(TAG_OFFSET, tag, true);
  scratchView.setUint32(TAG_OFFSET + 4, 0, true);
  return resultOrErrno(epollCtlC(epoll.fd, op, fd, scratchAddr));
}

/** `tag` comes back with every event of this descriptor. */
export function addToEpoll(epoll: Epoll, fd: number, events: number, tag: number): void {
  checkCall('epoll_ctl add', `fd ${fd}`, control(epoll, EPOLL_CTL_ADD, fd, events, tag));
}

export function changeInEpoll(epoll: Epoll, fd: number, events: number, tag: number): void {
  checkCall('epoll_ctl mod', `fd ${fd}`, control(epoll, EPOLL_CTL_MOD, fd, events, tag));
}

export function removeFromEpoll(epoll: Epoll, fd: number): void {
  checkCall('epoll_ctl del', `fd ${fd}`, control(epoll, EPOLL_CTL_DEL, fd, 0, 0));
}

/** As `removeFromEpoll`, for a descriptor that may be closed: it has left by itself then. */
export function dropFromEpoll(epoll: Epoll, fd: number): void {
  const result = control(epoll, EPOLL_CTL_DEL, fd, 0, 0);
  if (result === -EBADF || result === -ENOENT) return;
  checkCall('epoll_ctl del', `fd ${fd}`, result);
}

/** Number of events (0 after the time), or −errno. `timeoutMs` is cut to FFI_WAIT_MS_MAX. */
export function waitEpoll(epoll: Epoll, timeoutMs: number): number {
  const waitMs = timeoutMs > FFI_WAIT_MS_MAX ? FFI_WAIT_MS_MAX : timeoutMs;
  return resultOrErrno(epollWaitC(epoll.fd, epoll.eventsAddr, EVENTS_MAX, waitMs));
}

export function epollEventTag(epoll: Epoll, index: number): number {
  return epoll.events.getUint32(index * EVENT_BYTES + TAG_OFFSET, true);
}

export function epollEventBits(epoll: Epoll, index: number): number {
  return epoll.events.getUint32(index * EVENT_BYTES, true);
}
