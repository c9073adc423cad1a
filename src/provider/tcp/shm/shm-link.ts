// The shared memory of one channel as one end has it mapped.

import { assert, at } from '../../../base/assert.js';
import { unmapMemory } from '../../../ffi/libc/mapping.js';
import { PROOF_WORDS, SHM_BYTES, type ShmSide } from './shm-layout.js';

const TWO_32 = 2 ** 32;
const PLACE_WORDS = 3;

/** Words of a command that carry a link, or say that there is none. */
export const LINK_WORDS = PLACE_WORDS + PROOF_WORDS;

/** A mapping; whoever holds it last unmaps it, and no view of it may be used afterwards. */
export class ShmLink {
  readonly addr: number;
  readonly side: ShmSide;
  /** What the client shows in the memory, and the server waits for before it uses it. */
  readonly proof: Int32Array;

  constructor(addr: number, side: ShmSide, proof: Int32Array) {
    assert(proof.length === PROOF_WORDS, 'a link has a whole proof');
    this.addr = addr;
    this.side = side;
    this.proof = proof;
  }

  /** As a thread's command carries it: the address in two words, the side, the proof. */
  toWords(): number[] {
    const side = this.side === 'client' ? 1 : 2;
    return [this.addr | 0, Math.floor(this.addr / TWO_32), side, ...this.proof];
  }

  /** Undefined where a command carries none. */
  static fromWords(words: Int32Array): ShmLink | undefined {
    const side = at(words, 2);
    if (side === 0) return undefined;
    assert(side === 1 || side === 2, 'a link has one of two sides');
    const addr = at(words, 1) * TWO_32 + (at(words, 0) >>> 0);
    const proof = words.slice(PLACE_WORDS, LINK_WORDS);
    return new ShmLink(addr, side === 1 ? 'client' : 'server', proof);
  }

  unmap(): void {
    unmapMemory({ addr: this.addr, bytes: SHM_BYTES });
  }
}

/** A proof as the words that both ends compare. */
export function proofWords(proof: Uint8Array): Int32Array {
  return new Int32Array(Uint8Array.from(proof).buffer);
}
