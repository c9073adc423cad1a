// A plan on its way through the channels, seen from one end: the sender's or the receiver's.

import type { MatchedPlan } from '../../flow/matched-plan.js';
import type { BlockPlace } from './chunk-places.js';

export interface FlightKind {
  readonly role: 'send' | 'receive';
  readonly op: 'write' | 'read';
  /** Number that its initiator gave it. */
  readonly transfer: number;
  /** Received in its turn and thrown away. */
  readonly isRefused?: boolean;
  readonly notify?: string | undefined;
  /** Of the blocks that are received. */
  readonly lengths?: readonly number[];
}

export class Flight {
  readonly number: number;
  readonly kind: FlightKind;
  readonly plan: MatchedPlan;
  readonly firstTag: number;
  readonly places: readonly BlockPlace[];
  /** Channels whose part is not finished at this end. */
  readonly openParts: Set<number>;
  /** The receiver has confirmed. */
  isLanded = false;

  constructor(
    number: number,
    kind: FlightKind,
    plan: MatchedPlan,
    firstTag: number,
    places: readonly BlockPlace[],
  ) {
    this.number = number;
    this.kind = kind;
    this.plan = plan;
    this.firstTag = firstTag;
    this.places = places;
    this.openParts = new Set(
      [...plan.channelChunks.entries()].filter(([, count]) => count > 0).map(([index]) => index),
    );
  }
}
