// Stream sockets, non-blocking from birth. Calls return −errno where a caller decides on it.

import { TcpxError } from '../../base/errors.js';
import { EADDRINUSE, errnoName } from './errno.js';
import { closeFd } from './file-descriptor.js';
import { bindFunction, checkCall, resultOrErrno } from './library.js';
import { scratchAddr, scratchBytes, scratchView, writeScratchString } from './scratch.js';
import {
  AF_INET,
  AF_INET6,
  decodeSocketAddress,
  encodeSocketAddress,
  SOCKADDR_BYTES_MAX,
  type SocketAddress,
} from './socket-address.js';

const SOCK_STREAM = 1;
const SOCK_NONBLOCK = 0x800;
const SOCK_CLOEXEC = 0x80000;
const SHUT_RDWR = 2;

export const SOL_SOCKET = 1;
export const IPPROTO_TCP = 6;
const IPPROTO_IPV6 = 41;
const SO_REUSEADDR = 2;
const SO_ERROR = 4;
export const SO_SNDBUF = 7;
export const SO_RCVBUF = 8;
export const SO_KEEPALIVE = 9;
export const SO_RCVLOWAT = 18;
export const SO_LINGER = 13;
export const SO_BINDTODEVICE = 25;
export const SO_ZEROCOPY = 60;
const IPV6_V6ONLY = 26;
export const TCP_NODELAY = 1;
export const TCP_KEEPIDLE = 4;
export const TCP_KEEPINTVL = 5;
export const TCP_CONGESTION = 13;
export const TCP_USER_TIMEOUT = 18;
export const TCP_NOTSENT_LOWAT = 25;

const LENGTH_OFFSET = 1024;

const socketC = bindFunction<(family: number, type: number, protocol: number) => number>(
  'int socket(int family, int type, int protocol)',
);
const bindC = bindFunction<(fd: number, addr: number, bytes: number) => number>(
  'int bind(int fd, uintptr_t addr, unsigned int bytes)',
);
const listenC = bindFunction<(fd: number, backlog: number) => number>(
  'int listen(int fd, int backlog)',
);
const accept4C = bindFunction<(fd: number, addr: number, length: number, flags: number) => number>(
  'int accept4(int fd, uintptr_t addr, uintptr_t length, int flags)',
);
const connectC = bindFunction<(fd: number, addr: number, bytes: number) => number>(
  'int connect(int fd, uintptr_t addr, unsigned int bytes)',
);
const shutdownC = bindFunction<(fd: number, how: number) => number>(
  'int shutdown(int fd, int how)',
);
const setsockoptC = bindFunction<
  (fd: number, level: number, option: number, addr: number, bytes: number) => number
>('int setsockopt(int fd, int level, int option, uintptr_t addr, unsigned int bytes)');
const getsockoptC = bindFunction<
  (fd: number, level: number, option: number, addr: number, length: number) => number
>('int getsockopt(int fd, int level, int option, uintptr_t addr, uintptr_t length)');
const getsocknameC = bindFunction<(fd: number, addr: number, length: number) => number>(
  'int getsockname(int fd, uintptr_t addr, uintptr_t length)',
);
const getpeernameC = bindFunction<(fd: number, addr: number, length: number) => number>(
  'int getpeername(int fd, uintptr_t addr, uintptr_t length)',
);

// Declared with three fixed parameters: x86-64 and arm64 pass a variadic integer the same way.
const ioctlC = bindFunction<(fd: number, request: number, addr: number) => number>(
  'int ioctl(int fd, unsigned long request, uintptr_t addr)',
);
const SIOCOUTQ = 0x5411;

/** Bytes in the send queue that the peer's kernel has not acknowledged. */
export function unconfirmedBytes(fd: number): number {
  checkCall('ioctl SIOCOUTQ', `fd ${fd}`, resultOrErrno(ioctlC(fd, SIOCOUTQ, scratchAddr)));
  return scratchView.getInt32(0, true);
}

export function openStreamSocket(host: string): number {
  const family = host.includes(':') ? AF_INET6 : AF_INET;
  const type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  return checkCall('socket', host, resultOrErrno(socketC(family, type, 0)));
}

/** 0 or −errno. */
export function bindSocket(fd: number, address: SocketAddress): number {
  const bytes = encodeSocketAddress(scratchView, 0, address);
  return resultOrErrno(bindC(fd, scratchAddr, bytes));
}

/**
 * A listening socket; a taken port is ERR_SYS_ADDRESS_IN_USE. `prepare` sets what connections
 * inherit, before the first can come.
 */
export function listenOn(
  address: SocketAddress,
  backlog: number,
  prepare: (fd: number) => void = () => undefined,
): number {
  const fd = openStreamSocket(address.host);
  try {
    prepare(fd);
  } catch (error) {
    closeFd(fd);
    throw error;
  }
  setSocketNumber(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.host.includes(':')) setSocketNumber(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  let result = bindSocket(fd, address);
  if (result === 0) result = resultOrErrno(listenC(fd, backlog));
  if (result === 0) return fd;
  closeFd(fd);
  const code = result === -EADDRINUSE ? 'ERR_SYS_ADDRESS_IN_USE' : 'ERR_SYS_CALL';
  const where = formatAddress(address);
  throw new TcpxError(code, `listen on ${where}: ${errnoName(-result)}`, {
    facts: { call: 'listen', errno: -result, address: where },
  });
}

/** A connected descriptor, or −errno (−EAGAIN when nobody waits). */
export function acceptSocket(fd: number): number {
  return resultOrErrno(accept4C(fd, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

/** 0 when connected at once, −EINPROGRESS when under way, or another −errno. */
export function connectSocket(fd: number, address: SocketAddress): number {
  const bytes = encodeSocketAddress(scratchView, 0, address);
  return resultOrErrno(connectC(fd, scratchAddr, bytes));
}

export function shutdownSocket(fd: number): number {
  return resultOrErrno(shutdownC(fd, SHUT_RDWR));
}

export function setSocketNumber(fd: number, level: number, option: number, value: number): void {
  const result = trySetSocketNumber(fd, level, option, value);
  checkCall('setsockopt', `fd ${fd} level ${level} option ${option} value ${value}`, result);
}

export function trySetSocketNumber(fd: number, level: number, option: number, value: number) {
  scratchView.setInt32(0, value, true);
  return resultOrErrno(setsockoptC(fd, level, option, scratchAddr, 4));
}

/** A later close drops what is queued and resets the connection; 0 or −errno. */
export function abortOnClose(fd: number): number {
  scratchView.setInt32(0, 1, true);
  scratchView.setInt32(4, 0, true);
  return resultOrErrno(setsockoptC(fd, SOL_SOCKET, SO_LINGER, scratchAddr, 8));
}

export function getSocketNumber(fd: number, level: number, option: number): number {
  scratchView.setInt32(0, 0, true);
  scratchView.setUint32(LENGTH_OFFSET, 4, true);
  const result = resultOrErrno(
    getsockoptC(fd, level, option, scratchAddr, scratchAddr + LENGTH_OFFSET),
  );
  checkCall('getsockopt', `fd ${fd} level ${level} option ${option}`, result);
  return scratchView.getInt32(0, true);
}

/** An option whose value lies in memory; 0 or −errno. */
export function setSocketValue(
  fd: number,
  level: number,
  option: number,
  addr: number,
  bytes: number,
): number {
  return resultOrErrno(setsockoptC(fd, level, option, addr, bytes));
}

/** For SO_BINDTODEVICE and TCP_CONGESTION; 0 or −errno. */
export function setSocketText(fd: number, level: number, option: number, text: string): number {
  const length = writeScratchString(0, text);
  return resultOrErrno(setsockoptC(fd, level, option, scratchAddr, length));
}

export function getSocketText(fd: number, level: number, option: number): string {
  const bytes = readSocketOption(fd, level, option, 64);
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(bytes.subarray(0, end < 0 ? bytes.length : end));
}

/** The raw option value, as long as the kernel made it; a copy. */
export function readSocketOption(fd: number, level: number, option: number, bytesMax: number) {
  scratchBytes.fill(0, 0, bytesMax);
  scratchView.setUint32(LENGTH_OFFSET, bytesMax, true);
  const result = resultOrErrno(
    getsockoptC(fd, level, option, scratchAddr, scratchAddr + LENGTH_OFFSET),
  );
  checkCall('getsockopt', `fd ${fd} level ${level} option ${option}`, result);
  return scratchBytes.slice(0, scratchView.getUint32(LENGTH_OFFSET, true));
}

export function localAddress(fd: number): SocketAddress {
  scratchView.setUint32(LENGTH_OFFSET, SOCKADDR_BYTES_MAX, true);
  const result = resultOrErrno(getsocknameC(fd, scratchAddr, scratchAddr + LENGTH_OFFSET));
  checkCall('getsockname', `fd ${fd}`, result);
  return decodeSocketAddress(scratchView, 0);
}

export function peerAddress(fd: number): SocketAddress {
  scratchView.setUint32(LENGTH_OFFSET, SOCKADDR_BYTES_MAX, true);
  const result = resultOrErrno(getpeernameC(fd, scratchAddr, scratchAddr + LENGTH_OFFSET));
  checkCall('getpeername', `fd ${fd}`, result);
  return decodeSocketAddress(scratchView, 0);
}

/** Whether a connect that was under way has succeeded: only then there is a peer to name. */
export function isConnected(fd: number): boolean {
  scratchView.setUint32(LENGTH_OFFSET, SOCKADDR_BYTES_MAX, true);
  return getpeernameC(fd, scratchAddr, scratchAddr + LENGTH_OFFSET) === 0;
}

/** Outcome of a connect that was under way: 0 or the errno, positive. */
export function takeSocketError(fd: number): number {
  return getSocketNumber(fd, SOL_SOCKET, SO_ERROR);
}

export function formatAddress(address: SocketAddress): string {
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  return `${host}:${address.port}`;
}
