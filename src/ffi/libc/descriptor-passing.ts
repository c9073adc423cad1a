// File descriptors sent to another process over a Unix socket (SCM_RIGHTS). Needed where opening
// /proc/PID/fd/N does not do: that opens the file anew, and descriptors of a driver are more than
// their file.
//
//   0        56   64        72        80                    96          120
//   ┌─────────┬───┬─────────┬─────────┬─────────────────────┬───────────┐
//   │ msghdr  │   │ payload │         │ iovec               │ cmsg + fd │
//   └─────────┴───┴─────────┴─────────┴─────────────────────┴───────────┘

import { closeFd } from './file-descriptor.js';
import { bindFunction, checkCall, resultOrErrno, systemCallError } from './library.js';
import { scratchAddr, scratchView } from './scratch.js';

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_CLOEXEC = 0x80000;
const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
const MSG_CMSG_CLOEXEC = 0x40000000;
const PAYLOAD_AT = 64;
const IOV_AT = 80;
const CONTROL_AT = 96;
/** struct cmsghdr is 16 bytes, one descriptor 4, the whole padded to 8. */
const CONTROL_BYTES = 24;
const CONTROL_LENGTH = 20;
const EAGAIN = 11;

const socketpairC = bindFunction<
  (family: number, type: number, protocol: number, fds: number) => number
>('int socketpair(int family, int type, int protocol, uintptr_t fds)');
const sendmsgC = bindFunction<(fd: number, header: number, flags: number) => number>(
  'int64_t sendmsg(int fd, uintptr_t header, int flags)',
);
const recvmsgC = bindFunction<(fd: number, header: number, flags: number) => number>(
  'int64_t recvmsg(int fd, uintptr_t header, int flags)',
);

export interface SocketPair {
  readonly ownFd: number;
  readonly otherFd: number;
}

/** Two connected Unix sockets; the other end is for a child process to inherit. */
export function createSocketPair(): SocketPair {
  const type = SOCK_STREAM | SOCK_CLOEXEC;
  const result = resultOrErrno(socketpairC(AF_UNIX, type, 0, scratchAddr));
  checkCall('socketpair', '', result);
  return { ownFd: scratchView.getInt32(0, true), otherFd: scratchView.getInt32(4, true) };
}

/** Sends a copy of the descriptor; the own one stays open. */
export function sendDescriptor(socketFd: number, fd: number): void {
  writeHeader();
  scratchView.setBigUint64(CONTROL_AT, BigInt(CONTROL_LENGTH), true);
  scratchView.setInt32(CONTROL_AT + 8, SOL_SOCKET, true);
  scratchView.setInt32(CONTROL_AT + 12, SCM_RIGHTS, true);
  scratchView.setInt32(CONTROL_AT + 16, fd, true);
  const flags = MSG_DONTWAIT | MSG_NOSIGNAL;
  const result = resultOrErrno(sendmsgC(socketFd, scratchAddr, flags));
  checkCall('sendmsg', `descriptor ${fd}`, result);
}

/** The next descriptor that was sent; it must be there already. The caller closes it. */
export function receiveDescriptor(socketFd: number): number {
  writeHeader();
  scratchView.setInt32(CONTROL_AT + 16, -1, true);
  const flags = MSG_DONTWAIT | MSG_CMSG_CLOEXEC;
  const result = resultOrErrno(recvmsgC(socketFd, scratchAddr, flags));
  checkCall('recvmsg', 'descriptor', result);
  const length = Number(scratchView.getBigUint64(CONTROL_AT, true));
  const fd = scratchView.getInt32(CONTROL_AT + 16, true);
  if (length === CONTROL_LENGTH && fd >= 0) return fd;
  throw systemCallError('recvmsg', 'message without a descriptor', EAGAIN);
}

export function closeSocketPair(pair: SocketPair): void {
  closeFd(pair.ownFd);
  closeFd(pair.otherFd);
}

// One byte of payload: without any, a stream socket carries no control data.
function writeHeader(): void {
  for (let at = 0; at < CONTROL_AT + CONTROL_BYTES; at += 8) scratchView.setBigUint64(at, 0n, true);
  scratchView.setBigUint64(16, BigInt(scratchAddr + IOV_AT), true);
  scratchView.setBigUint64(24, 1n, true);
  scratchView.setBigUint64(32, BigInt(scratchAddr + CONTROL_AT), true);
  scratchView.setBigUint64(40, BigInt(CONTROL_BYTES), true);
  scratchView.setBigUint64(IOV_AT, BigInt(scratchAddr + PAYLOAD_AT), true);
  scratchView.setBigUint64(IOV_AT + 8, 1n, true);
}
