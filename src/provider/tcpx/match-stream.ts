// A match connection over a byte stream of the main thread: whole frames in order out of what
// arrives, and a queue, with a bound, of what the peer has not taken.

import { TcpxError } from '../../base/errors.js';
import { EAGAIN } from '../../ffi/libc/errno.js';
import { FrameAssembly } from './frame-assembly.js';
import type { MatchConnection, MatchHandler } from './match-connection.js';
import type { MatchSocket, OpenMatchSocket } from './match-socket.js';

/** Sockets that another thread looks at; it has the owner served when one is readable. */
export interface StreamWatch {
  add(fd: number, handler: { onReady(): void }): void;
  /** The socket may be closed by now; does nothing where the number has another handler. */
  drop(fd: number, handler: { onReady(): void }): void;
}

/** While something waits to be sent, and nobody polls. */
const FLUSH_MS = 1;

export class MatchStream implements MatchConnection {
  readonly #socket: MatchSocket;
  readonly #handler: MatchHandler;
  readonly #waitingBytesMax: number;
  readonly #frames = new FrameAssembly();
  /** Frames that the kernel has not taken; of the first, so many bytes are gone. */
  readonly #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #sentOfFirst = 0;
  #cancelFlush: () => void = () => undefined;
  #isOpen = true;
  readonly #watcher: StreamWatch | undefined;
  readonly #watched = { onReady: () => this.poll() };
  #watchedFd = -1;

  /**
   * `waitingBytesMax`: of what a peer does not take. `watcher`: for a thread that polls and does
   * not come back to Node.
   */
  constructor(
    open: OpenMatchSocket,
    handler: MatchHandler,
    waitingBytesMax: number,
    watcher?: StreamWatch,
  ) {
    this.#handler = handler;
    this.#waitingBytesMax = waitingBytesMax;
    this.#watcher = watcher;
    this.#socket = open({
      onBytes: (bytes) => {
        // The event loop runs, and needs no thread more for every frame.
        this.#unwatch();
        this.#take(bytes);
      },
      onEnd: (reason) => this.#end(lost(reason)),
    });
  }

  get fd(): number {
    return this.#socket.fd;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether whoever polls has to look by itself: nobody would tell, or something is to be sent. */
  get needsLooks(): boolean {
    return this.#watchedFd < 0 || this.#waiting.length > 0;
  }

  /** From now on another thread looks at the socket too, until Node has read from it again. */
  watch(): void {
    if (this.#watchedFd >= 0 || this.#watcher === undefined || !this.#isOpen) return;
    const { fd } = this;
    if (fd < 0) return;
    this.#watchedFd = fd;
    this.#watcher.add(fd, this.#watched);
  }

  #unwatch(): void {
    if (this.#watchedFd < 0) return;
    this.#watcher?.drop(this.#watchedFd, this.#watched);
    this.#watchedFd = -1;
  }

  send(frame: Uint8Array): void {
    if (!this.#isOpen) return;
    if (this.#waitingBytes + frame.length > this.#waitingBytesMax) {
      throw new TcpxError(
        'ERR_WIRE_LIMIT',
        `${this.#waitingBytes} bytes of match frames wait for the peer to take them, ` +
          `tcpx.outboxBytes allows ${this.#waitingBytesMax}`,
      );
    }
    this.#waiting.push(frame);
    this.#waitingBytes += frame.length;
    this.#flush();
  }

  poll(): void {
    if (this.#waiting.length > 0) this.#flush();
    while (this.#isOpen) {
      const received = this.#socket.receive();
      if (received === -EAGAIN) return;
      if (typeof received === 'number') {
        this.#end(lost(received === 0 ? 'the peer closed it' : this.#socket.nameOf(-received)));
        return;
      }
      this.#take(received);
      if (received.length < this.#socket.receiveBytesMax) return;
    }
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#unwatch();
    this.#cancelFlush();
    this.#socket.close();
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
    this.#cancelFlush();
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      const sent = this.#socket.send(first.subarray(this.#sentOfFirst));
      if (sent === -EAGAIN) {
        this.#cancelFlush = this.#socket.after(FLUSH_MS, () => this.#flush());
        return;
      }
      if (sent < 0) {
        this.#end(lost(this.#socket.nameOf(-sent)));
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
