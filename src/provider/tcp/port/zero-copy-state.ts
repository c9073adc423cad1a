// What a port needs to send by reference: its vector, the table for reports, its counters.

import {
  createNoticeTable,
  destroyNoticeTable,
  type NoticeTable,
} from '../../../ffi/libc/error-queue.js';
import type { IovTable } from '../../../ffi/libc/message.js';
import { abortOnClose } from '../../../ffi/libc/socket.js';
import { drainNotices } from './zero-copy-send.hot.js';

export class ZeroCopyState {
  readonly fd: number;
  readonly table: IovTable;
  /** ZERO_COPY_SENDS … of stream-port; other ports may count in the same place. */
  readonly counters: Float64Array;
  readonly notice: NoticeTable = createNoticeTable();
  /** Calls that the kernel has not reported on. */
  pending = 0;
  /** Scratch: bytes of the run being sent. */
  runBytes = 0;

  constructor(fd: number, table: IovTable, counters: Float64Array) {
    this.fd = fd;
    this.table = table;
    this.counters = counters;
  }

  /** Before the socket is closed. */
  close(): void {
    drainNotices(this);
    // The kernel would go on sending from memory that its owner is about to have back.
    if (this.pending > 0) abortOnClose(this.fd);
    destroyNoticeTable(this.notice);
  }
}
