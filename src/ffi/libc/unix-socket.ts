// Unix sockets between processes: listening at a path, mailboxes without one, messages with
// descriptors (SCM_RIGHTS), and who is at the other end. Nothing here blocks.
//
//   scratch:  0 msghdr │ 64 iovec │ 128 control: cmsghdr + descriptors │ 4096 payload

import { TcpxError } from '../../base/errors.js';
import { EADDRINUSE, ENOENT, errnoName } from './errno.js';
import { closeFd } from './file-descriptor.js';
import { bindFunction, checkCall, resultOrErrno } from './library.js';
import { acceptOnly } from './mail-filter.js';
import { SCRATCH_BYTES, scratchAddr, scratchBytes, scratchView } from './scratch.js';
import { readSocketOption } from './socket.js';

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_DGRAM = 2;
const SOCK_NONBLOCK = 0x800;
const SOCK_CLOEXEC = 0x80000;
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
const SO_PEERPIDFD = 77;
const SCM_RIGHTS = 1;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
const MSG_CMSG_CLOEXEC = 0x40000000;
const SYS_PIDFD_OPEN = 434;
const PATH_BYTES_MAX = 107;
const IOV_AT = 64;
const CONTROL_AT = 128;
const PAYLOAD_AT = 4096;
const CMSG_HEAD_BYTES = 16;
/** Of one message, in either direction. The kernel allows 253. */
const DESCRIPTORS_MAX = 128;

const socketC = bindFunction<(family: number, type: number, protocol: number) => number>(
  'int socket(int family, int type, int protocol)',
);
const bindC = bindFunction<(fd: number, addr: number, bytes: number) => number>(
  'int bind(int fd, uintptr_t addr, unsigned int bytes)',
);
const connectC = bindFunction<(fd: number, addr: number, bytes: number) => number>(
  'int connect(int fd, uintptr_t addr, unsigned int bytes)',
);
const listenC = bindFunction<(fd: number, backlog: number) => number>(
  'int listen(int fd, int backlog)',
);
const sendmsgC = bindFunction<(fd: number, header: number, flags: number) => number>(
  'int64_t sendmsg(int fd, uintptr_t header, int flags)',
);
const recvmsgC = bindFunction<(fd: number, header: number, flags: number) => number>(
  'int64_t recvmsg(int fd, uintptr_t header, int flags)',
);
const syscallC = bindFunction<(number: number, pid: number, flags: number) => number>(
  'int64_t syscall(int64_t n, int pid, int flags)',
);

/** Bytes that one receiveMessage takes at most. */
export const UNIX_READ_BYTES_MAX = SCRATCH_BYTES - PAYLOAD_AT;

/** A listening socket at a path that nothing lies at; its mode is what umask leaves. */
export function listenUnix(path: string, backlog: number): number {
  const fd = openUnix();
  const bytes = writeUnixAddress(path);
  let result = resultOrErrno(bindC(fd, scratchAddr, bytes));
  if (result === 0) result = resultOrErrno(listenC(fd, backlog));
  if (result === 0) return fd;
  closeFd(fd);
  const code = result === -EADDRINUSE ? 'ERR_SYS_ADDRESS_IN_USE' : 'ERR_SYS_CALL';
  throw new TcpxError(code, `listen on ${path}: ${errnoName(-result)}`, {
    facts: { call: 'bind', errno: -result, path },
  });
}

/** A connected socket, or −errno (−ENOENT, −ECONNREFUSED where nobody listens). */
export function connectUnix(path: string): number {
  const fd = openUnix();
  const result = resultOrErrno(connectC(fd, scratchAddr, writeUnixAddress(path)));
  if (result === 0) return fd;
  closeFd(fd);
  return result;
}

/**
 * A socket for single messages under a name that is no path: known within the network namespace,
 * and gone with the socket. −errno (−EADDRINUSE) where it cannot be had. With `start`, messages
 * that do not begin with it are dropped, where the kernel can.
 */
export function bindMailbox(name: string, start?: Uint8Array): number {
  const fd = tryUnix(SOCK_DGRAM);
  if (fd < 0) return fd;
  // Before it has a name: nothing can have come.
  if (start !== undefined) acceptOnly(fd, start);
  const result = resultOrErrno(bindC(fd, scratchAddr, writeAbstractAddress(name)));
  if (result === 0) return fd;
  closeFd(fd);
  return result;
}

/** Bytes sent to the mailbox of that name, or −errno: −ECONNREFUSED where there is none. */
export function mailUnix(name: string, bytes: Uint8Array, descriptors: readonly number[]): number {
  const fd = tryUnix(SOCK_DGRAM);
  if (fd < 0) return fd;
  let result = resultOrErrno(connectC(fd, scratchAddr, writeAbstractAddress(name)));
  if (result === 0) result = sendUnix(fd, bytes, descriptors);
  closeFd(fd);
  return result;
}

function openUnix(kind = SOCK_STREAM): number {
  return checkCall('socket', 'unix', tryUnix(kind));
}

/** A descriptor, or −errno. */
function tryUnix(kind: number): number {
  const type = kind | SOCK_NONBLOCK | SOCK_CLOEXEC;
  return resultOrErrno(socketC(AF_UNIX, type, 0));
}

// The first byte of such a name is zero, and its length ends it.
function writeAbstractAddress(name: string): number {
  return writeUnixAddress(`\0${name}`) - 1;
}

function writeUnixAddress(path: string): number {
  const encoded = new TextEncoder().encode(path);
  if (encoded.length > PATH_BYTES_MAX) {
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `socket path ${path}: ${encoded.length} bytes, at most ${PATH_BYTES_MAX}`,
    );
  }
  scratchView.setUint16(0, AF_UNIX, true);
  scratchBytes.set(encoded, 2);
  scratchBytes[2 + encoded.length] = 0;
  return 2 + encoded.length + 1;
}

/** Bytes sent, or −errno; descriptors are copied to the other end, the own ones stay open. */
export function sendUnix(fd: number, bytes: Uint8Array, descriptors: readonly number[] = []) {
  const count = Math.min(bytes.length, UNIX_READ_BYTES_MAX);
  scratchBytes.set(bytes.subarray(0, count), PAYLOAD_AT);
  const controlBytes = writeHeader(count, descriptors.length);
  if (controlBytes > 0) {
    const length = CMSG_HEAD_BYTES + 4 * descriptors.length;
    scratchView.setBigUint64(CONTROL_AT, BigInt(length), true);
    scratchView.setInt32(CONTROL_AT + 8, SOL_SOCKET, true);
    scratchView.setInt32(CONTROL_AT + 12, SCM_RIGHTS, true);
    for (const [index, descriptor] of descriptors.entries()) {
      scratchView.setInt32(CONTROL_AT + CMSG_HEAD_BYTES + 4 * index, descriptor, true);
    }
  }
  return resultOrErrno(sendmsgC(fd, scratchAddr, MSG_DONTWAIT | MSG_NOSIGNAL));
}

export interface UnixMessage {
  /** Empty at the end of the stream. */
  readonly bytes: Uint8Array;
  /** The caller closes them. */
  readonly descriptors: readonly number[];
}

/** What has come, or −errno (−EAGAIN: nothing yet). */
export function receiveUnix(fd: number): UnixMessage | number {
  writeHeader(UNIX_READ_BYTES_MAX, DESCRIPTORS_MAX);
  const count = resultOrErrno(recvmsgC(fd, scratchAddr, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
  if (count < 0) return count;
  const descriptors: number[] = [];
  const controlBytes = Number(scratchView.getBigUint64(40, true));
  if (
    controlBytes >= CMSG_HEAD_BYTES &&
    scratchView.getInt32(CONTROL_AT + 12, true) === SCM_RIGHTS
  ) {
    const length = Number(scratchView.getBigUint64(CONTROL_AT, true));
    for (let at = CMSG_HEAD_BYTES; at + 4 <= length; at += 4) {
      descriptors.push(scratchView.getInt32(CONTROL_AT + at, true));
    }
  }
  return { bytes: scratchBytes.slice(PAYLOAD_AT, PAYLOAD_AT + count), descriptors };
}

function writeHeader(payloadBytes: number, descriptorCount: number): number {
  const controlBytes =
    descriptorCount === 0 ? 0 : CMSG_HEAD_BYTES + Math.ceil(descriptorCount / 2) * 8;
  scratchBytes.fill(0, 0, CONTROL_AT + CMSG_HEAD_BYTES + 4 * DESCRIPTORS_MAX);
  scratchView.setBigUint64(16, BigInt(scratchAddr + IOV_AT), true);
  scratchView.setBigUint64(24, 1n, true);
  if (controlBytes > 0) scratchView.setBigUint64(32, BigInt(scratchAddr + CONTROL_AT), true);
  scratchView.setBigUint64(40, BigInt(controlBytes), true);
  scratchView.setBigUint64(IOV_AT, BigInt(scratchAddr + PAYLOAD_AT), true);
  scratchView.setBigUint64(IOV_AT + 8, BigInt(payloadBytes), true);
  return controlBytes;
}

export interface PeerCredentials {
  /** As this process sees it; 0 where it is in a PID namespace that we cannot see into. */
  readonly pid: number;
  readonly uid: number;
  readonly gid: number;
}

/** Who connected: what the kernel noted then. */
export function peerCredentials(fd: number): PeerCredentials {
  const bytes = readSocketOption(fd, SOL_SOCKET, SO_PEERCRED, 12);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const [pid, uid, gid] = [0, 4, 8].map((at) => view.getUint32(at, true));
  return { pid: pid ?? 0, uid: uid ?? 0, gid: gid ?? 0 };
}

/**
 * A descriptor of the process at the other end, which becomes readable when it has ended and never
 * means a successor with the same number; −errno where there is none. The kernel gives it with the
 * socket since 6.5; before, the process is looked up by its number.
 */
export function openPeerPidfd(fd: number): number {
  try {
    const bytes = readSocketOption(fd, SOL_SOCKET, SO_PEERPIDFD, 4);
    return new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getInt32(0, true);
  } catch {
    const { pid } = peerCredentials(fd);
    return pid === 0 ? -ENOENT : resultOrErrno(syscallC(SYS_PIDFD_OPEN, pid, 0));
  }
}
