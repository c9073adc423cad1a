// A connected socket in the control set: bytes in by callback, bytes out with a bounded queue.

import { EAGAIN, errnoName } from '../ffi/libc/errno.js';
import { closeFd } from '../ffi/libc/file-descriptor.js';
import { receiveVector, sendVector, setIov } from '../ffi/libc/message.hot.js';
import { abortOnClose, localAddress, peerAddress, takeSocketError } from '../ffi/libc/socket.js';
import { isLoopbackHost } from '../ffi/libc/socket-address.js';
import { type ControlBuffers, INPUT_BYTES, QUEUE_BYTES_MAX } from './control-buffers.js';
import type { ControlHandler, ControlSet } from './control-set.js';
import { keepAlive } from './keep-alive.js';

/** The reason of an end that the peer's program, or its kernel after it, has made. */
export const END_OF_STREAM = 'the peer closed the connection';

export interface ControlListener {
  /**
   * How many bytes belong to the frame that is due. No more are read: what follows a handshake on
   * a data connection is for the lane that will own it.
   */
  bytesWanted(): number;
  /** Whether a part of that frame has come: the rest is most likely there as well. */
  isAmidFrame(): boolean;
  /** The bytes are valid during the call only. */
  onBytes(bytes: Uint8Array): void;
  /** The peer closed, or a call failed; the socket is closed already. */
  onClosed(reason: string): void;
}

export class ControlSocket implements ControlHandler {
  readonly fd: number;
  readonly peerHost: string;
  readonly peerPort: number;
  readonly #set: ControlSet;
  readonly #listener: ControlListener;
  readonly #buffers: ControlBuffers;
  #outputBytes = 0;
  /** The kernel did not take all of it: the set tells when there is room. */
  #isBlocked = false;
  #isOpen = true;
  #isReading = false;

  constructor(set: ControlSet, fd: number, listener: ControlListener) {
    const address = peerAddress(fd);
    this.fd = fd;
    this.peerHost = address.host;
    this.peerPort = address.port;
    this.#buffers = set.buffers.take();
    this.#set = set;
    this.#listener = listener;
    try {
      set.add(fd, this);
    } catch (error) {
      set.buffers.giveBack(this.#buffers);
      throw error;
    }
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Own address of the connection, while it is open. */
  get localHost(): string {
    return localAddress(this.fd).host;
  }

  get isLoopback(): boolean {
    return isLoopbackHost(this.peerHost);
  }

  onReady(): void {
    if (this.#outputBytes > 0) this.#flush();
    if (!this.#isOpen) return;
    if (!this.#isReading) {
      this.#onReadyWhilePaused();
      return;
    }
    while (this.#read());
  }

  /** Whether to read on: a part of a frame came, and the rest is wanted. */
  #read(): boolean {
    const { input, iov } = this.#buffers;
    setIov(iov, 0, input.addr, Math.min(this.#listener.bytesWanted(), INPUT_BYTES));
    const received = receiveVector(this.fd, iov, 0, 1);
    if (received > 0) this.#listener.onBytes(input.uint8.subarray(0, received));
    else if (received === 0) this.#fail(END_OF_STREAM);
    else if (received !== -EAGAIN) this.#fail(errnoName(-received));
    return received > 0 && this.#isOpen && this.#isReading && this.#listener.isAmidFrame();
  }

  onSetClosed(): void {
    this.#fail('closed here');
  }

  // Nobody reads: what is reported is room to write, the death of the connection, or bytes that
  // came meanwhile; of those no more is told until somebody reads.
  #onReadyWhilePaused(): void {
    this.#updateInterest();
    const error = takeSocketError(this.fd);
    if (error !== 0) this.#fail(errnoName(error));
  }

  /** Reads frames, or leaves what comes in the kernel: mostly nothing, so the set is not told. */
  setReading(isReading: boolean): void {
    if (!this.#isOpen || isReading === this.#isReading) return;
    this.#isReading = isReading;
    if (isReading) this.#updateInterest();
  }

  #updateInterest(): void {
    this.#set.want(this.fd, this.#isReading, this.#outputBytes > 0);
  }

  /** From now on it fails when the peer's kernel has not been heard of for this long. */
  keepAlive(silentMs: number): void {
    if (this.#isOpen) keepAlive(this.fd, silentMs);
  }

  /** Queues and sends; false when the peer does not take its bytes and the queue is full. */
  send(bytes: Uint8Array): boolean {
    if (!this.#isOpen || this.#outputBytes + bytes.length > QUEUE_BYTES_MAX) return false;
    this.#buffers.output.uint8.set(bytes, this.#outputBytes);
    this.#outputBytes += bytes.length;
    this.#flush();
    return this.#isOpen;
  }

  #flush(): void {
    const { output, iov } = this.#buffers;
    setIov(iov, 0, output.addr, this.#outputBytes);
    const sent = sendVector(this.fd, iov, 0, 1, 0);
    if (sent < 0 && sent !== -EAGAIN) {
      this.#fail(errnoName(-sent));
      return;
    }
    const taken = Math.max(0, sent);
    const isBlocked = this.#isBlocked;
    output.uint8.copyWithin(0, taken, this.#outputBytes);
    this.#outputBytes -= taken;
    this.#isBlocked = this.#outputBytes > 0;
    if (isBlocked || this.#isBlocked) this.#updateInterest();
  }

  #fail(reason: string): void {
    if (!this.#isOpen) return;
    this.close();
    this.#listener.onClosed(reason);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.release();
    closeFd(this.fd);
  }

  /** Gives the connection up: the peer sees a reset, not the end that a process leaves behind. */
  abort(): void {
    if (this.#isOpen) abortOnClose(this.fd);
    this.close();
  }

  /** Leaves the control set with the socket open: somebody else owns the descriptor now. */
  release(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#set.remove(this.fd);
    this.#set.buffers.giveBack(this.#buffers);
  }
}
