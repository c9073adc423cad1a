// A match connection over a socket of the main thread. Node watches it, so that a frame wakes the
// event loop without a lane in between; whoever polls or blocks reads past Node, by the same
// descriptor: whoever comes first has the bytes, and there is one thread.

import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net';
import { TcpxError } from '../../base/errors.js';
import { EAGAIN, errnoName } from '../../ffi/libc/errno.js';
import { receiveInto, sendVector, setIov } from '../../ffi/libc/message.hot.js';
import { createIovTable, destroyIovTable, type IovTable } from '../../ffi/libc/message.js';
import { createFixedMemory, destroyFixedMemory, type FixedMemory } from '../../os/fixed-memory.js';
import { keepAlive } from '../../os/keep-alive.js';
import { MATCH_BODY_BYTES_MAX } from '../../wire/match-frame.js';
import { FrameAssembly } from './frame-assembly.js';
import type { MatchConnection, MatchHandler } from './match-connection.js';

/** Sockets that another thread looks at; it has the owner served when one is readable. */
export interface StreamWatch {
  add(fd: number, handler: { onReady(): void }): void;
  remove(fd: number): void;
}

const BUFFER_BYTES = 64 * 1024;
/** A peer that takes nothing must not fill our memory. */
export const WAITING_BYTES_MAX = 4 * MATCH_BODY_BYTES_MAX;
/** While something waits to be sent, and nobody polls. */
const FLUSH_MS = 1;

export class MatchStream implements MatchConnection {
  readonly fd: number;
  readonly #socket: Socket;
  readonly #handler: MatchHandler;
  readonly #frames = new FrameAssembly();
  readonly #input: FixedMemory;
  readonly #output: FixedMemory;
  readonly #iov: IovTable;
  /** Frames that the kernel has not taken; of the first, so many bytes are gone. */
  readonly #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #sentOfFirst = 0;
  #flushTimer: NodeJS.Timeout | undefined;
  #isOpen = true;
  readonly #watcher: StreamWatch | undefined;
  #isWatched = false;

  /** `watcher`: for a thread that polls and does not come back to Node. */
  constructor(fd: number, silentMs: number, handler: MatchHandler, watcher?: StreamWatch) {
    this.fd = fd;
    this.#handler = handler;
    this.#watcher = watcher;
    keepAlive(fd, silentMs);
    this.#input = createFixedMemory(BUFFER_BYTES);
    this.#output = createFixedMemory(BUFFER_BYTES);
    this.#iov = createIovTable();
    this.#socket = this.#open(fd);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether whoever polls has to look by itself: nobody would tell, or something is to be sent. */
  get needsLooks(): boolean {
    return !this.#isWatched || this.#waiting.length > 0;
  }

  /** From now on another thread looks at the socket too, until Node has read from it again. */
  watch(): void {
    if (this.#isWatched || this.#watcher === undefined || !this.#isOpen) return;
    this.#isWatched = true;
    this.#watcher.add(this.fd, { onReady: () => this.poll() });
  }

  #unwatch(): void {
    if (!this.#isWatched) return;
    this.#isWatched = false;
    this.#watcher?.remove(this.fd);
  }

  send(frame: Uint8Array): void {
    if (!this.#isOpen) return;
    if (this.#waitingBytes + frame.length > WAITING_BYTES_MAX) {
      throw new TcpxError(
        'ERR_WIRE_LIMIT',
        `${this.#waitingBytes} bytes of match frames wait for the peer to take them`,
      );
    }
    this.#waiting.push(frame);
    this.#waitingBytes += frame.length;
    this.#flush();
  }

  poll(): void {
    if (this.#waiting.length > 0) this.#flush();
    while (this.#isOpen) {
      const received = receiveInto(this.fd, this.#input.addr, BUFFER_BYTES);
      if (received === -EAGAIN) return;
      if (received <= 0) {
        this.#end(lost(received === 0 ? 'the peer closed it' : errnoName(-received)));
        return;
      }
      this.#take(this.#input.uint8.slice(0, received));
      if (received < BUFFER_BYTES) return;
    }
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#unwatch();
    clearTimeout(this.#flushTimer);
    this.#socket.destroy();
    destroyIovTable(this.#iov);
    destroyFixedMemory(this.#input);
    destroyFixedMemory(this.#output);
  }

  #open(fd: number): Socket {
    const onread: OnReadOpts = {
      buffer: new Uint8Array(BUFFER_BYTES),
      callback: (bytes, buffer): boolean => {
        // The event loop runs, and needs no thread more for every frame.
        this.#unwatch();
        this.#take(buffer.slice(0, bytes));
        return true;
      },
    };
    // Sockets take `onread` wherever they come from; its type says so for outgoing ones alone.
    const options: SocketConstructorOpts & { onread: OnReadOpts } = { fd, onread };
    const socket = new Socket(options);
    // Frames are small and each is waited for.
    socket.setNoDelay(true);
    socket.on('error', (error) => this.#end(lost(error.message)));
    socket.on('close', () => this.#end(lost('the peer closed it')));
    socket.resume();
    return socket;
  }

  #take(bytes: Uint8Array): void {
    if (!this.#isOpen) return;
    try {
      this.#frames.take(bytes, (frame) => {
        this.#handler.onFrame(frame);
        return this.#isOpen;
      });
    } catch (error) {
      if (!(error instanceof TcpxError)) throw error;
      this.#end(error);
    }
  }

  #flush(): void {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const piece = first.subarray(this.#sentOfFirst, this.#sentOfFirst + BUFFER_BYTES);
      this.#output.uint8.set(piece);
      setIov(this.#iov, 0, this.#output.addr, piece.length);
      const sent = sendVector(this.fd, this.#iov, 0, 1, 0);
      if (sent === -EAGAIN) {
        this.#flushTimer = setTimeout(() => this.#flush(), FLUSH_MS);
        return;
      }
      if (sent < 0) {
        this.#end(lost(errnoName(-sent)));
        return;
      }
      this.#sentOfFirst += sent;
      this.#waitingBytes -= sent;
      if (this.#sentOfFirst < first.length) continue;
      this.#waiting.shift();
      this.#sentOfFirst = 0;
    }
  }

  #end(error: TcpxError): void {
    if (!this.#isOpen) return;
    this.close();
    this.#handler.onEnd(error);
  }
}

function lost(reason: string): TcpxError {
  return new TcpxError('ERR_PEER_LOST', reason);
}
