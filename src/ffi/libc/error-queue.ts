// The error queue of a socket, as far as zero-copy sends report there: a msghdr with room for one
// control message, in fixed memory. The call itself is in error-queue.hot.ts.
//
//   0        56   64         80                     96
//   ┌─────────┬───┬──────────┬───────────────────────┬── … ─┐  sock_extended_err = errno u32,
//   │ msghdr  │pad│ cmsghdr  │ sock_extended_err     │ from │  origin, type, code, pad u8,
//   └─────────┴───┴──────────┴───────────────────────┴── … ─┘  info u32, data u32

import { mapMemory, unmapMemory, viewMapping } from './mapping.js';

export const NOTICE_CONTROL_AT = 64;
export const NOTICE_CONTROL_BYTES = 128;

export interface NoticeTable {
  readonly headerAddr: number;
  readonly words: Uint32Array;
}

const TABLE_BYTES = NOTICE_CONTROL_AT + NOTICE_CONTROL_BYTES;
const TWO_32 = 4294967296;

export function createNoticeTable(): NoticeTable {
  const mapping = mapMemory(TABLE_BYTES, { isLow: true });
  const words = new Uint32Array(viewMapping(mapping));
  const controlAddr = mapping.addr + NOTICE_CONTROL_AT;
  // msg_control, byte 32; msg_controllen is set before each call.
  words[8] = controlAddr;
  words[9] = controlAddr / TWO_32;
  return { headerAddr: mapping.addr, words };
}

/** The table must not be used, nor its words touched, after this. */
export function destroyNoticeTable(table: NoticeTable): void {
  unmapMemory({ addr: table.headerAddr, bytes: TABLE_BYTES });
}
