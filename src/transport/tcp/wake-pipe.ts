// A pipe by which lanes wake the main thread out of its event loop.

import { Socket } from 'node:net';
import { closeFd, createPipe } from '../../ffi/libc/file-descriptor.js';

export class WakePipe {
  readonly writeFd: number;
  readonly #reader: Socket;

  constructor(onWake: () => void) {
    const pipe = createPipe();
    this.writeFd = pipe.writeFd;
    this.#reader = new Socket({ fd: pipe.readFd, readable: true, writable: false });
    this.#reader.on('data', onWake);
  }

  /** The writers must be gone. */
  close(): void {
    this.#reader.destroy();
    closeFd(this.writeFd);
  }
}
