// The one listening port: control and data connections arrive here alike.

import { closeSync, openSync } from 'node:fs';
import { EAGAIN, EMFILE, ENFILE } from '../ffi/libc/errno.js';
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
  /**
   * There are no descriptors left: tells the peer so, and closes. Told for each that is refused.
   */
  onRefused(fd: number): void;
}

export class Listener implements ControlHandler {
  readonly #fd: number;
  readonly #set: ControlSet;
  readonly #options: ListenerOptions;
  #resume: NodeJS.Timeout | undefined;
  /** Held for the want of descriptors: in its place a peer is accepted, to be told. −1: lost. */
  #spareFd: number;
  readonly address: SocketAddress;

  constructor(set: ControlSet, options: ListenerOptions) {
    this.#fd = listenOn(options.address, BACKLOG, (fd) => setCongestion(fd, options.congestion));
    this.#spareFd = openSpare();
    this.address = localAddress(this.#fd);
    this.#set = set;
    this.#options = options;
    set.add(this.#fd, this);
  }

  onReady(): void {
    for (let count = 0; count < ACCEPTS_MAX; count++) {
      const fd = acceptSocket(this.#fd);
      if (fd === -EAGAIN) return;
      if (fd === -EMFILE || fd === -ENFILE) this.#refuseWaiting();
      if (fd < 0) {
        this.#pause(WANT_MS);
        return;
      }
      this.#options.onAccepted(fd);
    }
    this.#pause(TURN_MS);
  }

  // Peers that nobody accepts would wait in the dark, and stay in the kernel after they have gone.
  #refuseWaiting(): void {
    for (let count = 0; count < ACCEPTS_MAX; count++) {
      if (this.#spareFd < 0) this.#spareFd = openSpare();
      if (this.#spareFd < 0) return;
      closeSync(this.#spareFd);
      this.#spareFd = -1;
      const fd = acceptSocket(this.#fd);
      if (fd >= 0) this.#options.onRefused(fd);
      this.#spareFd = openSpare();
      if (fd < 0) return;
    }
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
    if (this.#spareFd >= 0) closeSync(this.#spareFd);
  }
}

// Another thread may be faster: then there is none for a while.
function openSpare(): number {
  try {
    return openSync('/dev/null', 'r');
  } catch {
    return -1;
  }
}
