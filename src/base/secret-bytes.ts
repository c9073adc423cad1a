// Bytes that must not be seen: a shared secret, the key of a session. Nothing that prints objects
// (a log, util.inspect, JSON, string templates) shows them; who needs them says so.

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

/**
 * Readable by their names; nothing that prints or copies the record comes across them, nor an
 * inspection that asks for hidden properties.
 */
export function hideProperties<T extends object>(record: T, names: readonly string[]): T {
  for (const name of names) Object.defineProperty(record, name, { enumerable: false });
  return Object.defineProperty(record, inspect.custom, { value: () => ({ ...record }) });
}
