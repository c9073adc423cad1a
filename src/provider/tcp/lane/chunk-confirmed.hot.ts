// A chunk has landed: the receipt counts it, and the channel learns how fast it delivers.

import type { ChunkIndex, TransferSlot } from '../../../base/quantity.js';
import { CHUNK_BYTES, ENTRY_WORDS } from '../../../flow/request-layout.js';
import type { Channel } from './channel.js';
import type { LaneCore } from './lane-core.js';
import {
  OPERATION_WRITE,
  TRANSFER_CHANNEL_BYTES,
  TRANSFER_CHUNKS_AT,
  TRANSFER_OPERATION,
  TRANSFER_RECEIVE_US,
  TRANSFER_SEND_US,
  TRANSFER_STAGED,
  transferFloat,
  transferWord,
} from './layout.js';

/** Word index of a chunk of a transfer in the arena. */
export function chunkWordOf(core: LaneCore, slot: TransferSlot, chunk: ChunkIndex): number {
  const chunksAt = core.float64[transferFloat(core.transfersAt, slot, TRANSFER_CHUNKS_AT)]!;
  return (core.arenaAt + chunksAt) / 4 + chunk * ENTRY_WORDS;
}

/** `sentUs` and `deliveredAt` were noted when the chunk was framed. */
export function onChunkConfirmed(
  core: LaneCore,
  channel: Channel,
  slot: TransferSlot,
  chunk: ChunkIndex,
  sentUs: number,
  deliveredAt: number,
): void {
  const bytes = core.uint32[chunkWordOf(core, slot, chunk) + CHUNK_BYTES]!;
  const total =
    transferFloat(core.transfersAt, slot, TRANSFER_CHANNEL_BYTES) + channel.channelIndex;
  core.float64[total] = core.float64[total]! + bytes;
  const us = core.nowUs - sentUs;
  if (core.int32[transferWord(core.transfersAt, slot, TRANSFER_STAGED)] === 1) {
    timeChunk(core, slot, us);
  }
  channel.credit.onDelivered(bytes, deliveredAt, us);
}

// From its frame to its confirmation; for a read, landing takes the device copy off again.
function timeChunk(core: LaneCore, slot: TransferSlot, us: number): void {
  const operation = core.int32[transferWord(core.transfersAt, slot, TRANSFER_OPERATION)];
  const word = operation === OPERATION_WRITE ? TRANSFER_SEND_US : TRANSFER_RECEIVE_US;
  Atomics.add(core.int32, transferWord(core.transfersAt, slot, word), us | 0);
}

/** A chunk that will not be confirmed: its bytes are in flight no more. */
export function giveBackFlight(
  core: LaneCore,
  channel: Channel,
  slot: TransferSlot,
  chunk: ChunkIndex,
) {
  if (chunk < 0) return;
  channel.credit.dropFlight(core.uint32[chunkWordOf(core, slot, chunk) + CHUNK_BYTES]!);
}
