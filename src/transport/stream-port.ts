// What a lane needs from an addressed transport: an ordered byte stream with vectored calls.
// The TCP provider implements it over a socket, the simulator over a virtual network.

/** Nothing to read, or no room to write, at the moment: −EAGAIN. */
export const WOULD_BLOCK = -11;
/** Entries of a vector. */
export const VECTOR_ENTRIES_MAX = 1024;

/** Shorter ranges are always copied: heads and tables, whose memory is reused after a send. */
export const ZERO_COPY_BYTES_MIN = 16 * 1024;

// What a port counts of its zero-copy sends, by position.
export const ZERO_COPY_COUNTERS = 4;
/** Calls that the kernel took with MSG_ZEROCOPY. */
export const ZERO_COPY_SENDS = 0;
/** Of them: reported as sent from where the bytes lay. */
export const ZERO_COPY_DONE = 1;
/** Of them: reported as copied after all (loopback, a NIC that cannot gather). */
export const ZERO_COPY_COPIED = 2;
/** Calls for which the kernel had no room to note the pages; sent the ordinary way. */
export const ZERO_COPY_FALLBACKS = 3;

export interface StreamPort {
  /** Descriptor for readiness, or −1 where there is none. */
  readonly fd: number;
  setSend(index: number, addr: number, bytes: number): void;
  /**
   * Sends entries `first` … `count` − 1: bytes taken, or −errno. `isHeld`: ranges of at least
   * ZERO_COPY_BYTES_MIN stay as they are until the peer has confirmed them, so that the kernel
   * may send them from where they lie.
   */
  send(first: number, count: number, isHeld: boolean): number;
  /** Forgets `bytes` that were sent, from entry `first`; returns the first with bytes left. */
  advanceSend(first: number, bytes: number): number;
  setReceive(index: number, addr: number, bytes: number): void;
  /** Fills entries 0 … `count` − 1: bytes received, 0 at the end of the stream, or −errno. */
  receive(count: number): number;
  /** Bytes that were sent and that the peer's kernel has not confirmed. */
  queuedBytes(): number;
  /** Whether what was sent stays without any answer of the peer's kernel: the path is cut. */
  isPathSilent(): boolean;
  /** `isAborted`: what the kernel has not sent yet is thrown away. */
  close(isAborted: boolean): void;
}
