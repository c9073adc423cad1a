// Making a connection: resolve, bind to an interface, connect without blocking, set the options.

import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { afterMs } from '../base/clock.js';
import { TcpxError } from '../base/errors.js';
import { EPOLLOUT } from '../ffi/libc/epoll.js';
import { ECONNREFUSED, EINPROGRESS, errnoName } from '../ffi/libc/errno.js';
import { closeFd } from '../ffi/libc/file-descriptor.js';
import { addressesOfName } from '../ffi/libc/host-name.js';
import { checkCall } from '../ffi/libc/library.js';
import {
  bindSocket,
  connectSocket,
  formatAddress,
  IPPROTO_TCP,
  isConnected,
  openStreamSocket,
  SO_BINDTODEVICE,
  SO_RCVBUF,
  SO_SNDBUF,
  SO_ZEROCOPY,
  SOL_SOCKET,
  setSocketNumber,
  setSocketText,
  TCP_NODELAY,
  TCP_USER_TIMEOUT,
  takeSocketError,
} from '../ffi/libc/socket.js';
import type { SocketAddress } from '../ffi/libc/socket-address.js';
import { setCongestion } from './congestion.js';
import type { ControlSet } from './control-set.js';
import { isLinkLocal, nicAddress } from './nic-address.js';

export type { SocketAddress };
export { closeFd as closeSocket, formatAddress };

export interface SocketTuning {
  readonly bufferBytes: number;
  readonly userTimeoutMs: number;
  readonly isZeroCopy: boolean;
}

export interface DialOptions {
  readonly address: SocketAddress;
  /** Interface to leave by; empty lets routing decide. */
  readonly nic: string;
  /** Empty leaves the kernel's. */
  readonly congestion: string;
  readonly tuning: SocketTuning;
  readonly timeoutMs: number;
}

/** Every address of a name, in the order in which they should be tried. */
export async function resolveHost(host: string): Promise<string[]> {
  if (isIP(host) !== 0) return [numericScope(host)];
  try {
    const found = await lookup(host, { all: true, verbatim: true });
    return found.map((entry) => numericScope(entry.address));
  } catch (error) {
    throw unresolved(host, error);
  }
}

/** The first address of a name, at once: the thread stands still while it is looked up. */
export function resolveHostNow(host: string): string {
  if (isIP(host) !== 0) return numericScope(host);
  const [address] = addressesOfName(host);
  if (address === undefined) throw unresolved(host);
  return address;
}

// The kernel takes the interface of a link-local address as a number; people name it.
function numericScope(host: string): string {
  return /%.*\D/.test(host) ? (addressesOfName(host)[0] ?? host) : host;
}

function unresolved(host: string, cause?: unknown): TcpxError {
  return new TcpxError('ERR_SYS_RESOLVE', `resolve ${JSON.stringify(host)}: no address`, { cause });
}

/** A connected descriptor; refusal is ERR_PEER_UNREACHABLE with errno in its facts. */
export function dial(set: ControlSet, options: DialOptions): Promise<number> {
  const { address } = options;
  set.assertOpen();
  const fd = openStreamSocket(address.host);
  let started: number;
  try {
    if (options.nic !== '') bindToNic(fd, options.nic, address.host);
    setCongestion(fd, options.congestion);
    tuneSocket(fd, options.tuning);
    started = connectSocket(fd, address);
  } catch (error) {
    closeFd(fd);
    throw error;
  }
  if (started !== 0 && started !== -EINPROGRESS) {
    closeFd(fd);
    return Promise.reject(unreachable(address, -started));
  }
  // A kernel that answers itself, over loopback, has done so by now.
  if (started === 0 || isConnected(fd)) return Promise.resolve(fd);
  return new Promise((resolve, reject) => {
    const fail = (error: TcpxError): void => {
      stopTimer();
      set.remove(fd);
      closeFd(fd);
      reject(error);
    };
    const stopTimer = afterMs(options.timeoutMs, () => fail(timedOut(options)));
    const onReady = (): void => {
      const errno = takeSocketError(fd);
      if (errno !== 0) {
        fail(unreachable(address, errno));
        return;
      }
      stopTimer();
      set.remove(fd);
      resolve(fd);
    };
    const onSetClosed = (): void => fail(closedHere(options));
    set.add(fd, { onReady, onSetClosed }, EPOLLOUT);
  });
}

export function tuneSocket(fd: number, tuning: SocketTuning): void {
  setSocketNumber(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  if (tuning.userTimeoutMs > 0) {
    setSocketNumber(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, tuning.userTimeoutMs);
  }
  if (tuning.bufferBytes > 0) {
    setSocketNumber(fd, SOL_SOCKET, SO_SNDBUF, tuning.bufferBytes);
    setSocketNumber(fd, SOL_SOCKET, SO_RCVBUF, tuning.bufferBytes);
  }
  if (tuning.isZeroCopy) setSocketNumber(fd, SOL_SOCKET, SO_ZEROCOPY, 1);
}

/** Leaves by this interface and no other: the address alone does not prove the link. */
function bindToNic(fd: number, nic: string, peerHost: string): void {
  const family = peerHost.includes(':') ? 'IPv6' : 'IPv4';
  const source = nicAddress(nic, family, isLinkLocal(peerHost));
  checkCall('setsockopt SO_BINDTODEVICE', nic, setSocketText(fd, SOL_SOCKET, SO_BINDTODEVICE, nic));
  checkCall('bind', source, bindSocket(fd, { host: source, port: 0 }));
}

function unreachable(address: SocketAddress, errno: number): TcpxError {
  const where = formatAddress(address);
  return new TcpxError('ERR_PEER_UNREACHABLE', `connect to ${where}: ${errnoName(errno)}`, {
    facts: { peer: where, errno, isRefused: errno === ECONNREFUSED },
  });
}

function closedHere(options: DialOptions): TcpxError {
  const where = formatAddress(options.address);
  return new TcpxError('ERR_USAGE_STATE', `connect to ${where}: the engine was closed`);
}

function timedOut(options: DialOptions): TcpxError {
  const where = formatAddress(options.address);
  return new TcpxError(
    'ERR_PEER_TIMEOUT',
    `connect to ${where}: no answer in ${options.timeoutMs} ms`,
    {
      facts: { peer: where },
    },
  );
}
