// One direction of a virtual connection. Bytes lie in a ring and arrive after a delay; while the
// direction is frozen nothing arrives, and what was on its way comes when it thaws.

import { copyMemory, createFixedMemory, type FixedMemory } from '../../../src/os/fixed-memory.js';
import type { SimTime } from './sim-time.js';

export const PIPE_BYTES_MAX = 16 * 1024;
/** Rings are kept for the next run: mapping memory costs more than moving the bytes. */
const spare: FixedMemory[] = [];

export interface PipeRules {
  readonly bytes: number;
  delayUs(): number;
  /** From when on the path between the two machines carries anything. */
  openUs(): number;
  /** Bytes per second that the sender lets go, or nothing but what it has to. */
  rate(): number;
}

export class SimPipe {
  readonly #time: SimTime;
  readonly #rules: PipeRules;
  readonly #memory: FixedMemory;
  readonly #segments: { readonly end: number; readonly atUs: number }[] = [];
  #lastUs = 0;
  #arrived = 0;
  /** Where the stream would be at full rate, and since when it is held back from there. */
  #due = 0;
  #heldUs = 0;
  #heldAt = 0;
  sent = 0;
  received = 0;
  /** Nothing arrives before this time. */
  frozenUs = 0;
  /** The writer has closed: the end comes behind the last byte. */
  isEnded = false;
  /** A reset has arrived at the reader: its calls fail, at once or behind what had come. */
  isReset = false;
  isLost = false;

  constructor(time: SimTime, rules: PipeRules) {
    this.#time = time;
    this.#rules = rules;
    this.#memory = spare.pop() ?? createFixedMemory(PIPE_BYTES_MAX);
  }

  /** When something that is sent now, or was sent before, can arrive at the earliest. */
  get openUs(): number {
    return Math.max(this.frozenUs, this.#rules.openUs());
  }

  get isFrozen(): boolean {
    return this.openUs > this.#time.nowUs;
  }

  get roomBytes(): number {
    return this.#rules.bytes - (this.sent - this.received);
  }

  /** When a packet sent now arrives, behind all others. */
  arrivalUs(): number {
    this.#lastUs = Math.max(this.#lastUs, this.#time.nowUs + this.#rules.delayUs());
    return this.#lastUs;
  }

  push(addr: number, bytes: number): void {
    this.#span(this.sent, bytes, (at, offset, count) => {
      copyMemory(this.#memory.addr + at, addr + offset, count);
    });
    this.sent += bytes;
  }

  /** Inverts this bit of the byte so many before the end of what was pushed. */
  damage(back: number, bit: number): void {
    const at = (this.sent - back) % PIPE_BYTES_MAX;
    this.#memory.uint8[at] = (this.#memory.uint8[at] ?? 0) ^ (1 << bit);
  }

  /** What was pushed leaves together. */
  flush(): void {
    this.#segments.push({ end: this.sent, atUs: this.arrivalUs() });
  }

  pull(addr: number, bytes: number): void {
    this.#span(this.received, bytes, (at, offset, count) => {
      copyMemory(addr + offset, this.#memory.addr + at, count);
    });
    this.received += bytes;
  }

  #span(
    position: number,
    bytes: number,
    move: (at: number, offset: number, count: number) => void,
  ): void {
    const at = position % PIPE_BYTES_MAX;
    const first = Math.min(bytes, PIPE_BYTES_MAX - at);
    if (first > 0) move(at, 0, first);
    if (bytes > first) move(0, first, bytes - first);
  }

  /** Stream position up to which the reader's kernel has bytes. */
  get arrived(): number {
    if (this.isFrozen) return this.#arrived;
    const { nowUs } = this.#time;
    for (let head = this.#segments[0]; head !== undefined; head = this.#segments[0]) {
      if (head.atUs > nowUs) break;
      // Nothing was held back: a slow sender begins to count now.
      if (this.#arrived === this.#due) this.#hold();
      this.#due = head.end;
      this.#segments.shift();
    }
    const rate = this.#rules.rate();
    if (rate === Number.POSITIVE_INFINITY) {
      this.#arrived = this.#due;
    } else {
      const passed = Math.floor(((nowUs - this.#heldUs) * rate) / 1e6);
      this.#arrived = Math.max(this.#arrived, Math.min(this.#due, this.#heldAt + passed));
    }
    return this.#arrived;
  }

  #hold(): void {
    this.#heldUs = this.#time.nowUs;
    this.#heldAt = this.#arrived;
  }

  get hasEnded(): boolean {
    return this.isEnded && this.arrived === this.sent && this.received === this.sent;
  }

  /** When the next bytes arrive. */
  get nextUs(): number {
    const { arrived } = this;
    if (arrived === this.sent) return Number.POSITIVE_INFINITY;
    // Held back: looked at again whenever time passes.
    if (arrived < this.#due) return Number.POSITIVE_INFINITY;
    const head = this.#segments[0];
    return head === undefined ? Number.POSITIVE_INFINITY : Math.max(head.atUs, this.openUs);
  }

  /** The writer aborts: of what is on its way only the first `keep` packets are. */
  dropTail(keep: number): void {
    this.#segments.splice(keep);
    this.sent = Math.max(this.#segments.at(-1)?.end ?? 0, this.#due, this.received);
  }

  get packets(): number {
    return this.#segments.length;
  }

  destroy(): void {
    spare.push(this.#memory);
  }
}
