// How the bytes of a session's lanes go: over TCP, or through memory that both ends share. The
// handshake says whether it is tried or demanded, the first channel settles it, and the others and
// every later connection follow it.

import { TcpxError } from '../base/errors.js';
import type { DataPath } from '../provider/receipt.js';
import { SHM_BYTES } from '../provider/tcp/shm/shm-layout.js';
import type { ShmLink } from '../provider/tcp/shm/shm-link.js';
import { Feature } from '../wire/control-frame.js';

/** `session.local`: never, for peers of this host, or else no session. */
export type LocalWish = 'tcp' | 'auto' | 'shm';

export interface SharingChoice {
  readonly kind: 'never' | 'tried' | 'demanded';
  /** Whether both ends are on this host, as far as they say. */
  readonly isSameHost: boolean;
  /** Why, for receipts, logs and people. */
  readonly reason: string;
}

type Role = 'client' | 'server';

export function sharingFeatures(wish: LocalWish): number {
  if (wish === 'tcp') return 0;
  return wish === 'shm' ? Feature.SharedMemory | Feature.MayShare : Feature.MayShare;
}

function wishOf(features: number): LocalWish {
  if ((features & Feature.SharedMemory) !== 0) return 'shm';
  return (features & Feature.MayShare) !== 0 ? 'auto' : 'tcp';
}

/** Both ends come to the same. Throws where one end demands what the other will not have. */
export function chooseSharing(
  where: string,
  own: LocalWish,
  features: number,
  isSameHost: boolean,
  peer: Role,
): SharingChoice {
  const theirs = wishOf(features);
  const isDemanded = own === 'shm' || theirs === 'shm';
  const isRefused = own === 'tcp' || theirs === 'tcp';
  const other = peer === 'client' ? 'server' : 'client';
  if (isDemanded && isRefused) {
    throw new TcpxError(
      'ERR_CONFIG_MISMATCH',
      `${where}: session.local: ${theirs} at the ${peer}, ${own} at the ${other}`,
      { facts: { name: 'session.local', peer: where } },
    );
  }
  if (isDemanded) return { kind: 'demanded', isSameHost, reason: 'session.local is shm' };
  if (!isSameHost) return { kind: 'never', isSameHost, reason: 'the ends are on two hosts' };
  if (isRefused) {
    const reason = `session.local is tcp at ${refusers(own, theirs, peer)}`;
    return { kind: 'never', isSameHost, reason };
  }
  return { kind: 'tried', isSameHost, reason: 'both ends are on one host' };
}

/** What a plugin carries needs no lane, and its host need not be this one: an emulator's is. */
export function besidePlugin(choice: SharingChoice): SharingChoice {
  if (choice.kind !== 'tried') return choice;
  return { ...choice, kind: 'never', reason: 'the plugin carries the data' };
}

function refusers(own: LocalWish, theirs: LocalWish, peer: Role): string {
  if (own === theirs) return 'both ends';
  const isClient = (own === 'tcp') === (peer === 'server');
  return isClient ? 'the client' : 'the server';
}

/** Shared memory of all sessions of an engine. */
export class SharedBudget {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  take(bytes: number): boolean {
    if (this.#bytes + bytes > this.#bytesMax) return false;
    this.#bytes += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#bytes -= bytes;
  }
}

export class SessionSharing {
  readonly #budget: SharedBudget;
  readonly #where: string;
  #bytes: number;
  #choice: SharingChoice;

  /** Throws where it is demanded, and the budget has not so much. */
  constructor(where: string, choice: SharingChoice, channels: number, budget: SharedBudget) {
    this.#where = where;
    this.#budget = budget;
    this.#choice = choice;
    this.#bytes = choice.kind === 'never' ? 0 : channels * SHM_BYTES;
    if (budget.take(this.#bytes)) return;
    this.#bytes = 0;
    this.#fail('other sessions share as much as memory.sharedBytes allows');
  }

  /** Whether a new connection is to have shared memory. */
  get isWanted(): boolean {
    return this.#choice.kind !== 'never';
  }

  get path(): DataPath {
    return this.isWanted ? 'shm' : 'tcp host';
  }

  get reason(): string {
    return this.#choice.reason;
  }

  /** A connection has its memory, or a reason why not, which is an error where it must have. */
  settle(outcome: ShmLink | string): ShmLink | undefined {
    if (typeof outcome === 'string') {
      this.#fail(outcome);
      return undefined;
    }
    this.#choice = { ...this.#choice, kind: 'demanded' };
    return outcome;
  }

  #fail(why: string): void {
    if (this.#choice.kind === 'demanded') {
      throw new TcpxError('ERR_CAP_SHARED_MEMORY', `${this.#where}: ${why}`, {
        facts: { peer: this.#where },
      });
    }
    const reason = `one host, but no shared memory: ${why}`;
    this.#choice = { ...this.#choice, kind: 'never', reason };
    this.end();
  }

  /** Nothing of the session is mapped any more. */
  end(): void {
    this.#budget.give(this.#bytes);
    this.#bytes = 0;
  }
}
