// The memory that two processes of one host share for a channel: a page of words, then two rings
// of bytes, one per direction. Every word has one writer (the sleep words: one who sets, one who
// clears) and a cache line pair of its own.
//
//   0     magic, version, ring bytes
//   128   proof by the client that it was the one who got the memory
//   1024  client → server: tail, head, writer sleeps, reader sleeps, 128 bytes apart
//   2048  server → client: the same
//   4096  ring client → server, then ring server → client

import { assert } from '../../../base/assert.js';

export const SHM_MAGIC = 0x4d535854; // "TXSM" in memory order
export const SHM_VERSION = 3;
export const PROOF_WORD = 128 / 4;
export const PROOF_WORDS = 32 / 4;
export const HEADER_BYTES = 4096;
/**
 * A part of what one core caches: what is read was written just before, and is written over before
 * it leaves the cache. As large as that cache, every byte goes to memory and back once more.
 */
export const RING_BYTES = 256 * 1024;

const LINE_WORDS = 128 / 4;
const DIRECTIONS_AT = [1024, 2048] as const;

// Offsets in words from the start of a direction.
export const TAIL = 0;
export const HEAD = LINE_WORDS;
export const WRITER_SLEEPS = 2 * LINE_WORDS;
export const READER_SLEEPS = 3 * LINE_WORDS;

export type ShmSide = 'client' | 'server';

export interface DirectionPlace {
  /** First word of its control words. */
  readonly word: number;
  /** First byte of its ring. */
  readonly ringAt: number;
}

/** Where the bytes that `side` sends, or receives, go. */
export function directionOf(side: ShmSide, isSending: boolean): DirectionPlace {
  const index = (side === 'client') === isSending ? 0 : 1;
  return { word: DIRECTIONS_AT[index] / 4, ringAt: HEADER_BYTES + index * RING_BYTES };
}

export const SHM_BYTES = HEADER_BYTES + 2 * RING_BYTES;

assert((RING_BYTES & (RING_BYTES - 1)) === 0, 'ring positions wrap by a mask');
