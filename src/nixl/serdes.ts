// NIXL's tagged stream, the shape below every metadata format:
//   stream  = "nixlSerDes|" element*
//   element = tag (ASCII, may be empty) · u64 length · payload · "|"
// Little endian. Readers know which tag comes next; nothing in the stream is self-describing.

import { assert } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';

const SERDES_HEADER = 'nixlSerDes|';
/** Length field and closing bar: what an element costs beyond tag and payload. */
export const ELEMENT_OVERHEAD_BYTES = 9;

const BAR = 0x7c;
const TWO_32 = 2 ** 32;
/** High words at or above this make a number that JavaScript cannot hold exactly. */
const HIGH_WORD_LIMIT = 2 ** 21;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

export function refuseMetadata(rule: string, facts: Record<string, string | number> = {}): never {
  throw new TcpxError('ERR_WIRE_METADATA', `decode metadata: ${rule}`, { facts });
}

export function writeU64(view: DataView, offset: number, value: number): void {
  view.setUint32(offset, value % TWO_32, true);
  view.setUint32(offset + 4, Math.floor(value / TWO_32), true);
}

/** The u64 at `offset`, or undefined where it exceeds 2^53 − 1. */
export function readU64(view: DataView, offset: number): number | undefined {
  const high = view.getUint32(offset + 4, true);
  if (high >= HIGH_WORD_LIMIT) return undefined;
  return high * TWO_32 + view.getUint32(offset, true);
}

export class SerdesWriter {
  #bytes: Uint8Array;
  #view: DataView;
  #used = 0;

  constructor(capacityBytes = 256) {
    this.#bytes = new Uint8Array(capacityBytes);
    this.#view = new DataView(this.#bytes.buffer);
    this.#append(encoder.encode(SERDES_HEADER));
  }

  addText(tag: string, text: string): this {
    return this.addBytes(tag, encoder.encode(text));
  }

  addU64(tag: string, value: number): this {
    assert(Number.isSafeInteger(value) && value >= 0, `${tag}: ${value} fits a u64`);
    this.#beginElement(tag, 8);
    writeU64(this.#view, this.#used, value);
    this.#used += 8;
    return this.#endElement();
  }

  addU32(tag: string, value: number): this {
    this.#beginElement(tag, 4);
    this.#view.setUint32(this.#used, value, true);
    this.#used += 4;
    return this.#endElement();
  }

  addBytes(tag: string, payload: Uint8Array): this {
    this.#beginElement(tag, payload.length);
    this.#append(payload);
    return this.#endElement();
  }

  /** An element whose payload the caller fills: `fill(view, offset)` writes exactly `bytes`. */
  addFilled(tag: string, bytes: number, fill: (view: DataView, offset: number) => void): this {
    this.#beginElement(tag, bytes);
    fill(this.#view, this.#used);
    this.#used += bytes;
    return this.#endElement();
  }

  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#used);
  }

  #beginElement(tag: string, payloadBytes: number): void {
    this.#reserve(tag.length + ELEMENT_OVERHEAD_BYTES + payloadBytes);
    this.#append(encoder.encode(tag));
    writeU64(this.#view, this.#used, payloadBytes);
    this.#used += 8;
  }

  #endElement(): this {
    this.#bytes[this.#used++] = BAR;
    return this;
  }

  #append(bytes: Uint8Array): void {
    this.#bytes.set(bytes, this.#used);
    this.#used += bytes.length;
  }

  #reserve(bytes: number): void {
    const needed = this.#used + bytes;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes);
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

/** Reads elements in order. Payloads are views into the input: copy what outlives it. */
export class SerdesReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #offset = 0;

  constructor(bytes: Uint8Array) {
    // Not a Buffer, even if given one: slice() of a Buffer is a view, of a Uint8Array a copy.
    this.#bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (!this.#hasText(SERDES_HEADER)) refuseMetadata('the stream does not begin with nixlSerDes|');
    this.#offset = SERDES_HEADER.length;
  }

  /** Bytes read so far, counted from the start of the stream. */
  get offset(): number {
    return this.#offset;
  }

  get remainingBytes(): number {
    return this.#bytes.length - this.#offset;
  }

  readBytes(tag: string, minimumBytes: number, maximumBytes: number): Uint8Array {
    const start = this.#offset;
    if (!this.#hasText(tag)) refuseMetadata(`tag "${tag}" expected`, { offset: start });
    const lengthAt = start + tag.length;
    if (this.#bytes.length - lengthAt < 8) {
      refuseMetadata(`"${tag}" ends inside its length`, { offset: start });
    }
    const bytes = readU64(this.#view, lengthAt);
    if (bytes === undefined || bytes < minimumBytes || bytes > maximumBytes) {
      refuseMetadata(`"${tag}" must hold ${minimumBytes} to ${maximumBytes} bytes`, {
        offset: start,
        bytes: bytes ?? 'beyond 2^53',
      });
    }
    const payloadAt = lengthAt + 8;
    // The payload and its closing bar must both lie inside the input.
    if (bytes >= this.#bytes.length - payloadAt) {
      refuseMetadata(`"${tag}" of ${bytes} bytes ends beyond the input`, { offset: start });
    }
    if (this.#bytes[payloadAt + bytes] !== BAR) {
      refuseMetadata(`"${tag}" is not closed by a bar`, { offset: start });
    }
    this.#offset = payloadAt + bytes + 1;
    return this.#bytes.subarray(payloadAt, payloadAt + bytes);
  }

  readText(tag: string, maximumBytes: number): string {
    const bytes = this.readBytes(tag, 1, maximumBytes);
    try {
      return decoder.decode(bytes);
    } catch {
      return refuseMetadata(`"${tag}" is not UTF-8`);
    }
  }

  readU64(tag: string): number {
    const bytes = this.readBytes(tag, 8, 8);
    const value = readU64(new DataView(bytes.buffer, bytes.byteOffset, 8), 0);
    return value ?? refuseMetadata(`"${tag}" exceeds 2^53`);
  }

  readU32(tag: string): number {
    const bytes = this.readBytes(tag, 4, 4);
    return new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
  }

  #hasText(text: string): boolean {
    if (this.#bytes.length - this.#offset < text.length) return false;
    for (let index = 0; index < text.length; index++) {
      if (this.#bytes[this.#offset + index] !== text.charCodeAt(index)) return false;
    }
    return true;
  }
}
