// The matched carrier of one session: one-sided write and read over channels on which both ends
// post in the same order. Each end announces what it sends; the other derives the same plan and
// posts its receives in that order. A WRITE is done when the target has confirmed that it landed; a
// READ when it landed here. No sockets, processes or clocks of its own: a simulation can be its
// host.

import { assert } from '../../base/assert.js';
import { TcpxError, toTcpxError } from '../../base/errors.js';
import { FAIL_CANCELLED } from '../../base/failure.js';
import type { ChannelIndex, Epoch, FlightNumber } from '../../base/quantity.js';
import {
  decodeReason,
  encodeMatch,
  MatchFlag,
  type MatchFrame,
  MatchKind,
} from '../../wire/match-frame.js';
import type { CheckedBlocks } from '../block-columns.js';
import type { Carrier, DataOperation, Outcome, PostExtra, Posted } from '../contract.js';
import type { ChannelSet } from './channel-set.js';
import { ChannelWeights } from './channel-weights.js';
import { DescribedPlans } from './described-plan.js';
import { isFenced, sessionEndMs, toldOf, unfencedError } from './epoch-end.js';
import { Epochs } from './epochs.js';
import { type Flight, isOwnWrite } from './flight.js';
import { FlightDeck } from './flight-deck.js';
import type { MatchedCarrierParts } from './matched-host.js';
import { MatchedRequest, type WeighedPlan } from './matched-request.js';
import {
  awaitSource,
  checkRefusable,
  confirmedSoFar,
  failed,
  givenUpError,
  lostError,
  OwnPost,
  refusalOf,
  succeeded,
} from './own-post.js';
import { PeerFlights } from './peer-flights.js';

/** A cancelled transfer may land by itself within this time; then its epoch is taken down. */
const CANCEL_GRACE_MS = 200;

export class MatchedCarrier<S> implements Carrier<S, MatchedRequest> {
  readonly capability = 'matched';
  readonly defaultDeadlineMs: number;
  readonly epochs: Epochs;
  readonly #parts: MatchedCarrierParts;
  /** By transfer number, and by slot of the engine's table. */
  readonly #own = new Map<number, OwnPost>();
  readonly #bySlot: (OwnPost | undefined)[] = [];
  readonly deck: FlightDeck;
  readonly #weights: ChannelWeights;
  readonly #peers: PeerFlights;
  #described = new DescribedPlans();
  #nextTransfer = 1;
  #obstacle = '';
  /** Why the session ends, once it does. */
  #ending: TcpxError | undefined;

  constructor(parts: MatchedCarrierParts) {
    this.#parts = parts;
    const { values, host } = parts;
    this.defaultDeadlineMs = values['tcpx.deadlineMs'];
    this.#weights = new ChannelWeights(values['tcpx.weights']);
    this.deck = new FlightDeck({
      set: () => this.epochs.set,
      send: (frame) => this.epochs.send(frame),
      isPaced: values['tcpx.pacing'] === 'ready',
    });
    this.epochs = new Epochs({
      ...parts,
      connect: host.connect,
      askAgain: (epoch) => host.askAgain(epoch),
      after: (delayMs, act) => host.after(delayMs, act),
      openSet: (epoch) => this.#openSet(epoch),
      onFrame: (frame) => this.#onFrame(frame),
      onDown: (fenced) => this.#onDown(fenced),
      onViolation: (error) => host.closeSession(error),
    });
    this.#peers = new PeerFlights({
      ...{ peer: parts.peer, log: parts.log, host, deck: this.deck, epochs: this.epochs },
      chunkBytes: values['flow.chunkBytes'],
      patienceMs: values['tcpx.deadlineMs'],
      minRate: values['session.minRateBytes'],
      chunksMax: values['tcpx.peerChunksMax'],
      takeRead: (transfer) => this.#own.get(transfer)?.takeRead(),
      onReadLanded: (transfer, flight) => this.#finish(this.#own.get(transfer), flight),
    });
  }

  /** Resolves when the channels are there. */
  ready(): Promise<void> {
    return this.epochs.ready();
  }

  // From now on nothing is taken: the session goes on over tcp.
  #giveUp({ code, message }: TcpxError): void {
    const { peer, log } = this.#parts;
    this.#obstacle = `the plugin’s channels could not be set up: ${message}`;
    log.warn('data goes over tcp', { peer, code, reason: this.#obstacle });
  }

  /** Why these blocks cannot go through the plugin; empty where they can. */
  obstacleTo(blocks: CheckedBlocks): string {
    if (this.#obstacle !== '') return this.#obstacle;
    for (const region of blocks.locals) {
      const obstacle = this.#parts.host.regions.obstacleTo(region);
      if (obstacle !== '') return obstacle;
    }
    const far = blocks.remotes.find(({ isPluginShared }) => isPluginShared !== true);
    return far === undefined ? '' : `region ${far.slot} of the peer is memory that is not shared`;
  }

  prepare(_: S, __: DataOperation, blocks: CheckedBlocks): MatchedRequest {
    const { values } = this.#parts;
    const chunkBytes = values['flow.chunkBytes'];
    const gatherBytes = Math.min(values['tcpx.gatherBytes'], chunkBytes);
    const weights = this.#weights.current(this.#parts.channelCount());
    const sizes = { chunkBytes, gatherBytes };
    return new MatchedRequest(blocks, sizes, weights, values['tcpx.hostRecv']);
  }

  release(prepared: MatchedRequest): void {
    this.#described.forget(prepared.current);
  }

  open(_: S, operation: DataOperation, prepared: MatchedRequest, extra: PostExtra): number {
    const slot = this.#parts.host.openSlot(prepared.chunkCount);
    this.#bySlot[slot] = new OwnPost(this.#nextTransfer++, operation, prepared, extra);
    return slot;
  }

  submit(posted: Posted<S>): void {
    const own = this.#ownAt(posted);
    own.place = { slot: posted.slot, generation: posted.generation };
    this.#own.set(own.transfer, own);
    if (this.epochs.state === 'ready' && own.extra.source === undefined) {
      this.#startMapped(own);
      return;
    }
    this.epochs
      .ready()
      .then(() => awaitSource(own, this.#parts.host))
      .then(() => this.#startMapped(own))
      .catch((error: unknown) =>
        this.#fail(own, toldOf(toTcpxError(error, 'ERR_XFER_FAILED', 'post'))),
      );
  }

  #startMapped(own: OwnPost): void {
    this.#parts.host.regions.whenMapped(own.request.regions, () => this.#startNow(own));
  }

  // What waits for nothing goes out before the caller does anything else.
  #startNow(own: OwnPost): void {
    // One whose epoch went down meanwhile fails with it.
    if (own.isOver || own.isFailing) return;
    try {
      this.#start(own);
    } catch (error) {
      this.#fail(own, toTcpxError(error, 'ERR_XFER_FAILED', own.operation));
    }
  }

  #start(own: OwnPost): void {
    const { request, transfer, operation } = own;
    const { regions } = this.#parts.host;
    regions.assertMapped(request.regions);
    const weighed = request.planFor(this.#weights.current(this.epochs.set.count));
    const plan = this.#describe(weighed);
    if (operation === 'read') {
      own.derived = weighed;
      own.intake = this.#parts.intake?.mark();
      this.epochs.send(encodeMatch({ kind: MatchKind.Read, transfer, plan }));
      return;
    }
    regions.fillShadows(request.places, request.lengths);
    const kind = { operation, transfer, lengths: request.lengths, entered: [] };
    this.deck.send(kind, weighed, request.places, { plan, notify: own.extra.notify });
  }

  // Once for all posts, as long as the weights stay and the peer has room.
  #describe(weighed: WeighedPlan): number {
    const known = this.#described.find(weighed);
    if (known !== undefined) return known;
    const plan = this.#described.take(weighed, weighed.body.length);
    const { digest, body } = weighed;
    this.epochs.send(encodeMatch({ kind: MatchKind.Plan, plan, digest }, body));
    return plan;
  }

  cancel(posted: Posted<S>): void {
    const own = this.#ownAt(posted);
    if (own.isOver || own.isCancelled) return;
    own.isCancelled = true;
    // It settles when both ends have confirmed that nothing lands any more.
    if (own.isFailing) return;
    if (this.#flightOf(own) === undefined) {
      const asked = own.outcome === undefined ? own.asRead() : undefined;
      if (asked !== undefined) this.#peers.abandonRead(own.transfer, asked);
      this.#fail(own, new TcpxError('ERR_XFER_CANCELLED', 'nothing was sent'));
      return;
    }
    // What was handed to the plugin cannot be taken back: it lands, or the epoch ends.
    this.#parts.host.after(CANCEL_GRACE_MS, () => this.#endFor(own));
  }

  outcome(posted: Posted<S>, failure: number): Outcome {
    const own = this.#ownAt(posted);
    const why = () => (failure === FAIL_CANCELLED ? this.#waits(own) : lostError(this.#parts.peer));
    return own.outcome ?? failed(why(), false);
  }

  confirmedBytes(posted: Posted<S>): number {
    const own = this.#ownAt(posted);
    return confirmedSoFar(own, this.#flightOf(own), this.epochs);
  }

  close(posted: Posted<S>): void {
    const own = this.#ownAt(posted);
    own.isOver = true;
    this.#own.delete(own.transfer);
    this.#bySlot[posted.slot] = undefined;
  }

  /** The session ends: what is in flight fails, and nothing lands any more afterwards. */
  async end(reason: TcpxError): Promise<void> {
    this.#ending = reason;
    await this.epochs.close(reason);
    for (const own of [...this.#own.values()]) this.#fail(own, reason);
  }

  #ownAt({ slot }: { readonly slot: number }): OwnPost {
    const own = this.#bySlot[slot];
    assert(own !== undefined, `slot ${slot} is a post of this session`);
    return own;
  }

  async #openSet(epoch: Epoch): Promise<ChannelSet> {
    return await this.#parts.openSet(epoch, {
      onPart: (...part) => epoch === this.epochs.epoch && this.#onPart(...part),
      onBroken: (error) => epoch === this.epochs.epoch && this.epochs.takeDown(error),
    });
  }

  // A rule that is broken here costs the epoch and, through the connection, the session.
  #onFrame(frame: MatchFrame): void {
    const operation = (frame.flags & MatchFlag.Read) === 0 ? 'write' : 'read';
    switch (frame.kind) {
      case MatchKind.Plan:
        this.#peers.onPlan(frame);
        return;
      case MatchKind.Announce:
        this.#peers.onAnnounce(frame, operation);
        return;
      case MatchKind.Read:
        this.#peers.onRead(frame);
        return;
      case MatchKind.Go:
        this.deck.go(frame.transfer, operation);
        return;
      case MatchKind.Landed:
        this.#checkSent(this.deck.land(frame.transfer, operation, frame.tag));
        return;
      case MatchKind.Refuse:
        this.#onRefused(frame, operation);
        return;
      case MatchKind.Hello:
      case MatchKind.Joined:
      case MatchKind.Down:
      case MatchKind.Fenced:
        throw new TcpxError('ERR_WIRE_STATE', 'a frame that is not about a transfer');
    }
  }

  #onPart(number: FlightNumber, channel: ChannelIndex, durationUs: number): void {
    const part = this.deck.onPart(number, channel);
    if (part === undefined) return;
    const { flight, isWhole } = part;
    const bytes = flight.derived.plan.channelBytes[channel];
    if (flight.kind.role === 'send' && bytes !== undefined) {
      this.#weights.onPart(channel, bytes, durationUs);
    }
    if (!isWhole) return;
    try {
      if (flight.kind.role === 'receive') this.#peers.onReceived(flight);
      else this.#checkSent(flight);
    } catch (error) {
      // A peer that takes no frames cannot be told; nobody above this could do anything.
      this.epochs.takeDown(toTcpxError(error, 'ERR_WIRE_STATE', flight.kind.operation));
    }
  }

  #checkSent(flight: Flight): void {
    if (!flight.isLanded || flight.openParts.size > 0) return;
    this.#peers.close(flight);
    const own = flight.kind.operation === 'read' ? undefined : this.#own.get(flight.kind.transfer);
    if (own?.refusal === undefined) this.#finish(own, flight);
    else this.#fail(own, own.refusal);
  }

  #onRefused({ transfer, body }: MatchFrame, operation: DataOperation): void {
    const own = this.#own.get(transfer);
    this.#peers.forgetRead(transfer);
    if (own === undefined) return;
    checkRefusable(own, this.#flightOf(own), operation);
    const refusal = refusalOf(decodeReason(body));
    const flight = this.deck.find('send', transfer, 'write');
    if (flight === undefined) this.#fail(own, refusal);
    else {
      // The plugin still reads the memory of the chunks: the transfer ends when they are through.
      own.refusal = refusal;
      flight.isLanded = true;
      this.#peers.expectEnd(flight);
      this.#checkSent(flight);
    }
  }

  #finish(own: OwnPost | undefined, flight: Flight): void {
    if (own === undefined || own.isOver) return;
    own.outcome = succeeded(own, flight, this.#parts, this.epochs);
    const { notify } = own.extra;
    if (own.operation === 'write' || notify === undefined) {
      this.#settle(own);
      return;
    }
    // The notification of a READ goes to the owner of the data, which has no part in its end.
    this.#parts.host
      .notify(notify)
      .then(() => this.#settle(own))
      .catch((error: unknown) => this.#fail(own, toTcpxError(error, 'ERR_XFER_FAILED', 'notify')));
  }

  // Chunks that are posted cannot be taken back one by one: the epoch ends for all of them.
  #endFor(own: OwnPost): void {
    // The epoch has ended for another: this one fails with it, when nothing lands any more.
    if (own.isOver || own.isFailing) return;
    const error = this.#waits(own);
    if (this.epochs.state === 'ready') this.epochs.takeDown(error);
    else this.#fail(own, error);
  }

  // What a transfer waits for that is given up.
  #waits(own: OwnPost): TcpxError {
    return givenUpError(this.#parts.peer, own.operation, this.#flightOf(own), this.epochs);
  }

  #flightOf({ transfer, operation }: OwnPost): Flight | undefined {
    return this.deck.find(operation === 'write' ? 'send' : 'receive', transfer, operation);
  }

  #onDown(fenced: Promise<TcpxError>): boolean {
    const flights = this.deck.reset();
    this.#peers.reset();
    this.#described = new DescribedPlans();
    // Those of an epoch before this one end with that, whatever comes of a set-up after it.
    const failing = [...this.#own.values()].filter(({ isFailing }) => !isFailing);
    for (const own of failing) own.isFailing = true;
    const { values, host, peer } = this.#parts;
    const isFallback = values['engine.provider'] === 'auto' && !this.epochs.hasBeenReady;
    const isExposed = flights.some(isOwnWrite);
    // Memory is free, and transfers have failed, when nothing of the epoch lands any more.
    void fenced.then((error) => {
      for (const { kind } of flights) host.leave(kind.entered);
      if (this.#ending === undefined && isExposed && !isFenced(error)) {
        host.closeSession(unfencedError(peer, error));
        return;
      }
      if (isFallback && this.#ending === undefined) this.#giveUp(error);
      const failAll = () => failing.forEach((own) => this.#fail(own, toldOf(error)));
      const delayMs = sessionEndMs(error);
      if (delayMs === 0) failAll();
      else host.after(delayMs, failAll);
    });
    return isExposed;
  }

  #fail(own: OwnPost, error: TcpxError): void {
    if (own.isOver) return;
    const sessionError = this.#ending;
    own.outcome =
      sessionError === undefined
        ? failed(own.refusal ?? error, own.isCancelled)
        : { ...failed(lostError(this.#parts.peer), false), sessionError };
    this.#settle(own);
  }

  #settle(own: OwnPost): void {
    if (own.isOver) return;
    // Landed, but too late for whoever cancelled it: no byte of it lands any more.
    const { outcome, isCancelled } = own;
    if (isCancelled && outcome !== undefined) own.outcome = { ...outcome, isCancelled };
    own.isOver = true;
    this.#parts.host.finish(own.place.slot, own.place.generation);
  }
}
