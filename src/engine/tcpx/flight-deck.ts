// Plans on their way through a session's channels, with the order that both ends keep: tags and
// announcements are counted alike by the sender and the receiver, and compared before data moves.

import { TcpxError } from '../../base/errors.js';
import { TagCounter } from '../../flow/chunk-tag.js';
import type { MatchedPlan } from '../../flow/matched-plan.js';
import type { RegionDescriptor } from '../../memory/region.js';
import { RECEIVE, SEND } from '../../provider/tcpx/host-layout.js';
import type { BlockPlace } from './chunk-places.js';
import { ChannelWeights } from './channel-weights.js';
import type { ControlLink } from './control-link.js';
import type { Announce, BlockTuple } from './control-message.js';
import { Flight, type FlightKind } from './flight.js';
import { PlanMemo } from './plan-memo.js';
import type { SessionChannels } from './session-channels.js';

export interface FlightDeckParts {
  readonly channels: () => SessionChannels;
  readonly link: ControlLink;
  readonly chunkBytes: number;
  /** Blocks up to this size are gathered in what this end sends. */
  readonly gatherBytes: number;
  readonly isPaced: boolean;
  readonly weights: string;
}

/** What a WRITE tells about its target; nothing for the answer to a READ. */
export interface AnnouncedTarget {
  readonly regions: readonly RegionDescriptor[];
  readonly blocks: readonly BlockTuple[];
  readonly notify: string | undefined;
}

export class FlightDeck {
  readonly #parts: FlightDeckParts;
  readonly #flights = new Map<number, Flight>();
  readonly #weights: ChannelWeights;
  readonly #sendPlans = new PlanMemo();
  readonly #receivePlans = new PlanMemo();
  #sendTags = new TagCounter();
  #receiveTags = new TagCounter();
  #sendSequence = 0;
  #receiveSequence = 0;
  #nextNumber = 1;

  constructor(parts: FlightDeckParts) {
    this.#parts = parts;
    this.#weights = new ChannelWeights(parts.weights);
  }

  /** A new epoch counts anew. */
  reset(): void {
    this.#flights.clear();
    this.#sendTags = new TagCounter();
    this.#receiveTags = new TagCounter();
    this.#sendSequence = 0;
    this.#receiveSequence = 0;
  }

  /** Announces these blocks and sends them, at once or when the receiver is ready. */
  send(
    op: 'write' | 'read',
    transfer: number,
    lengths: readonly number[],
    places: readonly BlockPlace[],
    target: AnnouncedTarget,
  ): void {
    const { link, isPaced, chunkBytes, gatherBytes } = this.#parts;
    const channels = this.#parts.channels();
    const weights = this.#weights.current(channels.set.count);
    const { plan, digest } = this.#sendPlans.plan({ lengths, chunkBytes, weights, gatherBytes });
    const firstTag = this.#sendTags.reserve(plan.chunkCount);
    try {
      link.send({
        kind: 'announce',
        epoch: channels.epoch,
        transfer,
        op,
        sequence: this.#sendSequence,
        firstTag,
        digest,
        weights,
        gatherBytes,
        lengths,
        regions: target.regions,
        blocks: target.blocks,
        isPaced,
        ...(target.notify === undefined ? {} : { notify: target.notify }),
      });
    } catch (error) {
      // Nothing was announced: the next one has these numbers.
      this.#sendTags = new TagCounter(firstTag);
      throw error;
    }
    this.#sendSequence++;
    const flight = this.#open({ role: 'send', op, transfer }, plan, firstTag, places);
    if (!isPaced) this.#put(flight);
  }

  /** The receiver has posted: a paced flight may go. */
  go(transfer: number, op: string): void {
    const flight = this.sending(transfer, op);
    if (flight !== undefined) this.#put(flight);
  }

  /** Derives the plan of an announcement, which must be the one that is due. */
  planOf(message: Announce): MatchedPlan {
    const { lengths, weights, gatherBytes } = message;
    const { chunkBytes } = this.#parts;
    const { plan, digest } = this.#receivePlans.plan({ lengths, chunkBytes, weights, gatherBytes });
    const due = { sequence: this.#receiveSequence, firstTag: this.#receiveTags.next };
    if (message.sequence !== due.sequence || message.firstTag !== due.firstTag) {
      throw new TcpxError(
        'ERR_WIRE_STATE',
        `announcement ${message.sequence} with tag ${message.firstTag}, due are ` +
          `${due.sequence} and ${due.firstTag}`,
      );
    }
    if (message.digest !== digest || message.weights.length !== this.#parts.channels().set.count) {
      throw new TcpxError(
        'ERR_WIRE_STATE',
        `announcement ${message.sequence}: plan ${message.digest}, derived ${digest}`,
      );
    }
    this.#receiveSequence++;
    this.#receiveTags.reserve(plan.chunkCount);
    return plan;
  }

  /** Posts the receives of an announced plan. */
  receive(
    kind: FlightKind,
    plan: MatchedPlan,
    firstTag: number,
    places: readonly BlockPlace[],
  ): Flight {
    const flight = this.#open(kind, plan, firstTag, places);
    this.#put(flight);
    return flight;
  }

  /** The flight that has finished at this end with this part. */
  onPart(number: number, channel: number, durationUs: number): Flight | undefined {
    const flight = this.#flights.get(number);
    if (flight === undefined) return undefined;
    flight.openParts.delete(channel);
    if (flight.kind.role === 'send') {
      this.#weights.onPart(channel, flight.plan.channelBytes[channel] ?? 0, durationUs);
    }
    return flight.openParts.size === 0 ? flight : undefined;
  }

  usesRegion(id: number): boolean {
    return [...this.#flights.values()].some(({ places }) =>
      places.some(({ region }) => region === id),
    );
  }

  remove(flight: Flight): void {
    this.#flights.delete(flight.number);
  }

  sending(transfer: number, op: string): Flight | undefined {
    return this.#find('send', transfer, op);
  }

  receiving(transfer: number, op: string): Flight | undefined {
    return this.#find('receive', transfer, op);
  }

  #find(role: string, transfer: number, op: string): Flight | undefined {
    for (const flight of this.#flights.values()) {
      const { kind } = flight;
      if (kind.role === role && kind.op === op && kind.transfer === transfer) return flight;
    }
    return undefined;
  }

  #open(
    kind: FlightKind,
    plan: MatchedPlan,
    firstTag: number,
    places: readonly BlockPlace[],
  ): Flight {
    const flight = new Flight(this.#nextNumber++, kind, plan, firstTag, places);
    this.#flights.set(flight.number, flight);
    return flight;
  }

  #put(flight: Flight): void {
    const direction = flight.kind.role === 'send' ? SEND : RECEIVE;
    const { set } = this.#parts.channels();
    set.put(flight.number, direction, flight.plan, flight.firstTag, flight.places);
  }
}
