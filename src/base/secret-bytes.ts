// Bytes that must not be seen: a shared secret, the key of a session. Nothing that prints objects
// (console.log, util.inspect, JSON, string templates) shows them; who needs them says so.

import { inspect } from 'node:util';

const SHOWN = '[hidden]';

export class SecretBytes {
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get length(): number {
    return this.#bytes.length;
  }

  /** The bytes themselves; never into a log or an error. */
  reveal(): Uint8Array {
    return this.#bytes;
  }

  toString(): string {
    return SHOWN;
  }

  toJSON(): string {
    return SHOWN;
  }

  [inspect.custom](): string {
    return SHOWN;
  }
}
