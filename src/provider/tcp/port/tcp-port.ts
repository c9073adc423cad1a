// The TCP provider's port: one connected, non-blocking socket and its two vectors.

import { floatAt } from '../../../base/assert.js';
import { FLOAT_ZERO } from '../../../base/float-zero.js';
import type { Address, ByteCount } from '../../../base/quantity.js';
import { closeFd } from '../../../ffi/libc/file-descriptor.js';
import {
  receiveInto,
  receiveVector,
  sendVector,
  setIov,
  shortenIov,
} from '../../../ffi/libc/message.hot.js';
import { createIovTable, destroyIovTable, type IovTable } from '../../../ffi/libc/message.js';
import {
  abortOnClose,
  IPPROTO_TCP,
  SO_RCVLOWAT,
  SOL_SOCKET,
  TCP_NOTSENT_LOWAT,
  trySetSocketNumber,
  unconfirmedBytes,
} from '../../../ffi/libc/socket.js';
import { readTcpInfo } from '../../../ffi/libc/tcp-info.js';
import { hasLargeRange, sendSpliced } from './splice-send.hot.js';
import { openSplice, type SpliceState } from './splice-state.js';
import { type SendBy, type StreamPort, ZERO_COPY_FALLBACKS } from './stream-port.js';
import { sendZeroCopy } from './zero-copy-send.hot.js';
import { ZeroCopyState } from './zero-copy-state.js';

/** The kernel takes a number of 32 bits, and grants no more than half of tcp_rmem's most. */
const WINDOW_BYTES_MAX = 1024 ** 3;

export class TcpPort implements StreamPort {
  readonly fd: number;
  readonly #sendTable: IovTable;
  readonly #receiveTable: IovTable;
  readonly #zeroCopy: ZeroCopyState | undefined;
  readonly #counters: Float64Array;
  /** From the first large range on: many channels have none, and a pipe is two descriptors. */
  #splice: SpliceState | undefined;
  #isSpliceDue: boolean;
  #firstAddr = FLOAT_ZERO;
  #firstBytes = 0;

  /**
   * `sendBy`: how held ranges go; for `zerocopy` the socket has SO_ZEROCOPY set. `windowBytes`:
   * what the kernel is to take in from the start, the most that credit may let the peer send.
   */
  constructor(fd: number, sendBy: SendBy, counters: Float64Array, windowBytes: number) {
    this.fd = fd;
    // Asked to wait for so much, the kernel makes room for it. Left alone it measures how much is
    // read within a round trip, and over loopback may stay at a window that is always full. Then it
    // is the reading core that sends, whenever it has made room, and that core is the busy one.
    // In contrast to SO_RCVBUF the kernel's tuning goes on from there.
    this.wakeAt(Math.min(windowBytes, WINDOW_BYTES_MAX));
    this.wakeAt(1);
    this.#sendTable = createIovTable();
    this.#receiveTable = createIovTable();
    const table = this.#sendTable;
    this.#zeroCopy = sendBy === 'zerocopy' ? new ZeroCopyState(fd, table, counters) : undefined;
    this.#counters = counters;
    this.#isSpliceDue = sendBy === 'splice';
  }

  #openSplice(): void {
    this.#isSpliceDue = false;
    const counters = this.#counters;
    this.#splice = openSplice(this.fd, this.#sendTable, counters);
    if (this.#splice !== undefined) return;
    counters[ZERO_COPY_FALLBACKS] = floatAt(counters, ZERO_COPY_FALLBACKS) + 1;
  }

  /** Not any more, once the kernel has refused to splice: all is copied from then on. */
  get isByReference(): boolean {
    if (this.#zeroCopy !== undefined || this.#isSpliceDue) return true;
    return this.#splice?.isRefused === false;
  }

  setSend(index: number, addr: Address, bytes: ByteCount): void {
    setIov(this.#sendTable, index, addr, bytes);
  }

  send(first: number, count: number, isHeld: boolean): number {
    if (isHeld && this.#zeroCopy !== undefined) return sendZeroCopy(this.#zeroCopy, first, count);
    if (isHeld && this.#isSpliceDue && hasLargeRange(this.#sendTable, first, count)) {
      this.#openSplice();
    }
    const splice = this.#splice;
    if (splice === undefined) return sendVector(this.fd, this.#sendTable, first, count - first, 0);
    if (isHeld || splice.pipeBytes > 0) return sendSpliced(splice, first, count);
    const sent = sendVector(this.fd, this.#sendTable, first, count - first, 0);
    if (sent > 0) splice.sentBytes += sent;
    return sent;
  }

  advanceSend(first: number, bytes: number): number {
    return shortenIov(this.#sendTable, first, bytes);
  }

  setReceive(index: number, addr: Address, bytes: ByteCount): void {
    if (index === 0) {
      this.#firstAddr = addr;
      this.#firstBytes = bytes;
    }
    setIov(this.#receiveTable, index, addr, bytes);
  }

  receive(count: number): number {
    // One range needs no vector: a call that finds nothing is what a poll mostly costs.
    if (count === 1) return receiveInto(this.fd, this.#firstAddr, this.#firstBytes);
    return receiveVector(this.fd, this.#receiveTable, 0, count);
  }

  // A kernel that refuses wakes for every packet, which is only slower.
  wakeAt(bytes: number): void {
    trySetSocketNumber(this.fd, SOL_SOCKET, SO_RCVLOWAT, bytes);
  }

  // A kernel that refuses holds more, as it does without.
  limitUnsent(bytes: number): void {
    trySetSocketNumber(this.fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, bytes);
  }

  queuedBytes(): number {
    return unconfirmedBytes(this.fd);
  }

  // A peer that is only slow closes its window and answers the probes of it, but not one that comes
  // within half a second of its last answer (tcp_invalid_ratelimit), as the second one does.
  isPathSilent(): boolean {
    const { unansweredRetransmits, unansweredProbes } = readTcpInfo(this.fd);
    return unansweredRetransmits > 0 || unansweredProbes > 1;
  }

  close(isAborted: boolean): void {
    if (isAborted || this.#splice?.isReferring(this.queuedBytes()) === true) abortOnClose(this.fd);
    this.#zeroCopy?.close();
    this.#splice?.close();
    closeFd(this.fd);
    destroyIovTable(this.#sendTable);
    destroyIovTable(this.#receiveTable);
  }
}
