// What can befall a connection, done to it on purpose: nothing gets through any more, or this
// kernel alone gives it up. For tests of those who have to notice.

import { bindFunction, checkCall, resultOrErrno } from './library.js';
import { scratchAddr, scratchView } from './scratch.js';
import { SOL_SOCKET } from './socket.js';

const SO_ATTACH_FILTER = 26;
const SO_DETACH_FILTER = 27;
/** BPF_RET | BPF_K: with 0 the packet is dropped. */
const RETURN_CONSTANT = 0x06;
const PROGRAM_OFFSET = 64;
const PROGRAM_BYTES = 16;
const ADDRESS_BYTES = 16;

const setsockoptC = bindFunction<
  (fd: number, level: number, option: number, addr: number, bytes: number) => number
>('int setsockopt(int fd, int level, int option, uintptr_t addr, unsigned int bytes)');
const connectC = bindFunction<(fd: number, addr: number, bytes: number) => number>(
  'int connect(int fd, uintptr_t addr, unsigned int bytes)',
);

/** Whatever comes for this socket is dropped before the kernel looks at it, resets included. */
export function deafenSocket(fd: number): void {
  scratchView.setUint16(0, RETURN_CONSTANT, true);
  scratchView.setUint16(2, 0, true);
  scratchView.setUint32(4, 0, true);
  scratchView.setBigUint64(PROGRAM_OFFSET, 1n, true);
  scratchView.setBigUint64(PROGRAM_OFFSET + 8, BigInt(scratchAddr), true);
  const program = scratchAddr + PROGRAM_OFFSET;
  const result = setsockoptC(fd, SOL_SOCKET, SO_ATTACH_FILTER, program, PROGRAM_BYTES);
  checkCall('setsockopt SO_ATTACH_FILTER', `fd ${fd}`, resultOrErrno(result));
}

export function undeafenSocket(fd: number): void {
  scratchView.setInt32(0, 0, true);
  const result = setsockoptC(fd, SOL_SOCKET, SO_DETACH_FILTER, scratchAddr, 4);
  checkCall('setsockopt SO_DETACH_FILTER', `fd ${fd}`, resultOrErrno(result));
}

/** This kernel gives the connection up: its owner sees ECONNRESET, and the peer is sent a reset. */
export function breakSocket(fd: number): void {
  for (let at = 0; at < ADDRESS_BYTES; at += 4) scratchView.setUint32(at, 0, true);
  const result = connectC(fd, scratchAddr, ADDRESS_BYTES);
  checkCall('connect AF_UNSPEC', `fd ${fd}`, resultOrErrno(result));
}
