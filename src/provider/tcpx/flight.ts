// A plan on its way through the channels, seen from one end: the sender's or the receiver's.

import { at, floatAt } from '../../base/assert.js';
import type { FlightNumber, Tag, TransferNumber } from '../../base/quantity.js';
import type { DataOperation } from '../contract.js';
import type { BlockPlace } from './chunk-places.js';
import type { DerivedPlan } from './described-plan.js';

export interface FlightKind {
  readonly role: 'send' | 'receive';
  readonly operation: DataOperation;
  /** Number that its initiator gave it. */
  readonly transfer: TransferNumber;
  /** Received in its turn and thrown away. */
  readonly isRefused?: boolean;
  /** Told to the program here when the data has landed. */
  readonly notify?: Uint8Array | undefined;
  /** Of the blocks. */
  readonly lengths: Float64Array;
  /** Slots of own regions that the peer was let into for this flight. */
  readonly entered: readonly number[];
}

export class Flight {
  readonly number: FlightNumber;
  readonly kind: FlightKind;
  readonly derived: DerivedPlan;
  readonly firstTag: Tag;
  readonly places: readonly BlockPlace[];
  /** Channels whose part is not finished at this end. */
  readonly openParts: Set<number>;
  /** The receiver has confirmed. */
  isLanded = false;
  /** Its chunks were handed to the channels, for the one time. */
  isPut = false;
  /** Chunks that each channel was given before those of this flight; empty before it is put. */
  putBefore: readonly number[] = [];

  constructor(
    number: FlightNumber,
    kind: FlightKind,
    derived: DerivedPlan,
    firstTag: Tag,
    places: readonly BlockPlace[],
  ) {
    this.number = number;
    this.kind = kind;
    this.derived = derived;
    this.firstTag = firstTag;
    this.places = places;
    this.openParts = new Set(
      [...derived.plan.channelChunks.entries()]
        .filter(([, count]) => count > 0)
        .map(([index]) => index),
    );
  }

  get lastTag(): number {
    return this.firstTag + this.derived.plan.chunkCount - 1;
  }

  /** Of a receive, by how many chunks each channel has finished since it was joined. */
  landedBytes(consumed: readonly number[]): number {
    const { plan } = this.derived;
    if (this.putBefore.length === 0) return 0;
    const left = consumed.map((count, channel) => count - at(this.putBefore, channel));
    let landed = 0;
    for (const [index, channel] of plan.channels.entries()) {
      const chunks = at(left, channel);
      left[channel] = chunks - 1;
      if (chunks > 0) landed += floatAt(plan.bytes, index);
    }
    return landed;
  }
}

/** Its bytes land at the peer, in memory that this end has a say in. */
export function isOwnWrite({ kind }: Flight): boolean {
  return kind.role === 'send' && kind.operation === 'write';
}
