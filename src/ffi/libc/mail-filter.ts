// A filter that the kernel runs over every message to a socket, before it is queued (classic BPF):
// those that do not begin with the given bytes never take a place.
//
//   scratch:  0 sock_fprog: count, address │ 16 instructions, 8 bytes each

import { assert } from '../../base/assert.js';
import { scratchAddr, scratchView } from './scratch.js';
import { SOL_SOCKET, setSocketValue } from './socket.js';

const SO_ATTACH_FILTER = 26;
const LOAD_WORD = 0x20;
const JUMP_EQUAL = 0x15;
const RETURN = 0x06;
const WHOLE = 0xffff_ffff;
const PROGRAM_BYTES = 16;
const PROGRAM_AT = 16;
const INSTRUCTION_BYTES = 8;

/** 0, or −errno where the kernel has no such filters: then everything is queued. */
export function acceptOnly(fd: number, start: Uint8Array): number {
  assert(start.length > 0 && start.length % 4 === 0, 'a filter compares words');
  const words = new DataView(start.buffer, start.byteOffset, start.length);
  const count = 2 * (start.length / 4) + 2;
  for (let at = 0; at < start.length; at += 4) {
    const index = at / 2;
    write(index, LOAD_WORD, at);
    // The last instruction is where all that differ go.
    write(index + 1, JUMP_EQUAL, words.getUint32(at), count - 1 - (index + 2));
  }
  write(count - 2, RETURN, WHOLE);
  write(count - 1, RETURN, 0);
  scratchView.setUint16(0, count, true);
  scratchView.setBigUint64(8, BigInt(scratchAddr + PROGRAM_AT), true);
  return setSocketValue(fd, SOL_SOCKET, SO_ATTACH_FILTER, scratchAddr, PROGRAM_BYTES);
}

function write(index: number, code: number, value: number, jumpIfNot = 0): void {
  const at = PROGRAM_AT + index * INSTRUCTION_BYTES;
  scratchView.setUint16(at, code, true);
  scratchView.setUint8(at + 2, 0);
  scratchView.setUint8(at + 3, jumpIfNot);
  scratchView.setUint32(at + 4, value, true);
}
