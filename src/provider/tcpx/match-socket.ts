// The socket below a match connection. Node watches it, so that a frame wakes the event loop
// without a lane in between; whoever polls or blocks reads past Node, by the same descriptor:
// whoever comes first has the bytes, and there is one thread.

import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net';
import { afterMs } from '../../base/clock.js';
import { EPIPE, errnoName } from '../../ffi/libc/errno.js';
import { receiveInto, sendVector, setIov } from '../../ffi/libc/message.hot.js';
import { createIovTable, destroyIovTable, type IovTable } from '../../ffi/libc/message.js';
import { createFixedMemory, destroyFixedMemory, type FixedMemory } from '../../os/fixed-memory.js';
import { keepAlive } from '../../os/keep-alive.js';

const BUFFER_BYTES = 64 * 1024;

/** What is told by itself, from the event loop. */
export interface MatchSocketEvents {
  /** Bytes that are the receiver's from here on. */
  onBytes(bytes: Uint8Array): void;
  onEnd(reason: string): void;
}

/** A simulation has its own. Calls that fail return a negative errno. */
export interface MatchSocket {
  /** Negative once it is closed, though its end may not have been told yet. */
  readonly fd: number;
  /** What one call receives at most; one that got less has emptied the socket. */
  readonly receiveBytesMax: number;
  /** Takes some of it; how much. */
  send(bytes: Uint8Array): number;
  /** What is there; 0 where the peer has ended it. */
  receive(): Uint8Array | number;
  /** Of an errno. */
  nameOf(errno: number): string;
  /** Calls after this time; returns what takes it back. */
  after(delayMs: number, act: () => void): () => void;
  close(): void;
}

export type OpenMatchSocket = (events: MatchSocketEvents) => MatchSocket;

export class WatchedSocket implements MatchSocket {
  readonly #fd: number;
  readonly receiveBytesMax = BUFFER_BYTES;
  readonly #socket: Socket;
  readonly #input: FixedMemory;
  readonly #output: FixedMemory;
  readonly #iov: IovTable;

  constructor(fd: number, silentMs: number, events: MatchSocketEvents) {
    this.#fd = fd;
    keepAlive(fd, silentMs);
    this.#input = createFixedMemory(BUFFER_BYTES);
    this.#output = createFixedMemory(BUFFER_BYTES);
    this.#iov = createIovTable();
    this.#socket = watch(fd, events);
  }

  /** Node closes a socket before it tells so: by then the number may be another file's. */
  get fd(): number {
    return this.#socket.destroyed ? -1 : this.#fd;
  }

  send(bytes: Uint8Array): number {
    const { fd } = this;
    if (fd < 0) return -EPIPE;
    const piece = bytes.subarray(0, BUFFER_BYTES);
    this.#output.uint8.set(piece);
    setIov(this.#iov, 0, this.#output.addr, piece.length);
    return sendVector(fd, this.#iov, 0, 1, 0);
  }

  receive(): Uint8Array | number {
    const { fd } = this;
    if (fd < 0) return 0;
    const received = receiveInto(fd, this.#input.addr, BUFFER_BYTES);
    return received > 0 ? this.#input.uint8.slice(0, received) : received;
  }

  nameOf(errno: number): string {
    return errnoName(errno);
  }

  after(delayMs: number, act: () => void): () => void {
    return afterMs(delayMs, act);
  }

  close(): void {
    this.#socket.destroy();
    destroyIovTable(this.#iov);
    destroyFixedMemory(this.#input);
    destroyFixedMemory(this.#output);
  }
}

function watch(fd: number, events: MatchSocketEvents): Socket {
  const onread: OnReadOpts = {
    buffer: new Uint8Array(BUFFER_BYTES),
    callback: (bytes, buffer): boolean => {
      events.onBytes(buffer.slice(0, bytes));
      return true;
    },
  };
  // Sockets take `onread` wherever they come from; its type says so for outgoing ones alone.
  const options: SocketConstructorOpts & { onread: OnReadOpts } = { fd, onread };
  const socket = new Socket(options);
  // Frames are small and each is waited for.
  socket.setNoDelay(true);
  socket.on('error', (error) => events.onEnd(error.message));
  socket.on('close', () => events.onEnd('the peer closed it'));
  socket.resume();
  // The engine keeps the process, where it shall be kept.
  socket.unref();
  return socket;
}
