// Frames out of a stream of bytes. Memory grows with what has arrived, never with what a head
// claims.

import { decodeMatchHead, MATCH_HEAD_BYTES, type MatchFrame } from '../../wire/match-frame.js';

/** More parts of an unfinished frame are put together: each has a price beside its bytes. */
const PARTS_MAX = 1024;

export class FrameAssembly {
  readonly #parts: Uint8Array[] = [];
  #partsBytes = 0;
  #wantedBytes = MATCH_HEAD_BYTES;

  /** Takes bytes, which are the assembly's from here on; hands on every frame that is whole. */
  take(bytes: Uint8Array, onFrame: (frame: MatchFrame) => boolean): void {
    this.#parts.push(bytes);
    this.#partsBytes += bytes.length;
    if (this.#partsBytes < this.#wantedBytes) {
      if (this.#parts.length >= PARTS_MAX) this.#join();
      return;
    }
    const whole = this.#join();
    this.#parts.length = 0;
    const rest = this.#takeFrames(whole, onFrame);
    this.#partsBytes = rest.length;
    if (rest.length > 0) this.#parts.push(rest);
  }

  #join(): Uint8Array {
    const [only] = this.#parts;
    if (this.#parts.length === 1 && only !== undefined) return only;
    const whole = new Uint8Array(this.#partsBytes);
    let at = 0;
    for (const part of this.#parts) {
      whole.set(part, at);
      at += part.length;
    }
    this.#parts.splice(0, this.#parts.length, whole);
    return whole;
  }

  /** What is left over, and less than a frame. */
  #takeFrames(bytes: Uint8Array, onFrame: (frame: MatchFrame) => boolean): Uint8Array {
    let at = 0;
    this.#wantedBytes = MATCH_HEAD_BYTES;
    while (bytes.length - at >= MATCH_HEAD_BYTES) {
      const head = decodeMatchHead(bytes.subarray(at));
      const end = at + MATCH_HEAD_BYTES + head.bodyBytes;
      this.#wantedBytes = end > bytes.length ? end - at : MATCH_HEAD_BYTES;
      if (end > bytes.length) break;
      const body = bytes.subarray(at + MATCH_HEAD_BYTES, end);
      at = end;
      if (!onFrame({ ...head, body })) break;
    }
    return bytes.subarray(at);
  }
}
