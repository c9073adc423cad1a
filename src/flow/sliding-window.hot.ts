// Windows of one channel as counters that only rise. Exceeding one is our own mistake and an
// assertion: the plugin answers it with an error that looks like any other.

import { assert } from '../base/assert.js';

/** Requests that one comm of the plugin holds, whatever the window. */
export const REQUEST_POOL = 16;

/** posted ≥ done ≥ unpacked ≥ consumed; a receive keeps its place in the pool until consumed. */
export class ReceiveWindow {
  readonly limit: number;
  posted = 0;
  done = 0;
  unpacked = 0;
  consumed = 0;
  highWater = 0;

  constructor(limit: number) {
    assert(limit >= 1 && limit <= REQUEST_POOL, 'a receive window is 1 to 16');
    this.limit = limit;
  }

  get outstanding(): number {
    return this.posted - this.consumed;
  }

  get hasRoom(): boolean {
    return this.posted - this.consumed < this.limit;
  }

  onPosted(): void {
    assert(this.hasRoom, 'receive window has room');
    this.posted++;
    if (this.outstanding > this.highWater) this.highWater = this.outstanding;
  }

  onDone(): void {
    assert(this.done < this.posted, 'done after posted');
    this.done++;
  }

  onUnpacked(): void {
    assert(this.unpacked < this.done, 'unpacked after done');
    this.unpacked++;
  }

  onConsumed(): void {
    assert(this.consumed < this.unpacked, 'consumed after unpacked');
    this.consumed++;
  }
}

/** A send leaves its place when it is done; there is nothing to consume. */
export class SendWindow {
  readonly limit: number;
  posted = 0;
  done = 0;
  highWater = 0;

  constructor(limit: number) {
    assert(limit >= 1 && limit <= REQUEST_POOL, 'a send window is 1 to 16');
    this.limit = limit;
  }

  get outstanding(): number {
    return this.posted - this.done;
  }

  get hasRoom(): boolean {
    return this.posted - this.done < this.limit;
  }

  onPosted(): void {
    assert(this.hasRoom, 'send window has room');
    this.posted++;
    if (this.outstanding > this.highWater) this.highWater = this.outstanding;
  }

  onDone(): void {
    assert(this.done < this.posted, 'done after posted');
    this.done++;
  }
}
