// What becomes of transfers when channels come and go: chunks whose channel is gone go to another,
// whole transfers to lanes that can move them. The path of a fault, not of a transfer.

import { at } from '../../base/assert.js';
import type { ChunkIndex, Generation, TransferSlot } from '../../base/quantity.js';
import type { Posted } from '../contract.js';
import { COMMAND_GIVE_UP, COMMAND_RETRY } from './lane/messages.js';
import type { LaneSession } from './lane-carrier.js';
import type { LaneSet } from './lane-set.js';
import type { TransferTable } from './transfer-table.js';

export class TransferMoves {
  readonly #lanes: LaneSet;
  readonly #table: TransferTable;
  readonly #posted: readonly (Posted<LaneSession> | undefined)[];
  readonly #lanesOf: (posted: Posted<LaneSession>) => readonly number[];
  #nextLane = 0;

  /** `lanesOf`: those of its session that may take it now. */
  constructor(
    lanes: LaneSet,
    table: TransferTable,
    posted: readonly (Posted<LaneSession> | undefined)[],
    lanesOf: (posted: Posted<LaneSession>) => readonly number[],
  ) {
    this.#lanes = lanes;
    this.#table = table;
    this.#posted = posted;
    this.#lanesOf = lanesOf;
  }

  /** A chunk (−1: the notification) whose channel is gone: another one takes it. */
  onRetry(slot: TransferSlot, generation: Generation, chunk: ChunkIndex): void {
    const entry = this.#posted[slot];
    if (entry?.generation !== generation) {
      this.#giveUp(0, slot, generation);
      return;
    }
    const { session } = entry;
    if (session.isEnding()) this.#giveUp(firstLane(session), slot, generation);
    else session.stranded.push({ slot, generation, chunk });
    if (session.isReady) this.#resumeStranded(session);
  }

  #resumeStranded(session: LaneSession): void {
    const lanes = session.recovery.book.livingLanes;
    if (lanes.length === 0) return;
    for (const one of session.stranded.splice(0)) {
      const { slot, generation, chunk, isBehind } = one;
      if (isBehind === true) {
        session.stranded.push(one);
        continue;
      }
      this.#nextLane = (this.#nextLane + 1) % lanes.length;
      const lane = lanes[this.#nextLane] ?? 0;
      this.#lanes.command(lane, COMMAND_RETRY, [slot, generation, chunk]);
    }
  }

  /** Channels have come or gone: every transfer is with lanes that can move it. */
  onChannelsChanged(session: LaneSession): void {
    if (!session.isReady) return;
    for (const entry of this.#posted) {
      if (entry?.session !== session || entry.chunks === 0) continue;
      for (const lane of this.#lanesOf(entry)) {
        if ((entry.laneBits & (1 << lane)) !== 0) continue;
        entry.laneBits |= 1 << lane;
        this.#table.addHolder(entry.slot);
        this.#lanes.submit(lane, entry.slot);
      }
    }
    this.#resumeStranded(session);
  }

  /** The session ends: what waited for a channel has none to wait for. */
  giveUpStranded(session: LaneSession): void {
    for (const { slot, generation } of session.stranded.splice(0)) {
      this.#giveUp(firstLane(session), slot, generation);
    }
    // Transfers that no lane was ever told of are failed by the first as well.
    for (const entry of this.#posted) {
      if (entry?.session !== session || entry.laneBits !== 0) continue;
      const { slot, chunks } = entry;
      if (chunks === 0) continue;
      this.#table.addHolder(slot);
      this.#lanes.submit(firstLane(session), slot);
    }
  }

  /** What waits here for a channel needs none any more. */
  onCancelled(session: LaneSession, slot: number): void {
    for (const stranded of session.stranded.filter((one) => one.slot === slot)) {
      session.stranded.splice(session.stranded.indexOf(stranded), 1);
      this.#giveUp(firstLane(session), slot, stranded.generation);
    }
  }

  #giveUp(lane: number, slot: TransferSlot, generation: Generation): void {
    if (this.#lanes.isAlive(lane)) {
      this.#lanes.command(lane, COMMAND_GIVE_UP, [slot, generation]);
    }
  }
}

/** One that knows the session: it had a channel there before anything could be posted. */
function firstLane({ recovery }: LaneSession): number {
  return at(recovery.book.usedLanes, 0);
}
