// A client's bell: one end of a pair of sockets is the client's, who sends a byte when it has
// posted something while the service slept; the event loop watches the other. Sockets and not a
// pipe, because a client that rings after the end must get an error, not a signal.

import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net';
import { createSocketPair } from '../ffi/libc/descriptor-passing.js';
import { closeFd } from '../ffi/libc/file-descriptor.js';

const BUFFER_BYTES = 256;

export class Bell {
  /** To be passed on; ours is closed with the bell. */
  readonly clientFd: number;
  readonly #reader: Socket;

  constructor(onRung: () => void) {
    const { ownFd, otherFd } = createSocketPair();
    this.clientFd = otherFd;
    const onread: OnReadOpts = {
      buffer: new Uint8Array(BUFFER_BYTES),
      callback: (): boolean => {
        onRung();
        return true;
      },
    };
    // Sockets take `onread` wherever they come from; its type says so for outgoing ones alone.
    const options: SocketConstructorOpts & { onread: OnReadOpts } = {
      fd: ownFd,
      readable: true,
      writable: false,
      onread,
    };
    this.#reader = new Socket(options);
    // The client's end may break: that it is gone is seen elsewhere.
    this.#reader.on('error', () => undefined);
    this.#reader.resume();
  }

  close(): void {
    this.#reader.destroy();
    closeFd(this.clientFd);
  }
}
