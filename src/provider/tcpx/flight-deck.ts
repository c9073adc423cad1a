// Plans on their way through the channels of an epoch, with the order that both ends keep: tags and
// announcements are counted alike by the sender and the receiver, and compared before data moves.

import { assert } from '../../base/assert.js';
import { TcpxError } from '../../base/errors.js';
import type { ChannelIndex, FlightNumber, Tag, TransferNumber } from '../../base/quantity.js';
import { TagCounter } from '../../flow/chunk-tag.js';
import { encodeMatch, MatchFlag, type MatchHead, MatchKind } from '../../wire/match-frame.js';
import type { DataOperation } from '../contract.js';
import type { ChannelSet } from './channel-set.js';
import type { BlockPlace } from './chunk-places.js';
import type { DerivedPlan } from './described-plan.js';
import { Flight, type FlightKind } from './flight.js';
import { RECEIVE, SEND } from './host-layout.js';

export interface FlightDeckParts {
  set(): Pick<ChannelSet, 'put'>;
  send(frame: Uint8Array): void;
  /** A sender waits for GO. */
  readonly isPaced: boolean;
}

/** What a WRITE announces beside its chunks. */
export interface Announced {
  readonly plan: number;
  readonly notify: Uint8Array | undefined;
}

export class FlightDeck {
  readonly #parts: FlightDeckParts;
  readonly #flights = new Map<number, Flight>();
  #sendTags = new TagCounter();
  #receiveTags = new TagCounter();
  #sendSequence = 0;
  #receiveSequence = 0;
  #nextNumber = 1;

  constructor(parts: FlightDeckParts) {
    this.#parts = parts;
  }

  /** What is under way at this end. */
  get count(): number {
    return this.#flights.size;
  }

  /** A new epoch counts anew; returns what was under way. */
  reset(): Flight[] {
    const flights = [...this.#flights.values()];
    this.#flights.clear();
    this.#sendTags = new TagCounter();
    this.#receiveTags = new TagCounter();
    this.#sendSequence = 0;
    this.#receiveSequence = 0;
    return flights;
  }

  /** Announces a plan and sends it, at once or when the receiver is ready. */
  send(
    kind: Omit<FlightKind, 'role'>,
    derived: DerivedPlan,
    places: readonly BlockPlace[],
    { plan, notify }: Announced,
  ): Flight {
    const { isPaced } = this.#parts;
    const firstTag = this.#sendTags.reserve(derived.plan.chunkCount);
    const flags =
      (kind.operation === 'read' ? MatchFlag.Read : 0) |
      (notify === undefined ? 0 : MatchFlag.Notify) |
      (isPaced ? MatchFlag.Paced : 0);
    const head = {
      kind: MatchKind.Announce,
      flags,
      transfer: kind.transfer,
      plan,
      sequence: this.#sendSequence,
      tag: firstTag,
      digest: derived.digest,
    };
    try {
      this.#parts.send(encodeMatch(head, notify));
    } catch (error) {
      // Nothing was announced: the next one has these numbers.
      this.#sendTags = new TagCounter(firstTag);
      throw error;
    }
    this.#sendSequence++;
    const flight = this.#open({ ...kind, role: 'send' }, derived, firstTag, places);
    if (!isPaced) this.#put(flight);
    return flight;
  }

  /** The receiver has posted: a paced flight may go. */
  go(transfer: TransferNumber, operation: DataOperation): void {
    const flight = this.find('send', transfer, operation);
    if (flight === undefined || flight.isPut) {
      throw new TcpxError('ERR_WIRE_STATE', `${operation} ${transfer} does not wait for a GO`);
    }
    this.#put(flight);
  }

  /** The receiver has confirmed; the flight that it confirms. */
  land(transfer: TransferNumber, operation: DataOperation, tag: Tag): Flight {
    const flight = this.find('send', transfer, operation);
    if (flight === undefined || flight.isLanded) {
      throw new TcpxError('ERR_WIRE_STATE', `${operation} ${transfer} has nothing to land`);
    }
    if (tag !== flight.lastTag) {
      throw new TcpxError('ERR_WIRE_STATE', `landed up to tag ${tag}, not ${flight.lastTag}`);
    }
    flight.isLanded = true;
    return flight;
  }

  /** Throws unless the announcement is the one that is due, of the plan that it names. */
  checkDue(head: Pick<MatchHead, 'sequence' | 'tag' | 'digest'>, derived: DerivedPlan): void {
    const due = { sequence: this.#receiveSequence, tag: this.#receiveTags.next };
    if (head.sequence !== due.sequence || head.tag !== due.tag) {
      throw new TcpxError(
        'ERR_WIRE_STATE',
        `announcement ${head.sequence} with tag ${head.tag}, ` +
          `due are ${due.sequence} and ${due.tag}`,
      );
    }
    if (head.digest !== derived.digest) {
      throw new TcpxError(
        'ERR_WIRE_STATE',
        `announcement ${head.sequence}: plan ${head.digest}, derived ${derived.digest}`,
      );
    }
    this.#receiveSequence++;
    this.#receiveTags.reserve(derived.plan.chunkCount);
  }

  /** Posts the receives of an announced plan. */
  receive(
    kind: Omit<FlightKind, 'role'>,
    derived: DerivedPlan,
    firstTag: Tag,
    places: readonly BlockPlace[],
  ): Flight {
    const flight = this.#open({ ...kind, role: 'receive' }, derived, firstTag, places);
    this.#put(flight);
    return flight;
  }

  /** A part is finished; the flight that has finished at this end with it. */
  onPart(
    number: FlightNumber,
    channel: ChannelIndex,
  ): { flight: Flight; isWhole: boolean } | undefined {
    const flight = this.#flights.get(number);
    if (flight === undefined) return undefined;
    flight.openParts.delete(channel);
    return { flight, isWhole: flight.openParts.size === 0 };
  }

  remove(flight: Flight): void {
    this.#flights.delete(flight.number);
  }

  find(
    role: FlightKind['role'],
    transfer: TransferNumber,
    operation: DataOperation,
  ): Flight | undefined {
    for (const flight of this.#flights.values()) {
      const { kind } = flight;
      const isSame = kind.role === role && kind.operation === operation;
      if (isSame && kind.transfer === transfer) return flight;
    }
    return undefined;
  }

  #open(
    kind: FlightKind,
    derived: DerivedPlan,
    firstTag: Tag,
    places: readonly BlockPlace[],
  ): Flight {
    const flight = new Flight(this.#nextNumber++, kind, derived, firstTag, places);
    this.#flights.set(flight.number, flight);
    return flight;
  }

  #put(flight: Flight): void {
    assert(!flight.isPut, 'chunks are handed over once');
    flight.isPut = true;
    const direction = flight.kind.role === 'send' ? SEND : RECEIVE;
    const { number, derived, firstTag, places } = flight;
    flight.putBefore = this.#parts.set().put(number, direction, derived.plan, firstTag, places);
  }
}
