// The TCP provider's port: one connected, non-blocking socket and its two vectors.

import { closeFd } from '../../ffi/libc/file-descriptor.js';
import {
  receiveInto,
  receiveVector,
  sendVector,
  setIov,
  shortenIov,
} from '../../ffi/libc/message.hot.js';
import { createIovTable, destroyIovTable, type IovTable } from '../../ffi/libc/message.js';
import { abortOnClose, unconfirmedBytes } from '../../ffi/libc/socket.js';
import { readTcpInfo } from '../../ffi/libc/tcp-info.js';
import type { StreamPort } from '../stream-port.js';
import { sendZeroCopy } from './zero-copy-send.hot.js';
import { ZeroCopyState } from './zero-copy-state.js';

export class TcpPort implements StreamPort {
  readonly fd: number;
  readonly #sendTable: IovTable;
  readonly #receiveTable: IovTable;
  readonly #zeroCopy: ZeroCopyState | undefined;
  #firstAddr = 0;
  #firstBytes = 0;

  /** With counters, held ranges go by MSG_ZEROCOPY; the socket has SO_ZEROCOPY set. */
  constructor(fd: number, zeroCopyCounters?: Float64Array) {
    this.fd = fd;
    this.#sendTable = createIovTable();
    this.#receiveTable = createIovTable();
    this.#zeroCopy =
      zeroCopyCounters === undefined
        ? undefined
        : new ZeroCopyState(fd, this.#sendTable, zeroCopyCounters);
  }

  setSend(index: number, addr: number, bytes: number): void {
    setIov(this.#sendTable, index, addr, bytes);
  }

  send(first: number, count: number, isHeld: boolean): number {
    if (isHeld && this.#zeroCopy !== undefined) return sendZeroCopy(this.#zeroCopy, first, count);
    return sendVector(this.fd, this.#sendTable, first, count - first, 0);
  }

  advanceSend(first: number, bytes: number): number {
    return shortenIov(this.#sendTable, first, bytes);
  }

  setReceive(index: number, addr: number, bytes: number): void {
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

  queuedBytes(): number {
    return unconfirmedBytes(this.fd);
  }

  // A peer that is only slow closes its window and answers the probes of it.
  isPathSilent(): boolean {
    const { unansweredRetransmits, unansweredProbes } = readTcpInfo(this.fd);
    return unansweredRetransmits > 0 || unansweredProbes > 0;
  }

  close(isAborted: boolean): void {
    if (isAborted) abortOnClose(this.fd);
    this.#zeroCopy?.close();
    closeFd(this.fd);
    destroyIovTable(this.#sendTable);
    destroyIovTable(this.#receiveTable);
  }
}
