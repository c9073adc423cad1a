// Pages of this process into a pipe, and from there into a socket, without copying a byte.

import { bindFunction, lastErrno } from './library.js';
import { HEADER_BYTES, type IovTable } from './message.js';

const SPLICE_F_MOVE = 1;
const SPLICE_F_NONBLOCK = 2;
const SPLICE_F_MORE = 4;

const vmspliceC = bindFunction<(fd: number, iov: number, count: number, flags: number) => number>(
  'int64_t vmsplice(int fd, uintptr_t iov, size_t count, unsigned int flags)',
);
const spliceC = bindFunction<
  (
    fromFd: number,
    fromOffset: number,
    toFd: number,
    toOffset: number,
    bytes: number,
    flags: number,
  ) => number
>(
  'int64_t splice(int from, uintptr_t fromOffset, int to, uintptr_t toOffset, size_t bytes, ' +
    'unsigned int flags)',
);

/** Bytes of the first `count` ranges that the pipe refers to now, or −errno. */
export function fillPipe(pipeFd: number, table: IovTable, count: number): number {
  const result = vmspliceC(pipeFd, table.headerAddr + HEADER_BYTES, count, SPLICE_F_NONBLOCK);
  return result < 0 ? -lastErrno() : result;
}

/** Bytes that went from the pipe into the socket, or −errno. `isMore`: others follow at once. */
export function emptyPipe(pipeFd: number, fd: number, bytes: number, isMore: boolean): number {
  const flags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK | (isMore ? SPLICE_F_MORE : 0);
  const result = spliceC(pipeFd, 0, fd, 0, bytes, flags);
  return result < 0 ? -lastErrno() : result;
}
