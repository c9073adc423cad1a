// What a lane needs from an addressed transport: an ordered byte stream with vectored calls.
// The TCP provider implements it over a socket, the simulator over a virtual network.

/** Nothing to read, or no room to write, at the moment: −EAGAIN. */
export const WOULD_BLOCK = -11;
/** Entries of a vector. */
export const VECTOR_ENTRIES_MAX = 1024;

export interface StreamPort {
  /** Descriptor for readiness, or −1 where there is none. */
  readonly fd: number;
  setSend(index: number, addr: number, bytes: number): void;
  /** Sends entries `first` … `count` − 1: bytes taken, or −errno. */
  send(first: number, count: number): number;
  /** Forgets `bytes` that were sent, from entry `first`; returns the first with bytes left. */
  advanceSend(first: number, bytes: number): number;
  setReceive(index: number, addr: number, bytes: number): void;
  /** Fills entries 0 … `count` − 1: bytes received, 0 at the end of the stream, or −errno. */
  receive(count: number): number;
  close(): void;
}
