// Chunks that arrived with a wrong checksum. The receiver refuses them; their owner sends them
// again, a bounded number of times. Where a head was hit the channel has ended, and its oldest
// chunk in flight counts as the damaged one.

import { FAIL_CHECKSUM } from '../../../base/failure.js';
import type { ChunkIndex, TransferSlot } from '../../../base/quantity.js';
import type { Channel } from './channel.js';
import { FLIGHT_MASK, NO_TRANSFER } from './flight.js';
import type { LaneCore } from './lane-core.js';
import {
  TRANSFER_CHANNEL_CHUNKS,
  TRANSFER_DAMAGED,
  TRANSFER_DAMAGED_ON,
  TRANSFER_FAILURE,
  TRANSFER_RETRIES,
  TRANSFER_SESSION,
  transferWord,
} from './layout.js';
import { confirmChunks, failTransfer, returnChunk } from './transfer-progress.hot.js';

/** Damaged chunks of one transfer after which it is given up: this is no accident. */
const DAMAGED_MAX = 16;

/** This chunk of ours was damaged on this channel: once more, or the end. */
export function askAgain(
  core: LaneCore,
  channel: Channel,
  slot: TransferSlot,
  chunk: ChunkIndex,
): void {
  const int32 = core.int32;
  const word = transferWord(core.transfersAt, slot, 0);
  const count = word + TRANSFER_CHANNEL_CHUNKS + channel.channelIndex;
  int32[count] = int32[count]! - 1;
  countDamage(core, channel, slot);
  if (Atomics.load(int32, word + TRANSFER_FAILURE) !== 0) {
    confirmChunks(core, slot, 1);
    return;
  }
  Atomics.add(int32, word + TRANSFER_RETRIES, 1);
  const session = core.sessions[int32[word + TRANSFER_SESSION]!]!;
  if (session.openChannels === 0) returnChunk(core, slot, chunk);
  else session.retries.push(slot, chunk);
}

function countDamage(core: LaneCore, channel: Channel, slot: number): void {
  const word = transferWord(core.transfersAt, slot, 0);
  const damaged = Atomics.add(core.int32, word + TRANSFER_DAMAGED, 1) + 1;
  core.int32[word + TRANSFER_DAMAGED_ON] = channel.channelIndex + 1;
  if (damaged > DAMAGED_MAX) failTransfer(core, slot, FAIL_CHECKSUM);
}

/** The channel ended by damage, and what has landed is confirmed: the next frame was hit. */
export function blameOldest(core: LaneCore, channel: Channel): void {
  const { writes, reads } = channel;
  for (let sequence = writes.acked; sequence !== writes.next; sequence = (sequence + 1) | 0) {
    const slot = writes.transfer[sequence & FLIGHT_MASK]!;
    if (slot === NO_TRANSFER) continue;
    countDamage(core, channel, slot);
    return;
  }
  if (reads.done === reads.next) return;
  countDamage(core, channel, reads.transfer[reads.done & FLIGHT_MASK]!);
}
