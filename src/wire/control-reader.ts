// Bytes of a connection become control messages. Never asks for more than the frame that is due:
// what follows a handshake on a data connection is for the lane that will own it. Pure.

import { assert } from '../base/assert.js';
import {
  CONTROL_BODY_BYTES_MAX,
  CONTROL_HEAD_BYTES,
  type ControlMessage,
  decodeControlBody,
  decodeControlHead,
} from './control-frame.js';

export class ControlReader {
  readonly #buffer = new Uint8Array(CONTROL_HEAD_BYTES + CONTROL_BODY_BYTES_MAX);
  #bufferedBytes = 0;
  /** Length of the frame that is being received; its head alone until that is known. */
  #frameBytes = CONTROL_HEAD_BYTES;

  get bytesWanted(): number {
    return this.#frameBytes - this.#bufferedBytes;
  }

  /** The message, once its frame is whole. Throws an ERR_WIRE_… for bytes that cannot be one. */
  push(bytes: Uint8Array): ControlMessage | undefined {
    assert(bytes.length <= this.bytesWanted, 'no more bytes come than the frame that is due has');
    this.#buffer.set(bytes, this.#bufferedBytes);
    this.#bufferedBytes += bytes.length;
    const head = decodeControlHead(this.#buffer.subarray(0, this.#bufferedBytes));
    if (head === undefined) return undefined;
    this.#frameBytes = CONTROL_HEAD_BYTES + head.bodyBytes;
    if (this.#bufferedBytes < this.#frameBytes) return undefined;
    const body = this.#buffer.slice(CONTROL_HEAD_BYTES, this.#frameBytes);
    this.#bufferedBytes = 0;
    this.#frameBytes = CONTROL_HEAD_BYTES;
    return decodeControlBody(head.kind, body);
  }
}
