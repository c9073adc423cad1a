// File descriptors: close, pipes and eventfd doorbells.

import { bindFunction, checkCall, resultOrErrno } from './library.js';
import { scratchAddr, scratchView } from './scratch.js';

const O_NONBLOCK = 0x800;
const O_CLOEXEC = 0x80000;

const closeC = bindFunction<(fd: number) => number>('int close(int fd)');
const pipe2C = bindFunction<(fdsAddr: number, flags: number) => number>(
  'int pipe2(uintptr_t fds, int flags)',
);
const eventfdC = bindFunction<(initial: number, flags: number) => number>(
  'int eventfd(unsigned int initial, int flags)',
);
const readC = bindFunction<(fd: number, addr: number, bytes: number) => number>(
  'int64_t read(int fd, uintptr_t addr, size_t bytes)',
);
const writeC = bindFunction<(fd: number, addr: number, bytes: number) => number>(
  'int64_t write(int fd, uintptr_t addr, size_t bytes)',
);

const fcntlC = bindFunction<(fd: number, command: number, value: number) => number>(
  'int fcntl(int fd, int command, int value)',
);
const F_SETPIPE_SZ = 1031;
const F_DUPFD_CLOEXEC = 1030;

const flockC = bindFunction<(fd: number, operation: number) => number>(
  'int flock(int fd, int operation)',
);
const LOCK_EXCLUSIVE = 2;
const LOCK_NONBLOCK = 4;
const PIPE_CLEAR_BYTES = 64;

/** Waits for the lock of a file; it goes with the descriptor. 0 or −errno. */
export function lockFile(fd: number): number {
  return resultOrErrno(flockC(fd, LOCK_EXCLUSIVE));
}

/** Takes the lock of a file, or −errno (−EAGAIN: somebody else has it). */
export function tryLockFile(fd: number): number {
  return resultOrErrno(flockC(fd, LOCK_EXCLUSIVE | LOCK_NONBLOCK));
}

/** Closes; 0 or −errno. Close is never retried: the descriptor is gone even after EINTR. */
export function closeFd(fd: number): number {
  return resultOrErrno(closeC(fd));
}

/** Another descriptor of the same file, whatever kind it is of. */
export function duplicateFd(fd: number): number {
  return checkCall('fcntl F_DUPFD', `${fd}`, resultOrErrno(fcntlC(fd, F_DUPFD_CLOEXEC, 0)));
}

export interface Pipe {
  readonly readFd: number;
  readonly writeFd: number;
}

export function createPipe(): Pipe {
  checkCall('pipe2', '', resultOrErrno(pipe2C(scratchAddr, O_NONBLOCK | O_CLOEXEC)));
  return { readFd: scratchView.getInt32(0, true), writeFd: scratchView.getInt32(4, true) };
}

/** Asks for room for so many bytes of whole pages; what it has then, or −errno. */
export function growPipe(fd: number, bytes: number): number {
  return resultOrErrno(fcntlC(fd, F_SETPIPE_SZ, bytes));
}

export function createEventFd(): number {
  return checkCall('eventfd', '', resultOrErrno(eventfdC(0, O_NONBLOCK | O_CLOEXEC)));
}

/** Rings a doorbell: adds 1 to an eventfd. 0 or −errno. */
export function ringEventFd(fd: number): number {
  scratchView.setBigUint64(0, 1n, true);
  const written = writeC(fd, scratchAddr, 8);
  return written === 8 ? 0 : resultOrErrno(written);
}

/** Clears a doorbell; 0, or −errno (−EAGAIN when it was not rung). */
export function clearEventFd(fd: number): number {
  const taken = readC(fd, scratchAddr, 8);
  return taken === 8 ? 0 : resultOrErrno(taken);
}

/** Writes one byte; 1, or −errno (−EAGAIN when the pipe is full, and so already readable). */
export function writeByte(fd: number): number {
  scratchView.setUint8(0, 1);
  return resultOrErrno(writeC(fd, scratchAddr, 1));
}

/** Takes what lies in a pipe that says nothing but that it was written to. */
export function clearPipe(fd: number): void {
  readC(fd, scratchAddr, PIPE_CLEAR_BYTES);
}

export function readFd(fd: number, addr: number, bytes: number): number {
  return resultOrErrno(readC(fd, addr, bytes));
}

export function writeFd(fd: number, addr: number, bytes: number): number {
  return resultOrErrno(writeC(fd, addr, bytes));
}
