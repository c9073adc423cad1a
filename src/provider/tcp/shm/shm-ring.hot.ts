// Moves bytes through a ring: copy, then publish the position. The peer's position is hostile: it
// may only move forward, and never past what there is; anything else is −EPROTO for good.

import { copyMemory } from '../../../os/fixed-memory.js';
import { RING_BYTES } from './shm-layout.js';
import type { RingEnd } from './shm-ring.js';

export const EPROTO = 71;
/** Copied before the other end is told, so that both copy at the same time. */
const PIECE_BYTES = 32 * 1024;
const MASK = RING_BYTES - 1;
/** Shorter pieces are copied through the cache: heads, and what lies in small blocks. */
export const PAST_CACHE_BYTES = 4096;
/**
 * A reader's stores go past its cache where so much has landed further and further on, with steps
 * of no more than the second: it will not be found in a cache, whoever reads it, and to fetch
 * lines that are overwritten costs a third.
 */
const FORWARD_BYTES = 2 * 1024 * 1024;
const STEP_BYTES_MAX = 16 * 1024 * 1024;

/** Bytes that may be moved by what was seen last: room for a writer, contents for a reader. */
export function knownBytes(ring: RingEnd): number {
  const ahead = ring.isWriter ? ring.position - ring.peer : ring.peer - ring.position;
  return ring.isWriter ? RING_BYTES - (ahead >>> 0) : ahead >>> 0;
}

/** Looks at the peer's position; bytes that may be moved now, or −EPROTO. */
export function lookAtPeer(ring: RingEnd): number {
  const known = knownBytes(ring);
  const seen = Atomics.load(ring.words, ring.peerWord);
  // Forward means more for us, whichever end this is, and never more than the ring holds.
  const gained = (seen - ring.peer) >>> 0;
  if (gained > RING_BYTES - known) return -EPROTO;
  ring.peer = seen;
  return known + gained;
}

/**
 * Moves up to `bytes` between `addr` and the ring; what was moved, or −EPROTO. `isExpected`: the
 * peer is to take or to send all of them.
 */
export function moveBytes(ring: RingEnd, addr: number, bytes: number, isExpected: boolean): number {
  const isPast = isPastCache(ring, addr, bytes, isExpected);
  let moved = 0;
  while (moved < bytes) {
    let able = knownBytes(ring);
    if (able === 0) {
      if (ring.position !== ring.published) publish(ring);
      able = lookForMore(ring, isExpected && moved >= PIECE_BYTES);
      if (able < 0) return able;
      if (able === 0) break;
    }
    const at = ring.position & MASK;
    const piece = pieceOf(bytes - moved, able, RING_BYTES - at);
    if (ring.isWriter) copy(ring, isPast, ring.dataAddr + at, addr + moved, piece);
    else copy(ring, isPast, addr + moved, ring.dataAddr + at, piece);
    ring.position = (ring.position + piece) | 0;
    moved += piece;
    ring.unlooked += piece;
    if (ring.unlooked >= PIECE_BYTES) refillLooks(ring);
    if (((ring.position - ring.published) | 0) >= PIECE_BYTES) publish(ring);
  }
  if (isExpected && !ring.isWriter) noteLanded(ring, addr, moved);
  return moved;
}

function pieceOf(wanted: number, able: number, toEnd: number): number {
  let piece = wanted < able ? wanted : able;
  if (piece > toEnd) piece = toEnd;
  return piece < PIECE_BYTES ? piece : PIECE_BYTES;
}

function copy(ring: RingEnd, isPast: boolean, target: number, source: number, bytes: number): void {
  if (isPast) ring.copyPastCache(target, source, bytes);
  else copyMemory(target, source, bytes);
}

/** Whether the bytes stay out of this core's caches. */
function isPastCache(ring: RingEnd, addr: number, bytes: number, isExpected: boolean): boolean {
  if (bytes < PAST_CACHE_BYTES || !ring.isPastCache) return false;
  if (ring.isWriter) return true;
  return isExpected && ring.landedForward >= FORWARD_BYTES && isFurther(ring, addr);
}

// `moved` came to lie at `addr`.
function noteLanded(ring: RingEnd, addr: number, moved: number): void {
  const before = isFurther(ring, addr) ? ring.landedForward : 0;
  // No higher than it has to be: it stays a small integer.
  ring.landedForward = before < FORWARD_BYTES ? before + moved : before;
  ring.landedTo = addr + moved;
}

function isFurther(ring: RingEnd, addr: number): boolean {
  const step = addr - ring.landedTo;
  return step >= 0 && step <= STEP_BYTES_MAX;
}

/** At the start of a call, and with each piece: a peer that moves single bytes gets no more. */
export function refillLooks(ring: RingEnd): void {
  ring.unlooked = 0;
  ring.looksLeft = ring.looksMax;
}

// `isCopying`: the peer has moved a piece just now, so that the next is waited for.
function lookForMore(ring: RingEnd, isCopying: boolean): number {
  const mayWait = isCopying && ring.canWait;
  let able = 0;
  while (able === 0 && ring.looksLeft > 0) {
    ring.looksLeft--;
    able = lookAtPeer(ring);
    if (!mayWait) break;
  }
  return able;
}

/** Tells the peer of what was moved, and wakes it if it sleeps for it. */
export function publish(ring: RingEnd): void {
  ring.published = ring.position;
  Atomics.store(ring.words, ring.ownWord, ring.position);
  if (Atomics.load(ring.words, ring.peerSleepsWord) === 0) return;
  // A writer that waits for room is woken when there is much of it; sooner would be too often.
  if (!ring.isWriter && knownBytes(ring) > RING_BYTES / 2) return;
  if (Atomics.exchange(ring.words, ring.peerSleepsWord, 0) !== 0) ring.bell.ring();
}

/** Says that this end sleeps; 0 if it may, otherwise there is something to do, or −EPROTO. */
export function sayAsleep(ring: RingEnd): number {
  Atomics.store(ring.words, ring.ownSleepsWord, 1);
  return lookAtPeer(ring);
}

export function sayAwake(ring: RingEnd): void {
  Atomics.store(ring.words, ring.ownSleepsWord, 0);
}
