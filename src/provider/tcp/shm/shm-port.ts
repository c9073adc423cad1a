// A stream port over shared memory: two rings of bytes, and the socket of the channel as doorbell
// and sign of life. Nothing is sent on the socket but a byte for a peer that has said it sleeps;
// its end is the end of the peer.

import type { Address, ByteCount } from '../../../base/quantity.js';
import { EAGAIN } from '../../../ffi/libc/errno.js';
import { closeFd } from '../../../ffi/libc/file-descriptor.js';
import { receiveInto, sendVector, setIov } from '../../../ffi/libc/message.hot.js';
import { createIovTable, destroyIovTable, type IovTable } from '../../../ffi/libc/message.js';
import { SCRATCH_BYTES, scratchAddr } from '../../../ffi/libc/scratch.js';
import { type FixedMemory, openFixedMemory } from '../../../os/fixed-memory.js';
import { type PolledPort, WOULD_BLOCK } from '../port/stream-port.js';
import { HEADER_BYTES, PROOF_WORD, RING_BYTES } from './shm-layout.js';
import type { ShmLink } from './shm-link.js';
import { knownBytes, lookAtPeer, sayAsleep, sayAwake } from './shm-ring.hot.js';
import { type Bell, RingEnd } from './shm-ring.js';
import { advanceVector, moveVector } from './shm-vector.hot.js';
import { ShmVector } from './shm-vector.js';

/** Looks that found nothing, after which the socket is asked whether the peer still lives. */
const LOOKS_PER_CHECK = 256;
/**
 * Views of this thread by address: a mapping that follows another lies where that was, mostly, and
 * Node frees a view in a turn of the event loop, which lanes do not have.
 */
const views = new Map<number, FixedMemory>();
/** A flood of channels leaves no more behind. */
const VIEWS_MAX = 1024;
/** A peer that rings without end is not listened to without end. */
const DRAINS_MAX = 16;

export class ShmPort implements PolledPort, Bell {
  readonly isPolled = true;
  readonly isByReference = false;
  readonly fd: number;
  readonly #link: ShmLink;
  readonly #out: RingEnd;
  readonly #in: RingEnd;
  readonly #sending = new ShmVector();
  readonly #receiving = new ShmVector();
  readonly #bellTable: IovTable;
  /** False at the server until the client has shown that it was the one who got the memory. */
  #isProved: boolean;
  #emptyLooks = 0;
  /** What the socket said at its end: 0, or −errno; 1 while it is open. */
  #ending = 1;

  /** Takes over the socket and the mapping. `isLeft`: nobody here reads soon what has landed. */
  constructor(fd: number, link: ShmLink, isLeft = true) {
    this.fd = fd;
    this.#link = link;
    const header = viewHeader(link.addr);
    this.#out = new RingEnd(header, link.side, true, this);
    this.#in = new RingEnd(header, link.side, false, this);
    this.#in.isPastCache = isLeft;
    this.#bellTable = createIovTable();
    setIov(this.#bellTable, 0, scratchAddr, 1);
    this.#isProved = link.side === 'client';
    if (!this.#isProved) return;
    for (const [index, word] of link.proof.entries()) {
      Atomics.store(header.int32, PROOF_WORD + index, word);
    }
    // The server may sleep by now.
    this.ring();
  }

  setSend(index: number, addr: Address, bytes: ByteCount): void {
    this.#sending.addr[index] = addr;
    this.#sending.bytes[index] = bytes;
  }

  /** `isHeld`: copies go past the cache; nothing is referred to here. */
  send(first: number, count: number, isHeld: boolean): number {
    if (!this.#mayMove()) return WOULD_BLOCK;
    this.#out.isPastCache = isHeld;
    const sent = moveVector(this.#out, this.#sending, first, count);
    return sent === 0 ? WOULD_BLOCK : sent;
  }

  advanceSend(first: number, bytes: number): number {
    return advanceVector(this.#sending, first, bytes);
  }

  setReceive(index: number, addr: Address, bytes: ByteCount): void {
    this.#receiving.addr[index] = addr;
    this.#receiving.bytes[index] = bytes;
  }

  receive(count: number): number {
    const received = this.#mayMove() ? moveVector(this.#in, this.#receiving, 0, count) : 0;
    if (received !== 0) return received;
    if (this.#ending > 0 && ++this.#emptyLooks < LOOKS_PER_CHECK) return WOULD_BLOCK;
    this.#askSocket();
    if (this.#ending > 0) return WOULD_BLOCK;
    // What the peer wrote before it went is still there.
    const last = this.#mayMove() ? moveVector(this.#in, this.#receiving, 0, count) : 0;
    return last === 0 ? this.#ending : last;
  }

  /** The socket has something: the peer rang, or is gone. */
  onBell(): void {
    this.#emptyLooks = LOOKS_PER_CHECK;
  }

  prepareSleep(): boolean {
    // The client rings once it has shown its proof: that bell may have been heard before the look.
    if (!this.#isProved) return !this.#mayMove();
    const arrived = sayAsleep(this.#in);
    const room = this.#sending.isShort ? sayAsleep(this.#out) : 0;
    if (arrived === 0 && room === 0) return true;
    this.endSleep();
    return false;
  }

  endSleep(): void {
    sayAwake(this.#in);
    if (this.#sending.isShort) sayAwake(this.#out);
  }

  ring(): void {
    // A full socket is as good: the peer has been rung and not looked yet. An end shows elsewhere.
    sendVector(this.fd, this.#bellTable, 0, 1, 0);
  }

  queuedBytes(): number {
    lookAtPeer(this.#out);
    return RING_BYTES - knownBytes(this.#out);
  }

  /** Memory is not cut; a peer that is gone shows by its socket. */
  isPathSilent(): boolean {
    return false;
  }

  close(): void {
    // Unread bytes would turn the farewell into a reset.
    this.#askSocket();
    closeFd(this.fd);
    destroyIovTable(this.#bellTable);
    this.#link.unmap();
  }

  // A wrong proof is none: whoever else got the memory can neither end the channel nor be heard.
  #mayMove(): boolean {
    if (this.#isProved) return true;
    const { words } = this.#in;
    const { proof } = this.#link;
    this.#isProved = proof.every((word, index) => Atomics.load(words, PROOF_WORD + index) === word);
    return this.#isProved;
  }

  #askSocket(): void {
    this.#emptyLooks = 0;
    for (let round = 0; round < DRAINS_MAX && this.#ending > 0; round++) {
      const taken = receiveInto(this.fd, scratchAddr, SCRATCH_BYTES);
      if (taken === -EAGAIN) return;
      if (taken <= 0) this.#ending = taken;
    }
  }
}

function viewHeader(addr: number): FixedMemory {
  const known = views.get(addr);
  if (known !== undefined) return known;
  const made = openFixedMemory(addr, HEADER_BYTES);
  if (views.size < VIEWS_MAX) views.set(addr, made);
  return made;
}
