// Names of regions, by which peers of a session ask for them: whoever has proved the secret may ask
// for any name, and gets what a descriptor gives.

import { TcpxError } from '../base/errors.js';
import { hasUnseen } from '../base/foreign-text.js';
import type { Region } from '../memory/region.js';
import { ControlKind, type Found, type Lookup, NAME_BYTES_MAX } from '../wire/control-frame.js';
import { formatRegion } from './region-text.js';

type FoundMessage = { readonly kind: typeof ControlKind.Found } & Found;

export class RegionNames {
  readonly #byName = new Map<string, Region>();

  /** Before the region is made: a name that cannot be given leaves nothing behind. */
  assertFree(name: string): void {
    const bytes = Buffer.byteLength(name);
    if (bytes === 0 || bytes > NAME_BYTES_MAX || hasUnseen(name)) {
      throw new TcpxError(
        'ERR_USAGE_ARGUMENT',
        `register: a name has 1 to ${NAME_BYTES_MAX} bytes and no characters that do not show`,
      );
    }
    if (this.#byName.has(name)) {
      throw new TcpxError(
        'ERR_USAGE_STATE',
        `register: the name ${JSON.stringify(name)} belongs to region ` +
          `${this.#byName.get(name)?.id}; deregister it first`,
      );
    }
  }

  add(name: string, region: Region): void {
    this.assertFree(name);
    this.#byName.set(name, region);
  }

  remove(region: Region): void {
    for (const [name, named] of this.#byName) if (named === region) this.#byName.delete(name);
  }

  /** The answer for a peer. */
  answer({ lookupId, name }: Lookup): FoundMessage {
    const descriptor = this.#byName.get(name)?.descriptor;
    const kind = ControlKind.Found;
    if (descriptor === undefined) return { kind, lookupId, bytes: 0, region: '' };
    return { kind, lookupId, bytes: descriptor.bytes, region: formatRegion(descriptor) };
  }
}
