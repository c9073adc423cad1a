// The calls made per message. Numbers in, numbers out: a request address, or a negative result.
// Arguments that the plugin takes by pointer lie in one page that this object owns.

import type {
  Address,
  ByteCount,
  CommHandle,
  MemoryHandle,
  RequestHandle,
  Tag,
} from '../../base/quantity.js';
import type { BoundCall } from './bound-calls.js';
import { NET_SYSTEM_ERROR } from './net-result.js';

/** Offsets in the argument page. */
export const AREA_OUT = 0;
export const AREA_DONE = 8;
export const AREA_DATA = 16;
export const AREA_SIZES = 24;
export const AREA_TAGS = 32;
export const AREA_MHANDLES = 40;
export const AREA_DEVICE = 48;
/** The comm configuration since v10: one int, the traffic class. */
export const AREA_CONFIG = 64;
export const AREA_PROPERTIES = 1024;

/** What test answers; below 0 it is the negative result code. */
export const TEST_PENDING = 0;
export const TEST_DONE = 1;
/** Done, and the data is good, although the peer has closed. */
export const TEST_DONE_PEER_GONE = 2;

const TWO_32 = 4294967296;

export interface MessageCalls {
  readonly isend: BoundCall;
  readonly irecv: BoundCall;
  readonly test: BoundCall;
  readonly irecvConsumed: BoundCall;
}

export class PluginCalls {
  private readonly calls: MessageCalls;
  private readonly areaAddr: number;
  private readonly words: Uint32Array;

  /** `words` views the page at `areaAddr`. */
  constructor(calls: MessageCalls, areaAddr: number, words: Uint32Array) {
    this.calls = calls;
    this.areaAddr = areaAddr;
    this.words = words;
  }

  /** Request address, or −result; −3 also means: no slot now. */
  isend(
    comm: CommHandle,
    addr: Address,
    bytes: ByteCount,
    tag: Tag,
    mhandle: MemoryHandle,
  ): RequestHandle {
    const area = this.areaAddr;
    this.putPointer(AREA_OUT, 0);
    const result = this.calls.isend(comm, addr, bytes, tag, mhandle, area + AREA_OUT);
    return result === 0 ? this.pointer(AREA_OUT) : -result;
  }

  irecv(
    comm: CommHandle,
    addr: Address,
    bytes: ByteCount,
    tag: Tag,
    mhandle: MemoryHandle,
  ): RequestHandle {
    const area = this.areaAddr;
    this.putPointer(AREA_DATA, addr);
    this.putPointer(AREA_SIZES, bytes);
    this.putPointer(AREA_TAGS, tag);
    this.putPointer(AREA_MHANDLES, mhandle);
    this.putPointer(AREA_OUT, 0);
    const result = this.calls.irecv(
      comm,
      1,
      area + AREA_DATA,
      area + AREA_SIZES,
      area + AREA_TAGS,
      area + AREA_MHANDLES,
      area + AREA_OUT,
    );
    return result === 0 ? this.pointer(AREA_OUT) : -result;
  }

  /** Only the oldest request of a comm may be tested. */
  test(request: RequestHandle): number {
    this.words[AREA_DONE / 4] = 0;
    // Sizes are not asked for: this plugin never writes them.
    const result = this.calls.test(request, this.areaAddr + AREA_DONE, 0);
    const isDone = this.words[AREA_DONE / 4]! !== 0;
    if (result === 0) return isDone ? TEST_DONE : TEST_PENDING;
    return isDone && result === NET_SYSTEM_ERROR ? TEST_DONE_PEER_GONE : -result;
  }

  /** 0, or −result. */
  irecvConsumed(comm: CommHandle, request: RequestHandle): number {
    return -this.calls.irecvConsumed(comm, 1, request);
  }

  /** Little-endian: 32-bit values lie in the low word, so sizes of 4 and of 8 bytes both work. */
  private putPointer(offset: number, value: number): void {
    this.words[offset / 4] = value % TWO_32;
    this.words[offset / 4 + 1] = Math.floor(value / TWO_32);
  }

  private pointer(offset: number): number {
    return this.words[offset / 4]! + this.words[offset / 4 + 1]! * TWO_32;
  }
}
