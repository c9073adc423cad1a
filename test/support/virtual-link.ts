// Two stream ports joined in memory: what one sends the other receives, in pieces of every size,
// with stalls, and with accidents that a test asks for. Everything random comes from the seed.
//
//   port a ── send ──▶ [ pipe: bytes in flight ] ── receive ──▶ port b      and the same back

import type { Random } from '../../src/base/random.js';
import {
  copyMemory,
  createFixedMemory,
  destroyFixedMemory,
  type FixedMemory,
} from '../../src/os/fixed-memory.js';
import {
  type StreamPort,
  WOULD_BLOCK,
  ZERO_COPY_BYTES_MIN,
} from '../../src/provider/tcp/port/stream-port.js';
import { PortVector } from './port-vector.js';

const ECONNRESET = 104;

export interface LinkOptions {
  readonly random: Random;
  /** Most bytes per call, so that sends and receives are partial; unlimited without. */
  readonly callBytesMax?: number;
  /** Bytes that every call moves, where there are as many. */
  readonly callBytes?: () => number;
  /** How often a call finds the link stalled. */
  readonly stallChance?: number;
  /** What fits in flight. */
  readonly pipeBytes?: number;
  /** Held ranges are read from where they lie when the other end takes them, not before. */
  readonly isByReference?: boolean;
}

/** Bytes in flight that are still their owner's. */
interface Reference {
  readonly addr: number;
  readonly position: number;
  readonly bytes: number;
}

const PIPES = new Set<VirtualPipe>();

/** As the kernel does for its own: to be told before pages are replaced. */
export function keepReferredPages(addr: number, bytes: number): void {
  for (const pipe of PIPES) pipe.keepReferred(addr, bytes);
}

/** One direction. Bytes lie at their stream offset modulo the size of the memory. */
class VirtualPipe {
  readonly #options: LinkOptions;
  readonly #memory: FixedMemory;
  readonly #bytes: number;
  /** Bytes that went in and came out since the start. */
  sentBytes = 0;
  receivedBytes = 0;
  /** The writer has gone: what is in flight still arrives. */
  isEnded = false;
  /** Stream offset of a byte to invert on its way, −1 for none. */
  flipAt = -1;
  /** Nothing gets in or out until the test says so. */
  isStalled = false;
  #references: Reference[] = [];

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#bytes = options.pipeBytes ?? 1024 * 1024;
    this.#memory = createFixedMemory(this.#bytes);
    PIPES.add(this);
  }

  /** How much one call may move now; 0 while stalled. */
  allowance(wanted: number): number {
    const { random, callBytesMax, stallChance, callBytes } = this.#options;
    if (this.isStalled) return 0;
    if (stallChance !== undefined && random.nextChance(stallChance)) return 0;
    if (callBytes !== undefined) return Math.min(wanted, callBytes());
    if (callBytesMax === undefined) return wanted;
    return Math.min(wanted, random.nextBetween(1, callBytesMax));
  }

  get roomBytes(): number {
    return this.#bytes - (this.sentBytes - this.receivedBytes);
  }

  push(addr: number, bytes: number, isReferred = false): void {
    if (isReferred) this.#references.push({ addr, position: this.sentBytes, bytes });
    this.#span(this.sentBytes, bytes, (at, offset, count) => {
      copyMemory(this.#memory.addr + at, addr + offset, count);
    });
    const flip = this.flipAt - this.sentBytes;
    if (this.flipAt >= 0 && flip >= 0 && flip < bytes) {
      const at = this.flipAt % this.#bytes;
      this.#memory.uint8[at] = (this.#memory.uint8[at] ?? 0) ^ 0x10;
    }
    this.sentBytes += bytes;
  }

  pull(addr: number, bytes: number): void {
    const end = this.receivedBytes + bytes;
    this.#references = this.#references.filter((one) => !this.#fetch(one, end));
    this.#span(this.receivedBytes, bytes, (at, offset, count) => {
      copyMemory(addr + offset, this.#memory.addr + at, count);
    });
    this.receivedBytes += bytes;
  }

  /** Other pages come to these addresses: who refers to the old ones keeps them as they are. */
  keepReferred(firstAddr: number, bytes: number): void {
    const isGone = ({ addr }: Reference) => addr >= firstAddr && addr < firstAddr + bytes;
    for (const one of this.#references.filter(isGone)) this.#fetch(one, this.sentBytes);
    this.#references = this.#references.filter((one) => !isGone(one));
  }

  // What lies there now, for the bytes that are taken next; true when all of them were.
  #fetch({ addr, position, bytes }: Reference, end: number): boolean {
    const from = Math.max(position, this.receivedBytes);
    const to = Math.min(position + bytes, end);
    if (to > from) {
      this.#span(from, to - from, (at, offset, count) => {
        copyMemory(this.#memory.addr + at, addr + from - position + offset, count);
      });
    }
    return position + bytes <= end;
  }

  /** Inverts a bit of what is in flight, counted from the byte that arrives next. */
  flipBit(bit: number): void {
    const at = (this.receivedBytes + (bit >> 3)) % this.#bytes;
    this.#memory.uint8[at] = (this.#memory.uint8[at] ?? 0) ^ (1 << (bit & 7));
  }

  /** A copy of what is in flight. */
  peek(): Uint8Array {
    const out = new Uint8Array(this.sentBytes - this.receivedBytes);
    this.#span(this.receivedBytes, out.length, (at, offset, count) => {
      out.set(this.#memory.uint8.subarray(at, at + count), offset);
    });
    return out;
  }

  // The memory is a ring: a range is one piece, or two.
  #span(
    position: number,
    bytes: number,
    move: (at: number, offset: number, count: number) => void,
  ): void {
    const at = position % this.#bytes;
    const first = Math.min(bytes, this.#bytes - at);
    if (first > 0) move(at, 0, first);
    if (bytes > first) move(0, first, bytes - first);
  }

  destroy(): void {
    PIPES.delete(this);
    destroyFixedMemory(this.#memory);
  }
}

class VirtualPort implements StreamPort {
  readonly fd = -1;
  readonly isByReference: boolean;
  readonly #out: VirtualPipe;
  readonly #in: VirtualPipe;
  readonly #sends = new PortVector();
  readonly #receives = new PortVector();
  isClosed = false;
  /** From now on every call fails as after a reset. */
  isReset = false;
  /** Bytes sent that their owner promised to keep, and those that it did not. */
  heldBytes = 0;
  unheldBytes = 0;

  constructor(out: VirtualPipe, into: VirtualPipe, isByReference: boolean) {
    this.isByReference = isByReference;
    this.#out = out;
    this.#in = into;
  }

  setSend(index: number, addr: number, bytes: number): void {
    this.#sends.set(index, addr, bytes);
  }

  send(first: number, count: number, isHeld: boolean): number {
    if (this.isReset) return -ECONNRESET;
    const wanted = this.#sends.total(first, count);
    const bytes = this.#out.allowance(Math.min(wanted, this.#out.roomBytes));
    if (bytes === 0) return WOULD_BLOCK;
    if (isHeld) this.heldBytes += bytes;
    else this.unheldBytes += bytes;
    this.#sends.each(first, bytes, (addr, part, whole) => {
      const isReferred = isHeld && this.isByReference && whole >= ZERO_COPY_BYTES_MIN;
      this.#out.push(addr, part, isReferred);
    });
    return bytes;
  }

  advanceSend(first: number, bytes: number): number {
    return this.#sends.advance(first, bytes);
  }

  setReceive(index: number, addr: number, bytes: number): void {
    this.#receives.set(index, addr, bytes);
  }

  receive(count: number): number {
    if (this.isReset) return -ECONNRESET;
    const there = this.#in.sentBytes - this.#in.receivedBytes;
    if (there === 0 && this.#in.isEnded) return 0;
    const bytes = this.#in.allowance(Math.min(this.#receives.total(0, count), there));
    if (bytes === 0) return WOULD_BLOCK;
    this.#receives.each(0, bytes, (addr, part) => this.#in.pull(addr, part));
    return bytes;
  }

  queuedBytes(): number {
    return this.#out.sentBytes - this.#out.receivedBytes;
  }

  isPathSilent(): boolean {
    return this.queuedBytes() > 0;
  }

  close(): void {
    this.isClosed = true;
    this.#out.isEnded = true;
  }
}

export interface VirtualLink {
  readonly a: VirtualPort;
  readonly b: VirtualPort;
  readonly toB: VirtualPipe;
  readonly toA: VirtualPipe;
}

export function createVirtualLink(options: LinkOptions): VirtualLink {
  const toB = new VirtualPipe(options);
  const toA = new VirtualPipe(options);
  const isByReference = options.isByReference ?? false;
  const a = new VirtualPort(toB, toA, isByReference);
  return { a, b: new VirtualPort(toA, toB, isByReference), toB, toA };
}

export function destroyVirtualLink(link: VirtualLink): void {
  link.toA.destroy();
  link.toB.destroy();
}
