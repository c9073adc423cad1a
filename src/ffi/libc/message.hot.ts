// sendmsg and recvmsg over a prepared IovTable: no object and no BigInt per call.

import type { Address, ByteCount } from '../../base/quantity.js';
import { bindFunction, lastErrno } from './library.js';
import { HEADER_BYTES, IOV_BYTES, type IovTable } from './message.js';

export const MSG_MORE = 0x8000;
export const MSG_ZEROCOPY = 0x4000000;

const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
const IOV_WORD = HEADER_BYTES / 4;
const WORDS_PER_IOV = IOV_BYTES / 4;
// Word indexes inside struct msghdr: msg_iov at byte 16, msg_iovlen at byte 24.
const MSG_IOV_LOW = 4;
const MSG_IOV_HIGH = 5;
const MSG_IOVLEN = 6;
const TWO_32 = 4294967296;

const sendmsgC = bindFunction<(fd: number, header: number, flags: number) => number>(
  'int64_t sendmsg(int fd, uintptr_t header, int flags)',
);
const recvmsgC = bindFunction<(fd: number, header: number, flags: number) => number>(
  'int64_t recvmsg(int fd, uintptr_t header, int flags)',
);

const recvC = bindFunction<(fd: number, addr: Address, bytes: ByteCount, flags: number) => number>(
  'int64_t recv(int fd, uintptr_t addr, size_t bytes, int flags)',
);

export function setIov(table: IovTable, index: number, addr: Address, bytes: ByteCount): void {
  const words = table.words;
  const word = IOV_WORD + index * WORDS_PER_IOV;
  words[word] = addr; // stored modulo 2^32
  words[word + 1] = addr / TWO_32;
  words[word + 2] = bytes;
  words[word + 3] = bytes / TWO_32;
}

export function iovAddr(table: IovTable, index: number): number {
  const word = IOV_WORD + index * WORDS_PER_IOV;
  return table.words[word + 1]! * TWO_32 + table.words[word]!;
}

export function iovBytes(table: IovTable, index: number): number {
  const word = IOV_WORD + index * WORDS_PER_IOV;
  return table.words[word + 3]! * TWO_32 + table.words[word + 2]!;
}

/** Takes `bytes` off the front, from entry `first`; returns the first entry that has bytes left. */
export function shortenIov(table: IovTable, first: number, bytes: number): number {
  const words = table.words;
  let index = first;
  let left = bytes;
  while (left > 0) {
    const word = IOV_WORD + index * WORDS_PER_IOV;
    const entryBytes = words[word + 3]! * TWO_32 + words[word + 2]!;
    if (left < entryBytes) {
      const addr = words[word + 1]! * TWO_32 + words[word]!;
      setIov(table, index, addr + left, entryBytes - left);
      break;
    }
    left -= entryBytes;
    index++;
  }
  return index;
}

function selectIov(table: IovTable, first: number, count: number): void {
  const words = table.words;
  const iovAddr = table.headerAddr + HEADER_BYTES + first * IOV_BYTES;
  words[MSG_IOV_LOW] = iovAddr;
  words[MSG_IOV_HIGH] = iovAddr / TWO_32;
  words[MSG_IOVLEN] = count;
}

/** Bytes taken by the kernel, or −errno. */
export function sendVector(
  fd: number,
  table: IovTable,
  first: number,
  count: number,
  flags: number,
): number {
  selectIov(table, first, count);
  const result = sendmsgC(fd, table.boxedHeaderAddr[0], MSG_NOSIGNAL | MSG_DONTWAIT | flags);
  return result < 0 ? -lastErrno() : result;
}

/** Bytes received into one range, 0 at the end of the stream, or −errno. */
export function receiveInto(fd: number, addr: Address, bytes: ByteCount): number {
  const result = recvC(fd, addr, bytes, MSG_DONTWAIT);
  return result < 0 ? -lastErrno() : result;
}

/** Bytes received, 0 at the end of the stream, or −errno. */
export function receiveVector(fd: number, table: IovTable, first: number, count: number): number {
  selectIov(table, first, count);
  const result = recvmsgC(fd, table.boxedHeaderAddr[0], MSG_DONTWAIT);
  return result < 0 ? -lastErrno() : result;
}
