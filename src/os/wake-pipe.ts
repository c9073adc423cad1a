// A pipe by which lanes and plugin hosts wake the main thread out of its event loop. All it says is
// that it was written to: the bytes go into one small buffer, past the machinery of streams.

import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net';
import { closeFd, createPipe } from '../ffi/libc/file-descriptor.js';

const BUFFER_BYTES = 4096;

export class WakePipe {
  readonly writeFd: number;
  /** For a thread that waits past the event loop. */
  readonly readFd: number;
  readonly #reader: Socket;

  constructor(onWake: () => void) {
    const pipe = createPipe();
    this.writeFd = pipe.writeFd;
    this.readFd = pipe.readFd;
    const onread: OnReadOpts = {
      buffer: new Uint8Array(BUFFER_BYTES),
      callback: (): boolean => {
        onWake();
        return true;
      },
    };
    // Sockets take `onread` wherever they come from; its type says so for outgoing ones alone.
    const options: SocketConstructorOpts & { onread: OnReadOpts } = {
      fd: pipe.readFd,
      readable: true,
      writable: false,
      onread,
    };
    this.#reader = new Socket(options);
    this.#reader.resume();
  }

  /** Whether the process stays to be woken. */
  hold(isHeld: boolean): void {
    if (isHeld) this.#reader.ref();
    else this.#reader.unref();
  }

  /** The writers must be gone. */
  close(): void {
    this.#reader.destroy();
    closeFd(this.writeFd);
  }
}
