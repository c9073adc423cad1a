// Reading and writing the bodies of control frames: bounded, little-endian, strings with a length.

import { assert } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import { hasUnseen, withoutUnseen } from '../base/foreign-text.js';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class ByteWriter {
  readonly #view: DataView;
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(capacityBytes: number) {
    this.#bytes = new Uint8Array(capacityBytes);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** Begins anew, in the same memory. */
  restart(): this {
    this.#at = 0;
    return this;
  }

  /** Writes over what was written before. */
  uint32At(at: number, value: number): this {
    assert(at + 4 <= this.#at, 'a word that was written is changed');
    this.#view.setUint32(at, value, true);
    return this;
  }

  get bytesWritten(): number {
    return this.#at;
  }

  uint16(value: number): this {
    this.#view.setUint16(this.#at, value, true);
    this.#at += 2;
    return this;
  }

  uint32(value: number): this {
    this.#view.setUint32(this.#at, value, true);
    this.#at += 4;
    return this;
  }

  bytes(value: Uint8Array): this {
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
    return this;
  }

  /** Control and invisible characters become spaces: a decoder refuses them. */
  text(value: string): this {
    const encoded = encoder.encode(withoutUnseen(value));
    return this.uint16(encoded.length).bytes(encoded);
  }

  /** A copy. */
  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#at);
  }
}

export class ByteReader {
  readonly #view: DataView;
  readonly #bytes: Uint8Array;
  readonly #what: string;
  #at = 0;

  constructor(bytes: Uint8Array, what: string) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#what = what;
  }

  uint16(): number {
    return this.#view.getUint16(this.#take(2), true);
  }

  uint32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  /** A copy. */
  bytes(count: number): Uint8Array {
    const at = this.#take(count);
    return this.#bytes.slice(at, at + count);
  }

  text(bytesMax: number): string {
    const count = this.uint16();
    if (count > bytesMax) throw this.#broken(`a text of ${count} bytes, at most ${bytesMax}`);
    const text = this.#decode(count);
    // Texts reach logs and terminals, where such characters are commands.
    if (hasUnseen(text)) throw this.#broken('a text with control characters or invisible ones');
    return text;
  }

  #decode(count: number): string {
    try {
      const at = this.#take(count);
      return decoder.decode(this.#bytes.subarray(at, at + count));
    } catch (error) {
      if (error instanceof TcpxError) throw error;
      throw this.#broken('a text that is not UTF-8');
    }
  }

  /** Everything must have been read: trailing bytes are a violation. */
  finish(): void {
    if (this.#at !== this.#bytes.length) {
      throw this.#broken(`${this.#bytes.length - this.#at} bytes behind the last field`);
    }
  }

  #take(count: number): number {
    const at = this.#at;
    if (at + count > this.#bytes.length)
      throw this.#broken(`the body ends at ${this.#bytes.length}`);
    this.#at = at + count;
    return at;
  }

  #broken(rule: string): TcpxError {
    return new TcpxError('ERR_WIRE_FRAME', `${this.#what}: ${rule}`, {
      facts: { frame: this.#what, offset: this.#at, rule },
    });
  }
}
