// What a lane needs from an addressed transport: an ordered byte stream with vectored calls.
// The TCP provider implements it over a socket, the simulator over a virtual network.

import type { Address, ByteCount } from '../../../base/quantity.js';

/** Nothing to read, or no room to write, at the moment: −EAGAIN. */
export const WOULD_BLOCK = -11;
/** Entries of a vector. */
export const VECTOR_ENTRIES_MAX = 1024;

/**
 * How large ranges leave: copied by the kernel; as references to their pages through a pipe; or
 * with MSG_ZEROCOPY, where the kernel reports what came of it.
 */
export type SendBy = 'copy' | 'splice' | 'zerocopy';

/** `auto`: by splice or by copy, as each transfer says. */
export type SendBySetting = SendBy | 'auto';

/** Shorter ranges are always copied: heads and tables, whose memory is reused after a send. */
export const ZERO_COPY_BYTES_MIN = 16 * 1024;

// What a port counts of its sends by reference, by position (ZERO_COPY_COUNTERS of them).
/** Calls that the kernel took by reference. */
export const ZERO_COPY_SENDS = 0;
/** Of them: sent from where the bytes lay, as the kernel reports it; all that were spliced. */
export const ZERO_COPY_DONE = 1;
/** Of them: reported as copied after all (loopback, a NIC that cannot gather). */
export const ZERO_COPY_COPIED = 2;
/** Calls for which the kernel could not note the pages; sent the ordinary way. */
export const ZERO_COPY_FALLBACKS = 3;

export interface StreamPort {
  /** Descriptor for readiness, or −1 where there is none. */
  readonly fd: number;
  /** Whether held ranges may leave by reference, and so must be kept until they are confirmed. */
  readonly isByReference: boolean;
  setSend(index: number, addr: Address, bytes: ByteCount): void;
  /**
   * Sends entries `first` … `count` − 1: bytes taken, or −errno. `isHeld`: nobody asks for a copy.
   * Of a port that is by reference, ranges of at least ZERO_COPY_BYTES_MIN stay as they are then
   * until the peer has confirmed them, so that the kernel may send them from where they lie. Any
   * other is done with the memory when it returns; one over shared memory copies past the cache.
   */
  send(first: number, count: number, isHeld: boolean): number;
  /** Forgets `bytes` that were sent, from entry `first`; returns the first with bytes left. */
  advanceSend(first: number, bytes: number): number;
  setReceive(index: number, addr: Address, bytes: ByteCount): void;
  /** Fills entries 0 … `count` − 1: bytes received, 0 at the end of the stream, or −errno. */
  receive(count: number): number;
  /**
   * The descriptor is to become readable from this many bytes on, or when the stream ends; fewer
   * may lie there meanwhile. Absent where the kernel is not asked.
   */
  wakeAt?(bytes: number): void;
  /**
   * No more is taken while so many bytes wait for the peer to make room; 0 is no limit. Absent
   * where no kernel keeps them.
   */
  limitUnsent?(bytes: number): void;
  /** Bytes that were sent and that the peer's kernel has not confirmed. */
  queuedBytes(): number;
  /** Whether what was sent stays without any answer of the peer's kernel: the path is cut. */
  isPathSilent(): boolean;
  /** `isAborted`: what the kernel has not sent yet is thrown away. */
  close(isAborted: boolean): void;
}

/**
 * A port whose state lies in memory. It is looked at in every turn, and whoever wants to sleep says
 * so first; the descriptor becomes readable when the peer rings, or is gone.
 */
export interface PolledPort extends StreamPort {
  readonly isPolled: true;
  /** True if there is nothing to do and the peer will ring. */
  prepareSleep(): boolean;
  endSleep(): void;
  onBell(): void;
}

export function isPolledPort(port: StreamPort): port is PolledPort {
  return 'isPolled' in port;
}
