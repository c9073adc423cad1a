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

/** Longer than what a handshake says; few frames are. */
const USUAL_BYTES = 256;

export class ControlReader {
  #buffer = new Uint8Array(USUAL_BYTES);
  #bufferedBytes = 0;
  /** Length of the frame that is being received; its head alone until that is known. */
  #frameBytes = CONTROL_HEAD_BYTES;

  get bytesWanted(): number {
    return this.#frameBytes - this.#bufferedBytes;
  }

  /** Whether a part of the frame that is due has come. */
  get isAmidFrame(): boolean {
    return this.#bufferedBytes > 0;
  }

  /** The message, once its frame is whole. Throws an ERR_WIRE_… for bytes that cannot be one. */
  push(bytes: Uint8Array): ControlMessage | undefined {
    assert(bytes.length <= this.bytesWanted, 'no more bytes come than the frame that is due has');
    this.#buffer.set(bytes, this.#bufferedBytes);
    this.#bufferedBytes += bytes.length;
    const head = decodeControlHead(this.#buffer.subarray(0, this.#bufferedBytes));
    if (head === undefined) return undefined;
    this.#frameBytes = CONTROL_HEAD_BYTES + head.bodyBytes;
    if (this.#bufferedBytes < this.#frameBytes) {
      this.#makeRoom();
      return undefined;
    }
    const body = this.#buffer.slice(CONTROL_HEAD_BYTES, this.#frameBytes);
    this.#bufferedBytes = 0;
    this.#frameBytes = CONTROL_HEAD_BYTES;
    return decodeControlBody(head.kind, body);
  }

  // The head has told the length, which is bounded.
  #makeRoom(): void {
    if (this.#frameBytes <= this.#buffer.length) return;
    const longer = new Uint8Array(CONTROL_HEAD_BYTES + CONTROL_BODY_BYTES_MAX);
    longer.set(this.#buffer.subarray(0, this.#bufferedBytes));
    this.#buffer = longer;
  }
}
