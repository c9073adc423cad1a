// Hears from the kernel that an interface of this host has gone down, at once: connections over it
// would show it only when nothing has moved for a while.

import { errnoName } from '../ffi/libc/errno.js';
import { decodeLinkNews } from '../ffi/link-message.js';
import { type LinkSocket, openLinkSocket } from '../ffi/netlink.js';
import type { ControlHandler, ControlSet } from './control-set.js';

export class LinkWatch implements ControlHandler {
  readonly #socket: LinkSocket;
  readonly #onDown: (nic: string) => void;

  private constructor(socket: LinkSocket, onDown: (nic: string) => void) {
    this.#socket = socket;
    this.#onDown = onDown;
  }

  /** Or why there is none: a host may forbid it, and connections show the same later. */
  static open(set: ControlSet, onDown: (nic: string) => void): LinkWatch | string {
    const socket = openLinkSocket();
    if (typeof socket === 'number') return errnoName(socket);
    const watch = new LinkWatch(socket, onDown);
    set.add(socket.fd, watch);
    return watch;
  }

  // News that did not fit are lost, and their links show it later.
  onReady(): void {
    for (let next = this.#socket.receive(); next !== undefined; next = this.#socket.receive()) {
      for (const { nic, isUp } of decodeLinkNews(next)) if (!isUp) this.#onDown(nic);
    }
  }

  onSetClosed(): void {
    this.#socket.close();
  }
}
