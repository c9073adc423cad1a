// What a port needs to send by splice: its vector, a pipe, and how far into the stream the kernel
// refers to memory that is not its own.

import { FLOAT_ZERO } from '../../../base/float-zero.js';
import { closeFd, createPipe, growPipe, type Pipe } from '../../../ffi/libc/file-descriptor.js';
import { createIovTable, destroyIovTable, type IovTable } from '../../../ffi/libc/message.js';

/** Room for the pages of one chunk, up to what every user may ask for. */
const PIPE_BYTES = 1024 * 1024;
/** With less, the calls cost more than the copy. */
const PIPE_BYTES_MIN = 256 * 1024;

export class SpliceState {
  readonly fd: number;
  readonly table: IovTable;
  /** ZERO_COPY_SENDS … of stream-port; other ports may count in the same place. */
  readonly counters: Float64Array;
  readonly readFd: number;
  readonly writeFd: number;
  /** What goes into the pipe next: a run of the vector, its first entry perhaps shortened. */
  readonly part: IovTable = createIovTable();
  /** Bytes in the pipe: the first ones of what is left of the vector. */
  pipeBytes = 0;
  /** Whether others follow those at once. */
  isMore = false;
  /** Within one call: the entry that is next, its bytes that went, bytes of the run. */
  index = 0;
  doneBytes = 0;
  runBytes = 0;
  /** Bytes sent so far, and the end of the last ones that went by reference. */
  sentBytes = FLOAT_ZERO;
  referredBytes = FLOAT_ZERO;
  /** The kernel did not take pages from the pipe: from then on all is copied. */
  isRefused = false;

  constructor(fd: number, table: IovTable, counters: Float64Array, pipe: Pipe) {
    this.fd = fd;
    this.table = table;
    this.counters = counters;
    this.readFd = pipe.readFd;
    this.writeFd = pipe.writeFd;
  }

  /** Whether the kernel may still send from memory that its owner is about to have back. */
  isReferring(unconfirmedBytes: number): boolean {
    if (this.pipeBytes > 0) return true;
    // What was sent before the first reference is not counted here, and may be unconfirmed too.
    return this.referredBytes > 0 && this.sentBytes - unconfirmedBytes < this.referredBytes;
  }

  /** What lies in the pipe goes with it: its bytes are sent anew, from where they are. */
  refuse(): void {
    this.isRefused = true;
    this.pipeBytes = 0;
    closeFd(this.readFd);
    closeFd(this.writeFd);
  }

  close(): void {
    if (!this.isRefused) this.refuse();
    destroyIovTable(this.part);
  }
}

/** Undefined where the process has no descriptors left, or its user no room for pipes. */
export function openSplice(
  fd: number,
  table: IovTable,
  counters: Float64Array,
): SpliceState | undefined {
  const pipe = tryPipe();
  if (pipe === undefined) return undefined;
  if (growPipe(pipe.writeFd, PIPE_BYTES) >= PIPE_BYTES_MIN) {
    return new SpliceState(fd, table, counters, pipe);
  }
  closeFd(pipe.readFd);
  closeFd(pipe.writeFd);
  return undefined;
}

function tryPipe(): Pipe | undefined {
  try {
    return createPipe();
  } catch {
    return undefined;
  }
}
