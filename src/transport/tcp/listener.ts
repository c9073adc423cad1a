// The one listening port: control and data connections arrive here alike.

import { EAGAIN } from '../../ffi/libc/errno.js';
import { closeFd } from '../../ffi/libc/file-descriptor.js';
import { acceptSocket, listenOn, localAddress } from '../../ffi/libc/socket.js';
import type { SocketAddress } from '../../ffi/libc/socket-address.js';
import type { ControlHandler, ControlSet } from './control-set.js';

const BACKLOG = 512;

export class Listener implements ControlHandler {
  readonly #fd: number;
  readonly #set: ControlSet;
  readonly #onAccepted: (fd: number) => void;
  readonly address: SocketAddress;

  constructor(set: ControlSet, address: SocketAddress, onAccepted: (fd: number) => void) {
    this.#fd = listenOn(address, BACKLOG);
    this.address = localAddress(this.#fd);
    this.#set = set;
    this.#onAccepted = onAccepted;
    set.add(this.#fd, this);
  }

  onReady(): void {
    for (;;) {
      const fd = acceptSocket(this.#fd);
      if (fd === -EAGAIN) return;
      // A connection that died in the queue, or no descriptors left: look again when told.
      if (fd < 0) return;
      this.#onAccepted(fd);
    }
  }

  close(): void {
    this.#set.remove(this.#fd);
    closeFd(this.#fd);
  }
}
