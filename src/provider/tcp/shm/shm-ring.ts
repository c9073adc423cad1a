// One end of a ring of bytes in shared memory. Its own position lies in private memory and is only
// ever written to the shared word; the peer's is read, checked, and kept as last seen. Positions
// count bytes modulo 2^32. The moves are in shm-ring.hot.ts.

import type { FixedMemory } from '../../../os/fixed-memory.js';
import {
  directionOf,
  HEAD,
  READER_SLEEPS,
  type ShmSide,
  TAIL,
  WRITER_SLEEPS,
} from './shm-layout.js';

/** Wakes the peer out of its sleep. */
export interface Bell {
  ring(): void;
}

export class RingEnd {
  readonly bell: Bell;
  readonly words: Int32Array;
  readonly dataAddr: number;
  readonly isWriter: boolean;
  readonly ownWord: number;
  readonly peerWord: number;
  readonly ownSleepsWord: number;
  readonly peerSleepsWord: number;
  /** Own position, and up to where the peer knows it. */
  position = 0;
  published = 0;
  /** The peer's position as last seen and checked. */
  peer = 0;

  constructor(memory: FixedMemory, side: ShmSide, isWriter: boolean, bell: Bell) {
    this.bell = bell;
    const { word, ringAt } = directionOf(side, isWriter);
    this.words = memory.int32;
    this.dataAddr = memory.addr + ringAt;
    this.isWriter = isWriter;
    this.ownWord = word + (isWriter ? TAIL : HEAD);
    this.peerWord = word + (isWriter ? HEAD : TAIL);
    this.ownSleepsWord = word + (isWriter ? WRITER_SLEEPS : READER_SLEEPS);
    this.peerSleepsWord = word + (isWriter ? READER_SLEEPS : WRITER_SLEEPS);
  }
}
