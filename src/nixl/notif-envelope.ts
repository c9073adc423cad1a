// Messages of any length over the engine's notifications, which carry 64 KiB. Pure.
//
//   whole      0 u8 = 0 │ 1 message
//   fragment   0 u8 = 1 │ 1 u8 0 │ 2 u16 index │ 4 u32 message id │ 8 u32 total bytes │ 12 part
//
// Integers are little endian. All parts but the last are full, so index and total tell where a part
// belongs and how long it is. Parts may come in any order: channels are independent.

import { TcpxError } from '../base/errors.js';
import { NOTIF_BYTES_MAX } from './notif-codec.js';

/** What one engine notification takes. */
const CARRIER_BYTES = 64 * 1024;
const WHOLE = 0;
const FRAGMENT = 1;
const FRAGMENT_HEAD_BYTES = 12;
const PART_BYTES = CARRIER_BYTES - FRAGMENT_HEAD_BYTES;
/** Messages of one sender that may be incomplete at a time. */
const PARTIAL_MAX = 16;

export function fitsOne(message: Uint8Array): boolean {
  return message.length < CARRIER_BYTES;
}

export function sealWhole(message: Uint8Array): Uint8Array {
  const sealed = new Uint8Array(message.length + 1);
  sealed.set(message, 1);
  return sealed;
}

/** A message as engine notifications: one where it fits. */
export function sealMessage(message: Uint8Array, id: number): Uint8Array[] {
  if (fitsOne(message)) return [sealWhole(message)];
  if (message.length > NOTIF_BYTES_MAX) {
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `notification of ${message.length} bytes: at most ${NOTIF_BYTES_MAX}`,
    );
  }
  const parts: Uint8Array[] = [];
  for (let at = 0; at < message.length; at += PART_BYTES) {
    const part = message.subarray(at, at + PART_BYTES);
    const sealed = new Uint8Array(FRAGMENT_HEAD_BYTES + part.length);
    const view = new DataView(sealed.buffer);
    view.setUint8(0, FRAGMENT);
    view.setUint16(2, parts.length, true);
    view.setUint32(4, id, true);
    view.setUint32(8, message.length, true);
    sealed.set(part, FRAGMENT_HEAD_BYTES);
    parts.push(sealed);
  }
  return parts;
}

interface Partial {
  readonly message: Uint8Array;
  readonly seen: Set<number>;
}

/** Puts one sender's messages together again; throws when the sender breaks a rule. */
export class Unsealer {
  readonly #partials = new Map<number, Partial>();

  /** The message that these bytes complete, if any. */
  take(bytes: Uint8Array): Uint8Array | undefined {
    if (bytes[0] === WHOLE) return bytes.subarray(1);
    if (bytes[0] !== FRAGMENT || bytes.length <= FRAGMENT_HEAD_BYTES || bytes[1] !== 0) {
      throw broken('neither a message nor a part of one');
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const index = view.getUint16(2, true);
    const id = view.getUint32(4, true);
    const part = bytes.subarray(FRAGMENT_HEAD_BYTES);
    const partial = this.#partialOf(id, view.getUint32(8, true));
    const at = index * PART_BYTES;
    if (part.length !== Math.min(PART_BYTES, partial.message.length - at)) {
      throw broken(`part ${index} has ${part.length} bytes`);
    }
    if (partial.seen.has(index)) throw broken(`part ${index} comes twice`);
    partial.seen.add(index);
    partial.message.set(part, at);
    if (partial.seen.size * PART_BYTES < partial.message.length) return undefined;
    this.#partials.delete(id);
    return partial.message;
  }

  #partialOf(id: number, totalBytes: number): Partial {
    const known = this.#partials.get(id);
    if (known !== undefined) {
      if (known.message.length !== totalBytes) throw broken('a message changes its length');
      return known;
    }
    if (totalBytes < CARRIER_BYTES || totalBytes > NOTIF_BYTES_MAX) {
      throw broken(`a message in parts of ${totalBytes} bytes`);
    }
    if (this.#partials.size >= PARTIAL_MAX) throw broken(`over ${PARTIAL_MAX} messages in parts`);
    const partial = { message: new Uint8Array(totalBytes), seen: new Set<number>() };
    this.#partials.set(id, partial);
    return partial;
  }
}

function broken(rule: string): TcpxError {
  return new TcpxError('ERR_WIRE_FRAME', `notification: ${rule}`, { facts: { rule } });
}
