// Entries of transfers in shared memory: handed out, filled, reused when no lane looks any more.

import { assert, at } from '../../base/assert.js';
import { TcpxError } from '../../base/errors.js';
import type { ChannelIndex, Generation, SessionIndex, TransferSlot } from '../../base/quantity.js';
import { CHANNELS_MAX } from '../../base/shared-layout.js';
import type { FixedMemory } from '../../os/fixed-memory.js';
import type { SourceEvent } from '../contract.js';
import type { StageTimes } from '../receipt.js';
import {
  OPERATION_WRITE,
  TRANSFER_BY_TURNS,
  TRANSFER_CHANNEL_BYTES,
  TRANSFER_CHANNEL_CHUNKS,
  TRANSFER_CHUNK_COUNT,
  TRANSFER_CHUNKS_AT,
  TRANSFER_CLAIM,
  TRANSFER_COPIED,
  TRANSFER_COPY_IN_US,
  TRANSFER_COPY_OUT_US,
  TRANSFER_DAMAGED,
  TRANSFER_DAMAGED_ON,
  TRANSFER_EVEN,
  TRANSFER_FAILURE,
  TRANSFER_GENERATION,
  TRANSFER_HOLDERS,
  TRANSFER_NOTIFIED,
  TRANSFER_NOTIFY_AT,
  TRANSFER_NOTIFY_BYTES,
  TRANSFER_NOTIFY_FRAMED,
  TRANSFER_OPERATION,
  TRANSFER_PAIRS_AT,
  TRANSFER_PEER_COPY_US,
  TRANSFER_RECEIVE_US,
  TRANSFER_REMAINING,
  TRANSFER_REMOTES_AT,
  TRANSFER_RETRIES,
  TRANSFER_SEND_US,
  TRANSFER_SESSION,
  TRANSFER_SOURCE_DEVICE,
  TRANSFER_SOURCE_EVENT,
  TRANSFER_STAGED,
  TRANSFER_STATE,
  TransferState,
  transferFloat,
  transferWord,
} from './lane/layout.js';

export interface TransferEntry {
  readonly operation: number;
  readonly sessionIndex: SessionIndex;
  readonly chunkCount: number;
  readonly remotesAt: number;
  readonly pairsAt: number;
  readonly chunksAt: number;
  /** −1 without a notification. */
  readonly notifyBytes: number;
  readonly notifyAt: number;
  /** Lanes that will be told. */
  readonly holders: number;
  /** Every channel of the session pulls, each over a NIC of its own. */
  readonly isEven?: boolean;
  /** Of each lane's channels one pulls; see lane/pull-turns.ts. */
  readonly isByTurns?: boolean;
  /** Payload is copied, not referred to, and through the cache, at whichever end sends it. */
  readonly isCopied?: boolean;
  /** GPU memory is at either end. */
  readonly isStaged?: boolean;
  /** Event that must have happened before the source is read. */
  readonly source?: SourceEvent | undefined;
}

/** Entries beyond what programs may use, for the engine's own signals. */
export const SIGNAL_ENTRIES = 64;

export class TransferTable {
  readonly #memory: FixedMemory;
  readonly #transfersAt: number;
  readonly #count: number;
  readonly #free: Int32Array;
  #freeCount: number;
  /** Finished, but a lane may still look at them. */
  readonly #lingering: number[] = [];

  constructor(memory: FixedMemory, transfersAt: number, count: number) {
    this.#memory = memory;
    this.#transfersAt = transfersAt;
    this.#count = count;
    this.#free = new Int32Array(count).map((_, index) => count - 1 - index);
    this.#freeCount = count;
  }

  #word(slot: TransferSlot, word: number): number {
    return transferWord(this.#transfersAt, slot, word);
  }

  /** A filled entry, active, not yet told to any lane. */
  allocate(entry: TransferEntry): TransferSlot {
    const slot = this.#takeFree();
    const { int32, float64 } = this.#memory;
    const word = this.#word(slot, 0);
    const float = transferFloat(this.#transfersAt, slot, 0);
    const generation = int32[word + TRANSFER_GENERATION] ?? 0;
    int32[word + TRANSFER_GENERATION] = generation >= 0x7fffffff ? 1 : generation + 1;
    int32[word + TRANSFER_OPERATION] = entry.operation;
    int32[word + TRANSFER_SESSION] = entry.sessionIndex;
    int32[word + TRANSFER_CHUNK_COUNT] = entry.chunkCount;
    int32[word + TRANSFER_NOTIFY_BYTES] = entry.notifyBytes;
    int32[word + TRANSFER_FAILURE] = 0;
    int32[word + TRANSFER_RETRIES] = 0;
    int32[word + TRANSFER_DAMAGED] = 0;
    int32[word + TRANSFER_DAMAGED_ON] = 0;
    int32[word + TRANSFER_NOTIFY_FRAMED] = 0;
    int32[word + TRANSFER_NOTIFIED] = 0;
    int32[word + TRANSFER_EVEN] = entry.isEven === true ? 1 : 0;
    int32[word + TRANSFER_BY_TURNS] = entry.isByTurns === true ? 1 : 0;
    int32[word + TRANSFER_COPIED] = entry.isCopied === true ? 1 : 0;
    int32[word + TRANSFER_STAGED] = entry.isStaged === true ? 1 : 0;
    int32[word + TRANSFER_SOURCE_DEVICE] = (entry.source?.device ?? -1) + 1;
    float64[float + TRANSFER_SOURCE_EVENT] = entry.source?.handle ?? 0;
    // Not fill: for five words the call costs more than the stores.
    for (let at = TRANSFER_COPY_OUT_US; at <= TRANSFER_PEER_COPY_US; at++) int32[word + at] = 0;
    float64[float + TRANSFER_REMOTES_AT] = entry.remotesAt;
    float64[float + TRANSFER_PAIRS_AT] = entry.pairsAt;
    float64[float + TRANSFER_CHUNKS_AT] = entry.chunksAt;
    float64[float + TRANSFER_NOTIFY_AT] = entry.notifyAt;
    int32[word + TRANSFER_CLAIM] = 0;
    int32[word + TRANSFER_HOLDERS] = entry.holders;
    int32[word + TRANSFER_REMAINING] = entry.chunkCount + (entry.notifyBytes >= 0 ? 1 : 0);
    for (let channel = 0; channel < CHANNELS_MAX; channel++) {
      float64[float + TRANSFER_CHANNEL_BYTES + channel] = 0;
      int32[word + TRANSFER_CHANNEL_CHUNKS + channel] = 0;
    }
    Atomics.store(int32, word + TRANSFER_STATE, TransferState.Active);
    return slot;
  }

  /** An entry of a transfer that no lane has part in. */
  allocateForeign(sessionIndex: SessionIndex, chunkCount: number): number {
    return this.allocate({
      operation: OPERATION_WRITE,
      sessionIndex,
      chunkCount,
      remotesAt: 0,
      pairsAt: 0,
      chunksAt: 0,
      notifyBytes: -1,
      notifyAt: -1,
      holders: 0,
    });
  }

  /** Throws when every entry is in flight; allocate right after it succeeds. */
  assertFree(): void {
    if (this.hasFree()) return;
    throw new TcpxError(
      'ERR_USAGE_STATE',
      `post: ${this.#count - SIGNAL_ENTRIES} transfers are in flight, ` +
        'memory.transfersMax allows no more: await some first, or put many blocks into one',
    );
  }

  /** Whether a program's transfer finds an entry; those of the engine itself find one more. */
  hasFree(): boolean {
    if (this.#freeCount <= SIGNAL_ENTRIES) this.#reclaim();
    return this.#freeCount > SIGNAL_ENTRIES;
  }

  /** Entries in flight, and finished ones that a lane may still look at. */
  usedCount(): number {
    this.#reclaim();
    return this.#count - this.#freeCount;
  }

  #takeFree(): number {
    if (this.#freeCount === 0) this.#reclaim();
    assert(this.#freeCount > 0, 'an entry is free');
    this.#freeCount--;
    return this.#free[this.#freeCount] ?? 0;
  }

  /** One lane more may look at the entry; it is in flight. */
  addHolder(slot: TransferSlot): void {
    Atomics.add(this.#memory.int32, this.#word(slot, TRANSFER_HOLDERS), 1);
  }

  /** Chunks that arrived damaged, and the channel of the last (−1 for none). */
  damaged(slot: TransferSlot): { readonly count: number; readonly channel: ChannelIndex } {
    const word = this.#word(slot, 0);
    const count = Atomics.load(this.#memory.int32, word + TRANSFER_DAMAGED);
    return { count, channel: (this.#memory.int32[word + TRANSFER_DAMAGED_ON] ?? 0) - 1 };
  }

  retries(slot: TransferSlot): number {
    return Atomics.load(this.#memory.int32, this.#word(slot, TRANSFER_RETRIES));
  }

  operation(slot: TransferSlot): number {
    return at(this.#memory.int32, this.#word(slot, TRANSFER_OPERATION));
  }

  generation(slot: TransferSlot): Generation {
    return this.#memory.int32[this.#word(slot, TRANSFER_GENERATION)] ?? 0;
  }

  isFinished(slot: TransferSlot): boolean {
    const state = Atomics.load(this.#memory.int32, this.#word(slot, TRANSFER_STATE));
    return state === TransferState.Done || state === TransferState.Failed;
  }

  /** Why it failed; one that is done stays so, whatever came after. */
  failure(slot: TransferSlot): number {
    const state = Atomics.load(this.#memory.int32, this.#word(slot, TRANSFER_STATE));
    if (state === TransferState.Done) return 0;
    return Atomics.load(this.#memory.int32, this.#word(slot, TRANSFER_FAILURE));
  }

  /** Whether the peer has confirmed the notification. */
  isNotified(slot: TransferSlot): boolean {
    return this.#memory.int32[this.#word(slot, TRANSFER_NOTIFIED)] === 1;
  }

  channelBytes(slot: TransferSlot, channel: ChannelIndex): number {
    const first = transferFloat(this.#transfersAt, slot, TRANSFER_CHANNEL_BYTES);
    return this.#memory.float64[first + channel] ?? 0;
  }

  /** Over all channels, so far. */
  confirmedBytes(slot: TransferSlot): number {
    let bytes = 0;
    for (let channel = 0; channel < CHANNELS_MAX; channel++) {
      bytes += this.channelBytes(slot, channel);
    }
    return bytes;
  }

  /** `isHeldHere`: its source is not ready, and nobody but this machine can change that. */
  progress(slot: TransferSlot): { readonly confirmedBytes: number; readonly isHeldHere: boolean } {
    const source = Atomics.load(this.#memory.int32, this.#word(slot, TRANSFER_SOURCE_DEVICE));
    return { confirmedBytes: this.confirmedBytes(slot), isHeldHere: source !== 0 };
  }

  channelChunks(slot: TransferSlot, channel: ChannelIndex): number {
    return this.#memory.int32[this.#word(slot, TRANSFER_CHANNEL_CHUNKS) + channel] ?? 0;
  }

  /** Sums over the chunks, as far as this end saw them. */
  stageTimes(slot: TransferSlot): StageTimes {
    const read = (word: number): number => (this.#memory.int32[this.#word(slot, word)] ?? 0) >>> 0;
    return {
      copyOutUs: read(TRANSFER_COPY_OUT_US),
      sendUs: read(TRANSFER_SEND_US),
      receiveUs: read(TRANSFER_RECEIVE_US),
      copyInUs: read(TRANSFER_COPY_IN_US),
      peerCopyUs: read(TRANSFER_PEER_COPY_US),
    };
  }

  /** The owner has read what it wanted from a finished entry. */
  free(slot: TransferSlot): void {
    Atomics.store(this.#memory.int32, this.#word(slot, TRANSFER_STATE), TransferState.Free);
    if (Atomics.load(this.#memory.int32, this.#word(slot, TRANSFER_HOLDERS)) === 0) {
      this.#free[this.#freeCount++] = slot;
    } else {
      this.#lingering.push(slot);
      if (this.#lingering.length >= 64) this.#reclaim();
    }
  }

  #reclaim(): void {
    for (let index = this.#lingering.length - 1; index >= 0; index--) {
      const slot = this.#lingering[index] ?? 0;
      if (Atomics.load(this.#memory.int32, this.#word(slot, TRANSFER_HOLDERS)) !== 0) continue;
      this.#lingering.splice(index, 1);
      this.#free[this.#freeCount++] = slot;
    }
  }
}
