// The channels of a session during one epoch: opened, joined with the peer's, given chunks, closed.

import { at, byteAt, floatAt, wordAt } from '../../base/assert.js';
import type { TcpxError } from '../../base/errors.js';
import type { ChannelIndex, FlightNumber, Tag } from '../../base/quantity.js';
import { chunkTag } from '../../flow/chunk-tag.js';
import type { MatchedPlan } from '../../flow/matched-plan.js';
import { type ChannelCounters, describeStall } from './channel-counters.js';
import { type BlockPlace, chunkPlace } from './chunk-places.js';
import type { ThreadPlacement } from './helper-threads.js';
import type { FinishedPart } from './host-events.js';
import { type Direction, RECEIVE, SEND } from './host-layout.js';
import type { RailChannel } from './rail-channel.js';

/** What is told of a channel. */
export interface ChannelListener {
  onPart(part: FinishedPart): void;
  /** The channel is dead, with its process or alone. */
  onBroken(error: TcpxError): void;
}

/** Where channels come from: the rails of a provider, or a simulation's. */
export interface ChannelSource {
  openChannel(nic: string, listener: ChannelListener): Promise<RailChannel>;
}

export interface ChannelSetListener {
  /** All chunks of a flight on this channel are finished. */
  onPart(flight: FlightNumber, channel: ChannelIndex, durationUs: number): void;
  onBroken(error: TcpxError): void;
}

export class ChannelSet {
  readonly nics: readonly string[];
  readonly #channels: readonly RailChannel[];

  private constructor(nics: readonly string[], channels: readonly RailChannel[]) {
    this.nics = nics;
    this.#channels = channels;
  }

  /** Opens one channel per entry of `nics`; closes them again when one fails. */
  static async open(
    rails: ChannelSource,
    nics: readonly string[],
    listener: ChannelSetListener,
  ): Promise<ChannelSet> {
    const opened = await Promise.allSettled(
      nics.map((nic, channel) =>
        rails.openChannel(nic, {
          onPart: (part) => listener.onPart(part.transfer, channel, part.durationUs),
          onBroken: (error) => listener.onBroken(error),
        }),
      ),
    );
    const channels = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const set = new ChannelSet(nics, channels);
    const failed = opened.find((one) => one.status === 'rejected');
    if (failed === undefined) return set;
    await set.close(1000);
    throw failed.reason;
  }

  get count(): number {
    return this.#channels.length;
  }

  get handles(): string[] {
    return this.#channels.map((channel) => channel.handle);
  }

  async join(peerHandles: readonly string[]): Promise<void> {
    await Promise.all(this.#channels.map((channel, index) => channel.join(at(peerHandles, index))));
  }

  /**
   * Hands the chunks of a flight to the plugin processes, in the order of the plan; returns how
   * many each channel had been given before.
   */
  put(
    flight: FlightNumber,
    direction: Direction,
    plan: MatchedPlan,
    firstTag: Tag,
    places: readonly BlockPlace[],
  ): number[] {
    const before = this.#channels.map((channel) => channel.putCount(direction));
    const left = plan.channelChunks.slice();
    for (let index = 0; index < plan.chunkCount; index++) {
      const channel = byteAt(plan.channels, index);
      const rest = wordAt(left, channel) - 1;
      left[channel] = rest;
      at(this.#channels, channel).put({
        direction,
        transfer: flight,
        index,
        tag: chunkTag(firstTag, index),
        ...chunkPlace(plan, index, places),
        bytes: floatAt(plan.bytes, index),
        isLast: rest === 0,
      });
    }
    for (const channel of this.#channels) channel.flush();
    return before;
  }

  /** Where the helper threads of the plugin processes run; those that have been seen. */
  placements(): ThreadPlacement[] {
    const seen = this.#channels.flatMap(({ placement }) => placement ?? []);
    return [...new Set(seen)];
  }

  counters(direction: Direction): ChannelCounters[] {
    return this.#channels.map((channel) => channel.counters(direction));
  }

  /** What stands still, for the error of a deadline; the channels with an open part first. */
  describeStall(direction: Direction, open: ReadonlySet<number>): string {
    const role = direction === SEND ? 'send' : 'receive';
    const texts = [...open].map((index) => {
      const channel = this.#channels[index];
      if (channel === undefined) return '';
      return describeStall(role, index, channel.nic, channel.counters(direction));
    });
    return texts.filter((text) => text !== '').join('; ');
  }

  /** Every direction that has something posted. */
  describeAll(): string {
    const busy = (direction: Direction): Set<number> =>
      new Set(
        this.counters(direction).flatMap(({ head }, index) => (head === undefined ? [] : [index])),
      );
    return [SEND, RECEIVE]
      .map((direction) => this.describeStall(direction as Direction, busy(direction as Direction)))
      .filter((text) => text !== '')
      .join('; ');
  }

  /** Why processes of these channels are gone; empty when all live. */
  describeDeaths(): string {
    const reasons = new Set(this.#channels.map((channel) => channel.hostFailure));
    reasons.delete('');
    return [...reasons].join('; ');
  }

  async close(timeoutMs: number): Promise<void> {
    await Promise.all(this.#channels.map((channel) => channel.close(timeoutMs)));
  }
}
