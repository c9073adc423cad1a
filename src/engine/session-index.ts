// Sessions by index and by number, and what the reads of their peers may take. No step looks at all
// of them: an engine may have thousands.

import { assert } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import { type ReadsTerms, readsBytes } from './reads-budget.js';

export interface IndexedSession {
  readonly facts: ReadsTerms & {
    readonly index: number;
    readonly id: number;
    readonly role: 'client' | 'server';
  };
}

export class SessionIndex<S extends IndexedSession> {
  readonly #sessionsMax: number;
  readonly #byIndex: (S | undefined)[] = [];
  /** Numbers are this engine's own choice only where it is the server. */
  readonly #served = new Map<number, S>();
  /** No lower index is free. */
  #lowestFree = 0;
  #readsBytes = 0;
  #count = 0;

  constructor(sessionsMax: number) {
    this.#sessionsMax = sessionsMax;
  }

  /** What the reads of all peers could take here. */
  get readsBytes(): number {
    return this.#readsBytes;
  }

  get count(): number {
    return this.#count;
  }

  list(): S[] {
    return this.#byIndex.filter((session) => session !== undefined);
  }

  at(index: number): S | undefined {
    return this.#byIndex[index];
  }

  served(id: number): S | undefined {
    return this.#served.get(id);
  }

  freeIndex(): number {
    while (this.#byIndex[this.#lowestFree] !== undefined) this.#lowestFree++;
    if (this.#lowestFree < this.#sessionsMax) return this.#lowestFree;
    throw new TcpxError(
      'ERR_WIRE_LIMIT',
      `${this.#sessionsMax} sessions are open, session.peersMax allows no more`,
    );
  }

  add(session: S): void {
    const { index, id, role } = session.facts;
    assert(this.#byIndex[index] === undefined, 'a session takes a free index');
    this.#byIndex[index] = session;
    if (role === 'server') this.#served.set(id, session);
    this.#readsBytes += readsBytes(session.facts);
    this.#count++;
  }

  remove(session: S): void {
    const { index, id, role } = session.facts;
    assert(this.#byIndex[index] === session, 'a session leaves its own index, once');
    this.#byIndex[index] = undefined;
    if (role === 'server') this.#served.delete(id);
    this.#readsBytes -= readsBytes(session.facts);
    this.#count--;
    this.#lowestFree = Math.min(this.#lowestFree, index);
  }
}
