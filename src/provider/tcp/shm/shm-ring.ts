// One end of a ring of bytes in shared memory. Its own position lies in private memory and is only
// ever written to the shared word; the peer's is read, checked, and kept as last seen. Positions
// count bytes modulo 2^32. The moves are in shm-ring.hot.ts.

import { availableParallelism } from 'node:os';
import { FLOAT_ZERO } from '../../../base/float-zero.js';
import type { Address } from '../../../base/quantity.js';
import { type Copy, pastCacheCopy } from '../../../os/fixed-memory.js';
import {
  directionOf,
  HEAD,
  READER_SLEEPS,
  type ShmSide,
  TAIL,
  WRITER_SLEEPS,
} from './shm-layout.js';

/**
 * Looks at a peer that is copying the next piece, some 5 ns each once they are compiled, and a few
 * times as long as a piece takes: a turn of the lane in place of them would leave the ring full, or
 * empty, meanwhile.
 */
const LOOKS_MAX = 2000;
/** On the only CPU the peer copies nothing while it is looked at. */
const CAN_WAIT = availableParallelism() > 1;

/** Wakes the peer out of its sleep. */
export interface Bell {
  ring(): void;
}

/** The memory of a channel as a ring sees it: the words of its header, and where it lies. */
export interface SharedWords {
  readonly addr: Address;
  readonly int32: Int32Array;
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
  readonly looksMax: number;
  readonly canWait: boolean;
  /** For bytes that another core reads next, or nobody soon. */
  readonly copyPastCache: Copy = pastCacheCopy();
  /** Looks until the next piece has been moved, and what was moved since the last was. */
  looksLeft: number;
  unlooked = 0;
  /** Own position, and up to where the peer knows it. */
  position = 0;
  published = 0;
  /** The peer's position as last seen and checked. */
  peer = 0;
  /** Whether payload may go past the cache: of a writer, in the vector in hand. */
  isPastCache = false;
  /** A reader's: where the last payload ended, and how much landed without a step back. */
  landedTo = FLOAT_ZERO;
  landedForward = 0;

  constructor(
    memory: SharedWords,
    side: ShmSide,
    isWriter: boolean,
    bell: Bell,
    looksMax = LOOKS_MAX,
    canWait = CAN_WAIT,
  ) {
    this.bell = bell;
    const { word, ringAt } = directionOf(side, isWriter);
    this.words = memory.int32;
    this.dataAddr = memory.addr + ringAt;
    this.isWriter = isWriter;
    this.ownWord = word + (isWriter ? TAIL : HEAD);
    this.peerWord = word + (isWriter ? HEAD : TAIL);
    this.ownSleepsWord = word + (isWriter ? WRITER_SLEEPS : READER_SLEEPS);
    this.peerSleepsWord = word + (isWriter ? READER_SLEEPS : WRITER_SLEEPS);
    this.looksMax = looksMax;
    this.canWait = canWait;
    this.looksLeft = looksMax;
  }
}
