// Reports of MSG_ZEROCOPY sends, taken from a socket's error queue: no object per call.

import { NOTICE_CONTROL_AT, NOTICE_CONTROL_BYTES, type NoticeTable } from './error-queue.js';
import { bindFunction, lastErrno } from './library.js';

const MSG_DONTWAIT = 0x40;
const MSG_ERRQUEUE = 0x2000;
const ORIGIN_ZEROCOPY = 5;
const CODE_ZEROCOPY_COPIED = 1;
// Word indexes: msg_controllen (byte 40), and sock_extended_err behind the cmsghdr.
const MSG_CONTROLLEN = 10;
const ERROR_WORD = (NOTICE_CONTROL_AT + 16) / 4;
const ERROR_BYTES_MIN = 32;

const recvmsgC = bindFunction<(fd: number, header: number, flags: number) => number>(
  'int64_t recvmsg(int fd, uintptr_t header, int flags)',
);

/** Zero-copy calls that the next report speaks of, 0 when it is about something else, or −errno. */
export function takeNotice(fd: number, table: NoticeTable): number {
  const words = table.words;
  words[MSG_CONTROLLEN] = NOTICE_CONTROL_BYTES;
  const result = recvmsgC(fd, table.headerAddr, MSG_ERRQUEUE | MSG_DONTWAIT);
  if (result < 0) return -lastErrno();
  if (words[MSG_CONTROLLEN] < ERROR_BYTES_MIN) return 0;
  if ((words[ERROR_WORD + 1]! & 0xff) !== ORIGIN_ZEROCOPY) return 0;
  // Calls count from 0 and wrap; a report covers info … data, both included.
  return ((words[ERROR_WORD + 3]! - words[ERROR_WORD + 2]!) >>> 0) + 1;
}

/** Whether the report taken last says that the kernel copied the bytes after all. */
export function isNoticeCopied(table: NoticeTable): boolean {
  return ((table.words[ERROR_WORD + 1]! >>> 16) & CODE_ZEROCOPY_COPIED) !== 0;
}
