// Messages of a client's socket, cut from what arrives in pieces of any size. Pure.

import { TcpxError } from '../base/errors.js';
import { MESSAGE_HEAD, MESSAGE_KINDS } from '../base/service-layout.js';

export interface Message {
  readonly kind: number;
  readonly sequence: number;
  readonly payload: Uint8Array;
}

const HEAD = MESSAGE_HEAD.fields;
const KIND_MAX = Math.max(...Object.values(MESSAGE_KINDS));

export class MessageStream {
  /** Longest message, head included. */
  readonly #bytesMax: number;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get waitingBytes(): number {
    return this.#bytes;
  }

  push(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.#pieces.push(piece);
    this.#bytes += piece.length;
  }

  /** The next message that is whole, or undefined; throws ERR_WIRE_FRAME for a head that lies. */
  take(): Message | undefined {
    if (this.#bytes < MESSAGE_HEAD.bytes) return undefined;
    const head = this.#front(MESSAGE_HEAD.bytes);
    const view = new DataView(head.buffer, head.byteOffset, head.length);
    const bytes = view.getInt32(HEAD.bytes.offset, true);
    const kind = view.getInt32(HEAD.kind.offset, true);
    if (bytes < MESSAGE_HEAD.bytes || bytes > this.#bytesMax) {
      throw broken(`a message of ${bytes} bytes, at most ${this.#bytesMax}`);
    }
    if (kind < 1 || kind > KIND_MAX) throw broken(`a message of kind ${kind}`);
    if (this.#bytes < bytes) return undefined;
    const whole = this.#front(bytes);
    this.#drop(bytes);
    const sequence = view.getInt32(HEAD.sequence.offset, true);
    return { kind, sequence, payload: whole.slice(MESSAGE_HEAD.bytes, bytes) };
  }

  // Pieces are joined once per message that they hold, not once per piece.
  #front(bytes: number): Uint8Array {
    const [first] = this.#pieces;
    if (first !== undefined && first.length >= bytes) return first;
    const joined = new Uint8Array(this.#bytes);
    let at = 0;
    for (const piece of this.#pieces) {
      joined.set(piece, at);
      at += piece.length;
    }
    this.#pieces = [joined];
    return joined;
  }

  #drop(bytes: number): void {
    const [first] = this.#pieces;
    if (first === undefined) return;
    this.#pieces[0] = first.subarray(bytes);
    if (this.#pieces[0].length === 0) this.#pieces.shift();
    this.#bytes -= bytes;
  }
}

function broken(rule: string): TcpxError {
  return new TcpxError('ERR_WIRE_FRAME', `socket: ${rule}`, { facts: { rule } });
}
