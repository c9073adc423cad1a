// A connection that a lane owns, seen from another thread: what the kernel has counted on it, and
// its end where the lane is dead. A lane may close the descriptor meanwhile: a socket is known by
// its inode, not by its number.

import { fstatSync } from 'node:fs';
import { isTcpxError } from '../base/errors.js';
import { closeFd } from '../ffi/libc/file-descriptor.js';
import { abortOnClose } from '../ffi/libc/socket.js';
import { readTcpInfo } from '../ffi/libc/tcp-info.js';

/** A descriptor and the inode that it had when it was handed to its lane. */
export interface SocketIdentity {
  readonly fd: number;
  readonly inode: number;
}

/** Since the connection was made, and as it stands; −1 where the kernel is too old to know. */
export interface ConnectionCounters {
  /** Segments that were sent again. */
  readonly retransmits: number;
  /** Bytes that the peer's kernel has acknowledged. */
  readonly bytesAcked: number;
  /** Bytes that this kernel has received. */
  readonly bytesReceived: number;
  /** Time with data to send; of it: held back by the peer's window, and by the send buffer. */
  readonly busyUs: number;
  /** Time for which the peer's window was the limit, in µs. */
  readonly receiveLimitedUs: number;
  /** Time for which the send buffer was the limit, in µs. */
  readonly sendBufferLimitedUs: number;
  /** Smoothed round trip, in µs. */
  readonly rttUs: number;
  /** Shortest round trip that was seen, in µs. */
  readonly rttMinUs: number;
  /** Segments. */
  readonly congestionWindow: number;
  /** The kernel's last estimate. */
  readonly deliveryBytesPerSecond: number;
}

export function identifySocket(fd: number): SocketIdentity {
  return { fd, inode: fstatSync(fd).ino };
}

/**
 * Closes the socket of a thread that has died, with a reset: what the kernel still holds of it may
 * be references to memory that somebody else is about to use. False when it was closed already.
 */
export function abortSocket(socket: SocketIdentity): boolean {
  try {
    if (fstatSync(socket.fd).ino !== socket.inode) return false;
  } catch (error) {
    if (isNoDescriptor(error)) return false;
    throw error;
  }
  abortOnClose(socket.fd);
  closeFd(socket.fd);
  return true;
}

/** Undefined when the connection is gone. */
export function readConnection(socket: SocketIdentity): ConnectionCounters | undefined {
  try {
    const info = readTcpInfo(socket.fd);
    if (fstatSync(socket.fd).ino !== socket.inode) return undefined;
    return {
      retransmits: info.retransmitsTotal,
      bytesAcked: info.bytesAcked ?? -1,
      bytesReceived: info.bytesReceived ?? -1,
      busyUs: info.busyUs ?? -1,
      receiveLimitedUs: info.receiveLimitedUs ?? -1,
      sendBufferLimitedUs: info.sendBufferLimitedUs ?? -1,
      rttUs: info.rttUs,
      rttMinUs: info.rttMinUs ?? -1,
      congestionWindow: info.congestionWindow,
      deliveryBytesPerSecond: info.deliveryRateBps ?? -1,
    };
  } catch (error) {
    if (isTcpxError(error) || isNoDescriptor(error)) return undefined;
    throw error;
  }
}

function isNoDescriptor(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EBADF';
}
