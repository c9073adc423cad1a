// The one listening port: control and data connections arrive here alike.

import { EAGAIN } from '../ffi/libc/errno.js';
import { closeFd } from '../ffi/libc/file-descriptor.js';
import { acceptSocket, listenOn, localAddress } from '../ffi/libc/socket.js';
import type { SocketAddress } from '../ffi/libc/socket-address.js';
import { setCongestion } from './congestion.js';
import type { ControlHandler, ControlSet } from './control-set.js';

const BACKLOG = 512;
/** Accepted in one go: then those that came before, and everybody else, get a turn. */
const ACCEPTS_MAX = 32;
const TURN_MS = 1;
/** Pause after accept failed for want of descriptors or memory: asking again at once would spin. */
const WANT_MS = 50;

export interface ListenerOptions {
  readonly address: SocketAddress;
  /** Of the connections that are accepted; empty leaves the kernel's. */
  readonly congestion: string;
  onAccepted(fd: number): void;
}

export class Listener implements ControlHandler {
  readonly #fd: number;
  readonly #set: ControlSet;
  readonly #options: ListenerOptions;
  #resume: NodeJS.Timeout | undefined;
  readonly address: SocketAddress;

  constructor(set: ControlSet, options: ListenerOptions) {
    this.#fd = listenOn(options.address, BACKLOG, (fd) => setCongestion(fd, options.congestion));
    this.address = localAddress(this.#fd);
    this.#set = set;
    this.#options = options;
    set.add(this.#fd, this);
  }

  onReady(): void {
    for (let count = 0; count < ACCEPTS_MAX; count++) {
      const fd = acceptSocket(this.#fd);
      if (fd === -EAGAIN) return;
      if (fd < 0) {
        this.#pause(WANT_MS);
        return;
      }
      this.#options.onAccepted(fd);
    }
    this.#pause(TURN_MS);
  }

  // Whoever waits stays in the kernel's queue meanwhile.
  #pause(delayMs: number): void {
    this.#set.want(this.#fd, false, false);
    this.#resume = setTimeout(() => this.#set.want(this.#fd, true, false), delayMs).unref();
  }

  close(): void {
    clearTimeout(this.#resume);
    this.#set.remove(this.#fd);
    closeFd(this.#fd);
  }
}
