// A lane end that a hostile peer plays against: its regions lie in one piece of memory with guard
// bytes between them, so that any byte that lands where it must not is seen.

import assert from 'node:assert/strict';
import type { Region } from '../../src/memory/region.js';
import {
  createFixedMemory,
  destroyFixedMemory,
  type FixedMemory,
} from '../../src/os/fixed-memory.js';
import {
  COMMAND_CLOSE_SESSION,
  COMMAND_GIVE_UP,
  COMMAND_SETTLE_CHANNEL,
  EVENT_CHANNEL_DOWN,
  EVENT_RETRY,
  LOSS_PROTOCOL,
} from '../../src/provider/tcp/lane/messages.js';
import * as frame from '../../src/wire/data-frame.js';
import { FRAME_RULES } from '../../src/wire/data-frame-rules.js';
import type { Victim } from './hostile-frames.js';
import { block, LanePair } from './lane-pair.js';

const PART_BYTES = 4096;
/** Parts 1, 3, 5 … are regions; those between are nobody's. */
const PARTS = 16;
const OWN_WRITE_BYTES = 3 * PART_BYTES;
const OWN_READ_BYTES = 1000;
/** What fits between the ends: less than an own write, so that some of it cannot have been sent. */
const PIPE_BYTES = 10_000;
const SCRATCH_BYTES = 256 * 1024;

export interface FenceClaim {
  readonly landedOff: number | 'all';
  readonly refusals: readonly (readonly [number, number])[];
}

export class LaneVictim implements Victim {
  readonly #pair: LanePair;
  readonly #memory: FixedMemory;
  readonly #before: Uint8Array;
  readonly #scratch = createFixedMemory(SCRATCH_BYTES);
  readonly #mayChange = new Set<number>();
  readonly #posted: { readonly slot: number; readonly bytes: number; readonly sentAt: number }[] =
    [];
  #ackedAtEnd = 0;
  #framedAtEnd = 0;
  readonly #source: Region;
  readonly #landing: Region;
  readonly #remote: Region;
  readonly regions: Region[];
  readonly isChecked: boolean;

  constructor(callBytesMax: number, isChecked: boolean) {
    this.isChecked = isChecked;
    const link = { pipeBytes: PIPE_BYTES, callBytesMax };
    this.#pair = new LanePair({ windowChunks: 4, chunkBytes: PART_BYTES, isChecked, link });
    this.#memory = createFixedMemory(PARTS * PART_BYTES);
    this.#memory.uint8.forEach((_, index, all) => (all[index] = index % 251));
    const closed = this.#addPart(7, true, true);
    this.regions = [
      this.#addPart(1, true, true),
      this.#addPart(3, true, false),
      this.#addPart(5, false, true),
      closed,
    ];
    this.#end.regions.beginClose(closed);
    this.#end.regions.finishClose(closed);
    for (const part of [1, 5]) this.#mayChange.add(part);
    this.#landing = this.#addPart(9, false, false);
    this.#source = this.#end.regions.register(new Uint8Array(OWN_WRITE_BYTES), {
      read: false,
      write: false,
    });
    this.#remote = this.#pair.a.regions.register(new Uint8Array(OWN_WRITE_BYTES), {
      read: true,
      write: true,
    });
    this.#before = this.#memory.uint8.slice();
  }

  get #end() {
    return this.#pair.b;
  }

  #addPart(part: number, read: boolean, write: boolean): Region {
    const addr = this.#memory.addr + part * PART_BYTES;
    return this.#end.regions.register({ addr, bytes: PART_BYTES }, { read, write });
  }

  get isLost(): boolean {
    return this.#end.core.channels.length === 0;
  }

  sequenceOf(kind: number): number {
    const [channel] = this.#end.core.channels;
    if (channel === undefined) return 0;
    if (kind === frame.FRAME_READ_REQUEST) return channel.served.tail;
    if (kind === frame.FRAME_READ_DATA) return channel.reads.done;
    return kind === frame.FRAME_REFUSE ? channel.writes.acked : channel.arrivals.landed;
  }

  acknowledged(): number {
    return this.#end.core.channels[0]?.writes.acked ?? 0;
  }

  framed(): number {
    return this.#end.core.channels[0]?.writes.next ?? 0;
  }

  /** Bytes from the hostile peer, as far as the link takes them. */
  inject(bytes: Uint8Array): void {
    const link = this.#pair.links[0];
    if (link === undefined) return;
    const count = Math.min(bytes.length, link.toB.roomBytes, SCRATCH_BYTES);
    this.#scratch.uint8.set(bytes.subarray(0, count));
    link.toB.push(this.#scratch.addr, count);
  }

  /** The hostile peer takes bytes, and forgets them. */
  take(count: number): void {
    const link = this.#pair.links[0];
    if (link === undefined) return;
    const there = Math.min(link.toA.sentBytes - link.toA.receivedBytes, count);
    link.toA.pull(this.#scratch.addr, there);
  }

  // Where the flight began and ended, while there is a channel to ask.
  #note(): this {
    if (this.isLost) return this;
    this.#ackedAtEnd = this.acknowledged();
    this.#framedAtEnd = this.framed();
    return this;
  }

  step(count: number): void {
    for (let index = 0; index < count; index++) this.#note().#end.step();
  }

  /** The victim has work of its own under way. */
  post(operation: 'write' | 'read' | 'notify'): void {
    if (this.#posted.length >= 8 || this.isLost) return;
    const sentAt = this.#pair.links[0]?.toA.sentBytes ?? 0;
    if (operation === 'notify') {
      this.#posted.push({ slot: this.#end.notify(new Uint8Array(10)), bytes: 10, sentAt });
      return;
    }
    const isWrite = operation === 'write';
    if (!isWrite) this.#mayChange.add(9);
    const bytes = isWrite ? OWN_WRITE_BYTES : OWN_READ_BYTES;
    const local = isWrite ? this.#source : this.#landing;
    const slot = this.#end.post(operation, [block(local, this.#remote, bytes)]);
    this.#posted.push({ slot, bytes: isWrite ? bytes : 0, sentAt });
  }

  /** The peer says how much has landed: true or not, its refusals as [sequence off, reason]. */
  fence(claim: FenceClaim): void {
    const landed =
      claim.landedOff === 'all' ? this.#framedAtEnd : this.#ackedAtEnd + claim.landedOff;
    const refusals = claim.refusals.flatMap(([off, reason]) => [this.#ackedAtEnd + off, reason]);
    const words = [0, 0, 0, landed, 0, claim.refusals.length, ...refusals];
    this.#end.command(COMMAND_SETTLE_CHANNEL, words);
    this.step(3);
    this.#checkCompletions();
  }

  /** The connection ends, if the lane has not ended it; then everything must have been let go. */
  finish(isReset: boolean, claim: FenceClaim | undefined): void {
    this.step(20);
    this.#checkCompletions();
    const link = this.#pair.links[0];
    if (link !== undefined) link.toB.isEnded = true;
    if (link !== undefined && isReset) link.b.isReset = true;
    for (let tries = 0; tries < 300_000 && !this.isLost; tries++) this.step(1);
    assert.ok(this.isLost, 'the channel ends with its connection');
    this.#checkLoss();
    if (claim !== undefined) this.fence(claim);
    this.#end.command(COMMAND_CLOSE_SESSION, [0]);
    this.step(3);
    // What the lane handed back for another channel has none: main gives it up.
    for (const { words } of this.#end.eventsOf(EVENT_RETRY)) {
      this.#end.command(COMMAND_GIVE_UP, words.slice(0, 2));
    }
    this.step(3);
    for (const { slot } of this.#posted) assert.ok(this.#end.isFinished(slot), `transfer ${slot}`);
    for (const region of this.regions) {
      if (this.#end.regions.isRegistered(region)) {
        assert.equal(this.#end.regions.users(region), 0, `users of region ${region.id}`);
      }
    }
    this.#checkMemory();
  }

  // Done means landed at the peer: nobody can say so of bytes that were not sent.
  #checkCompletions(): void {
    const sentBytes = this.#pair.links[0]?.toA.sentBytes ?? 0;
    for (const { slot, bytes, sentAt } of this.#posted) {
      if (!this.#end.isFinished(slot) || this.#end.transfers.failure(slot) !== 0) continue;
      assert.ok(sentBytes - sentAt >= bytes, `transfer ${slot} is done, its bytes were not sent`);
    }
  }

  #checkLoss(): void {
    const losses = this.#end.eventsOf(EVENT_CHANNEL_DOWN);
    assert.equal(losses.length, 1, 'a channel is lost once');
    const [, , , loss, detail = 0] = losses[0]?.words ?? [];
    if (loss === LOSS_PROTOCOL) assert.equal(typeof FRAME_RULES[detail], 'string', `${detail}`);
  }

  #checkMemory(): void {
    for (let part = 0; part < PARTS; part++) {
      if (this.#mayChange.has(part)) continue;
      const range = [part * PART_BYTES, (part + 1) * PART_BYTES] as const;
      const [now, before] = [this.#memory.uint8.slice(...range), this.#before.slice(...range)];
      assert.deepEqual(now, before, `part ${part} is not open to the peer`);
    }
  }

  destroy(): void {
    this.#pair.destroy();
    destroyFixedMemory(this.#memory);
    destroyFixedMemory(this.#scratch);
  }
}
