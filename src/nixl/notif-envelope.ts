// Messages of any length over the engine's notifications, which carry 64 KiB and, on several
// channels, overtake each other. Pure.
//
//   whole      0 u8 = 0 │ 1 message
//   ordered    0 u8 = 1 │ 1 u32 number │ 5 message
//   part       0 u8 = 2 │ 1 u32 number │ 5 u8 1 if ordered │ 6 u16 index │ 8 u32 total │ 12 part
//
// Integers are little endian. Messages that travel with a transfer have no order. Those of genNotif
// are numbered from 1 per session and delivered in that order. All parts but the last are full, so
// index and total tell where a part belongs and how long it is.

import { TcpxError } from '../base/errors.js';
import { NOTIF_BYTES_MAX } from './notif-codec.js';

/** What one engine notification takes. */
const CARRIER_BYTES = 64 * 1024;
const WHOLE = 0;
const ORDERED = 1;
const PART = 2;
const ORDERED_HEAD_BYTES = 5;
const PART_HEAD_BYTES = 12;
const PART_BYTES = CARRIER_BYTES - PART_HEAD_BYTES;
/** What one message costs here besides its bytes: objects, and its places in the tables. */
export const MESSAGE_COST_BYTES = 256;

/** Whether a message can travel with its transfer. */
export function fitsOne(message: Uint8Array): boolean {
  return message.length < CARRIER_BYTES;
}

export function sealWhole(message: Uint8Array): Uint8Array {
  const sealed = new Uint8Array(message.length + 1);
  sealed.set(message, 1);
  return sealed;
}

export function checkMessageBytes(message: Uint8Array): void {
  if (message.length <= NOTIF_BYTES_MAX) return;
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `notification of ${message.length} bytes: at most ${NOTIF_BYTES_MAX}`,
  );
}

/** A message of genNotif, the `number`-th of its session, as engine notifications. */
export function sealOrdered(message: Uint8Array, number: number): Uint8Array[] {
  if (message.length + ORDERED_HEAD_BYTES > CARRIER_BYTES) return sealParts(message, number, true);
  const sealed = new Uint8Array(ORDERED_HEAD_BYTES + message.length);
  sealed[0] = ORDERED;
  new DataView(sealed.buffer).setUint32(1, number, true);
  sealed.set(message, ORDERED_HEAD_BYTES);
  return [sealed];
}

export function sealParts(message: Uint8Array, number: number, isOrdered: boolean): Uint8Array[] {
  checkMessageBytes(message);
  const parts: Uint8Array[] = [];
  for (let at = 0; at < message.length; at += PART_BYTES) {
    const part = message.subarray(at, at + PART_BYTES);
    const sealed = new Uint8Array(PART_HEAD_BYTES + part.length);
    const view = new DataView(sealed.buffer);
    view.setUint8(0, PART);
    view.setUint32(1, number, true);
    view.setUint8(5, isOrdered ? 1 : 0);
    view.setUint16(6, parts.length, true);
    view.setUint32(8, message.length, true);
    sealed.set(part, PART_HEAD_BYTES);
    parts.push(sealed);
  }
  return parts;
}

/** What has come of a message; its claimed length costs nothing before its bytes are there. */
interface Incomplete {
  readonly totalBytes: number;
  readonly parts: Map<number, Uint8Array>;
}

/** What may wait of one sender. */
export interface UnsealLimits {
  /** Of beginnings and early messages together. */
  readonly waitingBytesMax: number;
  /** Messages that are incomplete. */
  readonly partialsMax: number;
  /** Messages that wait for an earlier one. */
  readonly earlyMax: number;
}

/** One session's messages, whole and in order again; throws when the sender breaks a rule. */
export class Unsealer {
  readonly #deliver: (message: Uint8Array) => void;
  readonly #incomplete = new Map<string, Incomplete>();
  /** Ordered messages that came before their turn, by number. */
  readonly #early = new Map<number, Uint8Array>();
  readonly #limits: UnsealLimits;
  #nextNumber = 1;
  #waitingBytes = 0;

  constructor(deliver: (message: Uint8Array) => void, limits: UnsealLimits) {
    this.#deliver = deliver;
    this.#limits = limits;
  }

  /** What is held of messages that wait for their turn or their rest. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** The session is over: what waits never gets its turn. */
  clear(): void {
    this.#incomplete.clear();
    this.#early.clear();
    this.#waitingBytes = 0;
  }

  take(bytes: Uint8Array): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    if (bytes[0] === WHOLE) {
      this.#deliver(bytes.subarray(1));
    } else if (bytes[0] === ORDERED && bytes.length >= ORDERED_HEAD_BYTES) {
      this.#onOrdered(view.getUint32(1, true), bytes.subarray(ORDERED_HEAD_BYTES));
    } else if (bytes[0] === PART && bytes.length > PART_HEAD_BYTES && view.getUint8(5) <= 1) {
      this.#onPart(view, bytes.subarray(PART_HEAD_BYTES));
    } else {
      throw broken('neither a message nor a part of one');
    }
  }

  #onOrdered(number: number, message: Uint8Array): void {
    if (number < this.#nextNumber || this.#early.has(number)) {
      throw broken(`message ${number} comes twice`);
    }
    const { earlyMax } = this.#limits;
    if (this.#early.size >= earlyMax) {
      throw broken(`more messages before their turn than nixl.earlyMax allows, ${earlyMax}`);
    }
    if (number !== this.#nextNumber) {
      this.#wait(message.length);
      this.#early.set(number, message);
      return;
    }
    this.#nextNumber++;
    this.#deliver(message);
    this.#deliverEarly();
  }

  #deliverEarly(): void {
    for (;;) {
      const next = this.#early.get(this.#nextNumber);
      if (next === undefined) return;
      this.#early.delete(this.#nextNumber++);
      this.#waitingBytes -= next.length + MESSAGE_COST_BYTES;
      this.#deliver(next);
    }
  }

  #wait(bytes: number): void {
    const cost = bytes + MESSAGE_COST_BYTES;
    const { waitingBytesMax } = this.#limits;
    if (this.#waitingBytes + cost > waitingBytesMax) {
      const limit = `nixl.inboxPeerBytesMax allows ${waitingBytesMax}`;
      throw broken(`too many bytes wait for their turn or their rest; ${limit}`);
    }
    this.#waitingBytes += cost;
  }

  #onPart(view: DataView, part: Uint8Array): void {
    const number = view.getUint32(1, true);
    const isOrdered = view.getUint8(5) === 1;
    const index = view.getUint16(6, true);
    const name = `${isOrdered ? 'o' : 'u'}${number}`;
    const { totalBytes, parts } = this.#incompleteOf(name, view.getUint32(8, true));
    if (part.length !== Math.min(PART_BYTES, totalBytes - index * PART_BYTES)) {
      throw broken(`part ${index} has ${part.length} bytes`);
    }
    if (parts.has(index)) throw broken(`part ${index} comes twice`);
    this.#wait(part.length);
    parts.set(index, part);
    if (parts.size * PART_BYTES < totalBytes) return;
    this.#incomplete.delete(name);
    this.#waitingBytes -= totalBytes + parts.size * MESSAGE_COST_BYTES;
    const message = join(parts, totalBytes);
    if (isOrdered) this.#onOrdered(number, message);
    else this.#deliver(message);
  }

  #incompleteOf(name: string, totalBytes: number): Incomplete {
    const known = this.#incomplete.get(name);
    if (known !== undefined) {
      if (known.totalBytes !== totalBytes) throw broken('a message changes its length');
      return known;
    }
    if (totalBytes > NOTIF_BYTES_MAX) throw broken(`a message of ${totalBytes} bytes`);
    const { partialsMax } = this.#limits;
    if (this.#incomplete.size >= partialsMax) {
      throw broken(`more messages in parts than nixl.partialsMax allows, ${partialsMax}`);
    }
    const incomplete = { totalBytes, parts: new Map<number, Uint8Array>() };
    this.#incomplete.set(name, incomplete);
    return incomplete;
  }
}

function join(parts: ReadonlyMap<number, Uint8Array>, totalBytes: number): Uint8Array {
  const message = new Uint8Array(totalBytes);
  for (const [index, part] of parts) message.set(part, index * PART_BYTES);
  return message;
}

function broken(rule: string): TcpxError {
  return new TcpxError('ERR_WIRE_FRAME', `notification: ${rule}`, { facts: { rule } });
}
