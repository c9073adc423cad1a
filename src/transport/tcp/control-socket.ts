// A connected socket in the control set: bytes in by callback, bytes out with a bounded queue.

import { EAGAIN, errnoName } from '../../ffi/libc/errno.js';
import { closeFd } from '../../ffi/libc/file-descriptor.js';
import { receiveVector, sendVector, setIov } from '../../ffi/libc/message.hot.js';
import { createIovTable, destroyIovTable, type IovTable } from '../../ffi/libc/message.js';
import { localAddress, peerAddress } from '../../ffi/libc/socket.js';
import { isLoopbackHost } from '../../ffi/libc/socket-address.js';
import {
  createFixedMemory,
  destroyFixedMemory,
  type FixedMemory,
} from '../../memory/fixed-memory.js';
import type { ControlHandler, ControlSet } from './control-set.js';

const BUFFER_BYTES = 16 * 1024;
const QUEUE_BYTES_MAX = 64 * 1024;

export interface ControlListener {
  /** How much may be read now, at least 1: what lies behind may belong to somebody else. */
  wantedBytes(): number;
  /** The bytes are valid during the call only. */
  onBytes(bytes: Uint8Array): void;
  /** The peer closed, or a call failed; the socket is closed already. */
  onClosed(reason: string): void;
}

export class ControlSocket implements ControlHandler {
  readonly fd: number;
  readonly peerHost: string;
  readonly peerPort: number;
  /** Own address of the connection. */
  readonly localHost: string;
  readonly #set: ControlSet;
  readonly #listener: ControlListener;
  readonly #input: FixedMemory = createFixedMemory(BUFFER_BYTES);
  readonly #output: FixedMemory = createFixedMemory(QUEUE_BYTES_MAX);
  readonly #iov: IovTable = createIovTable();
  #outputBytes = 0;
  #isOpen = true;

  constructor(set: ControlSet, fd: number, listener: ControlListener) {
    const address = peerAddress(fd);
    this.fd = fd;
    this.peerHost = address.host;
    this.peerPort = address.port;
    this.localHost = localAddress(fd).host;
    this.#set = set;
    this.#listener = listener;
    set.add(fd, this);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get isLoopback(): boolean {
    return isLoopbackHost(this.peerHost);
  }

  onReady(): void {
    if (this.#outputBytes > 0) this.#flush();
    if (!this.#isOpen) return;
    const wanted = Math.min(BUFFER_BYTES, this.#listener.wantedBytes());
    setIov(this.#iov, 0, this.#input.addr, wanted);
    const received = receiveVector(this.fd, this.#iov, 0, 1);
    if (received > 0) this.#listener.onBytes(this.#input.uint8.subarray(0, received));
    else if (received === 0) this.#fail('the peer closed the connection');
    else if (received !== -EAGAIN) this.#fail(errnoName(-received));
  }

  /** Queues and sends; false when the peer does not take its bytes and the queue is full. */
  send(bytes: Uint8Array): boolean {
    if (!this.#isOpen || this.#outputBytes + bytes.length > QUEUE_BYTES_MAX) return false;
    this.#output.uint8.set(bytes, this.#outputBytes);
    this.#outputBytes += bytes.length;
    this.#flush();
    return this.#isOpen;
  }

  #flush(): void {
    setIov(this.#iov, 0, this.#output.addr, this.#outputBytes);
    const sent = sendVector(this.fd, this.#iov, 0, 1, 0);
    if (sent < 0 && sent !== -EAGAIN) {
      this.#fail(errnoName(-sent));
      return;
    }
    const taken = Math.max(0, sent);
    this.#output.uint8.copyWithin(0, taken, this.#outputBytes);
    this.#outputBytes -= taken;
    this.#set.wantWritable(this.fd, this.#outputBytes > 0);
  }

  #fail(reason: string): void {
    if (!this.#isOpen) return;
    this.close();
    this.#listener.onClosed(reason);
  }

  /** Reads no more; stays open for whoever takes the descriptor over. */
  pause(): void {
    this.#set.remove(this.fd);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.release();
    closeFd(this.fd);
  }

  /** Leaves the control set with the socket open: somebody else owns the descriptor now. */
  release(): void {
    this.#isOpen = false;
    this.#set.remove(this.fd);
    destroyFixedMemory(this.#input);
    destroyFixedMemory(this.#output);
    destroyIovTable(this.#iov);
  }
}
