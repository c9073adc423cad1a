// Memory of a p2p session by number. Numbers start at 1 and are never used again, so that one kept
// too long names nothing instead of somebody else's memory.

import { checkWhole } from '../base/argument.js';
import { TcpxError } from '../base/errors.js';
import type { Region } from '../memory/region.js';

/** What a registration may be used for; a receive buffer is never a source by mistake. */
export type MemoryUse = 'send' | 'receive' | 'both';

/** Memory that a session of posted sends and receives knows by number. */
export interface MemoryHandle {
  /** Its number. */
  readonly id: number;
  /** Its length. */
  readonly bytes: number;
  /** What it may be used for. */
  readonly use: MemoryUse;
  /** The region behind it. */
  readonly region: Region;
}

export class MemoryTable {
  readonly #handles = new Map<number, MemoryHandle>();
  #lastId = 0;

  get size(): number {
    return this.#handles.size;
  }

  add(region: Region, use: MemoryUse): number {
    const id = ++this.#lastId;
    this.#handles.set(id, { id, bytes: region.bytes, use, region });
    return id;
  }

  get(id: number): MemoryHandle {
    checkWhole('memory id', id);
    const handle = this.#handles.get(id);
    if (handle !== undefined) return handle;
    throw new TcpxError('ERR_USAGE_NOT_FOUND', `memory ${id} is not registered here`, {
      facts: { memId: id },
    });
  }

  remove(id: number): void {
    this.#handles.delete(id);
  }

  /** The registration, if the range lies in it and it may be used so. */
  range(id: number, offset: number, bytes: number, use: 'send' | 'receive'): MemoryHandle {
    const handle = this.get(id);
    if (handle.use !== 'both' && handle.use !== use) {
      throw new TcpxError(
        'ERR_USAGE_ARGUMENT',
        `${use}: memory ${id} was registered to ${handle.use}`,
      );
    }
    checkWhole(`${use}: offset`, offset);
    checkWhole(`${use}: bytes`, bytes, 1);
    if (offset + bytes <= handle.bytes) return handle;
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `${use}: offset ${offset} + ${bytes} bytes is not inside memory ${id} of ${handle.bytes}`,
      { facts: { memId: id, offset, bytes } },
    );
  }
}
