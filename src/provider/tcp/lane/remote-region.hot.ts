// Which region of the peer a frame is for, as its owner made the descriptor.

import type { TransferSlot } from '../../../base/quantity.js';
import {
  ENTRY_WORDS,
  REMOTE_GENERATION,
  REMOTE_KEY,
  REMOTE_SLOT,
} from '../../../flow/request-layout.js';
import { WORD_KEY, WORD_REGION_GENERATION, WORD_REGION_SLOT } from '../../../wire/data-frame.js';
import type { LaneCore } from './lane-core.js';
import { TRANSFER_REMOTES_AT, transferFloat } from './layout.js';

/** Copies it from the request into the head at `word`. */
export function writeRemote(
  core: LaneCore,
  words: Uint32Array,
  word: number,
  slot: TransferSlot,
  remoteIndex: number,
): void {
  const remotesAt = core.float64[transferFloat(core.transfersAt, slot, TRANSFER_REMOTES_AT)]!;
  const remote = (core.arenaAt + remotesAt) / 4 + remoteIndex * ENTRY_WORDS;
  words[word + WORD_REGION_SLOT] = core.uint32[remote + REMOTE_SLOT]!;
  words[word + WORD_REGION_GENERATION] = core.uint32[remote + REMOTE_GENERATION]!;
  for (let index = 0; index < 4; index++) {
    words[word + WORD_KEY + index] = core.uint32[remote + REMOTE_KEY + index]!;
  }
}
