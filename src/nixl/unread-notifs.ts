// Notifications that were collected while somebody looked for another one, as NIXL's Python API
// keeps them. Peers decide how much comes: beyond the limit the busiest sender loses its oldest.

import { assert } from '../base/assert.js';
import { LimitedLog } from '../base/limited-log.js';
import type { Log } from '../base/log.js';
import { MESSAGE_COST_BYTES } from './notif-envelope.js';
import type { NotifMap } from './notifier.js';

export class UnreadNotifs {
  readonly #bySender: NotifMap = new Map();
  readonly #bytesMax: number;
  readonly #log: LimitedLog;
  /** At least what is held: the program may take messages out, which nobody counts. */
  #bytesAtMost = 0;

  constructor(bytesMax: number, log: Log) {
    this.#bytesMax = bytesMax;
    this.#log = new LimitedLog(log);
  }

  /** All that is unread, which the caller may take from. */
  add(arrived: NotifMap): NotifMap {
    for (const [sender, messages] of arrived) {
      const known = this.#bySender.get(sender);
      if (known === undefined) this.#bySender.set(sender, messages);
      else known.push(...messages);
      this.#bytesAtMost += costOf(messages);
    }
    if (this.#bytesAtMost > this.#bytesMax) this.#trim();
    return this.#bySender;
  }

  /** Takes out the first message of the sender that has the tag; whether there was one. */
  take(sender: string, tag: Uint8Array, isPrefix: boolean): boolean {
    const messages = this.#bySender.get(sender) ?? [];
    const found = messages.findIndex((message) => hasTag(message, tag, isPrefix));
    if (found < 0) return false;
    messages.splice(found, 1);
    if (messages.length === 0) this.#bySender.delete(sender);
    return true;
  }

  #trim(): void {
    const sizes = new Map<string, number>();
    for (const [sender, messages] of this.#bySender) sizes.set(sender, costOf(messages));
    this.#bytesAtMost = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
    while (this.#bytesAtMost > this.#bytesMax) {
      const [sender, bytes] = busiest(sizes);
      const dropped = costOf(this.#bySender.get(sender)?.splice(0, 1) ?? []);
      assert(dropped > 0, `${sender} has messages`);
      sizes.set(sender, bytes - dropped);
      this.#bytesAtMost -= dropped;
      const reason = `nixl.inboxBytesMax: ${this.#bytesMax} bytes wait unread, most are its own`;
      this.#log.warn('notification dropped', { sender, reason });
    }
  }
}

function hasTag(message: Uint8Array, tag: Uint8Array, isPrefix: boolean): boolean {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.length);
  return isPrefix ? bytes.subarray(0, tag.length).equals(tag) : bytes.indexOf(tag) >= 0;
}

function costOf(messages: readonly Uint8Array[]): number {
  return messages.reduce((sum, message) => sum + message.length + MESSAGE_COST_BYTES, 0);
}

function busiest(sizes: ReadonlyMap<string, number>): [string, number] {
  let most: [string, number] = ['', 0];
  for (const entry of sizes) if (entry[1] > most[1]) most = entry;
  return most;
}
