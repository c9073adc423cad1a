// A peer reached through the plugin: one-sided write, read and notify over matched channels. Each
// end announces what it sends; the other derives the same plan and posts its receives in that
// order. A WRITE is done when the target has confirmed that it landed; a READ when it landed here.

import { systemClock } from '../../base/clock.js';
import { type ErrorCode, ERROR_CODES, TcpxError, toTcpxError } from '../../base/errors.js';
import type { Log } from '../../base/log.js';
import type { SettingValues } from '../../base/settings.js';
import { TagCounter } from '../../flow/chunk-tag.js';
import { type MatchedPlan, planDigest, planMatched } from '../../flow/matched-plan.js';
import type { RegionDescriptor } from '../../memory/region.js';
import { RECEIVE, SEND } from '../../transport/tcpx/host-layout.js';
import type { RailSet } from '../../transport/tcpx/rail-set.js';
import type { Block } from '../request.js';
import type { PostOptions } from '../session.js';
import { type BlockPlace, DISCARD } from './channel-set.js';
import { ChannelWeights } from './channel-weights.js';
import type { ControlLink } from './control-link.js';
import type { Announce, BlockTuple, ControlMessage, ReadRequest } from './control-message.js';
import { Flight, type FlightKind } from './flight.js';
import type { RegionBook } from './region-book.js';
import { SessionChannels } from './session-channels.js';
import { pluginStanding, type TcpxReceipt } from './tcpx-receipt.js';
import { TcpxTransfer } from './tcpx-transfer.js';

export interface TcpxSessionParts {
  readonly role: 'client' | 'server';
  readonly link: ControlLink;
  readonly rails: RailSet;
  readonly regions: RegionBook;
  readonly values: SettingValues;
  readonly log: Log;
  readonly trustName: string;
  onNotification(session: TcpxPeerSession, bytes: Uint8Array): void;
}

/** A transfer of this end until it is settled. */
interface OwnTransfer {
  readonly transfer: TcpxTransfer;
  readonly lengths: readonly number[];
  readonly places: readonly BlockPlace[];
  readonly regions: readonly RegionDescriptor[];
  readonly blocks: readonly BlockTuple[];
  readonly notify: string | undefined;
  timer: NodeJS.Timeout | undefined;
  startUs: number;
}

const DEADLINE_MS = 60_000;
/** Own transfers at a time. */
const TRANSFERS_MAX = 4096;

export class TcpxPeerSession {
  readonly channels: SessionChannels;
  readonly #parts: TcpxSessionParts;
  readonly #own = new Map<number, OwnTransfer>();
  readonly #flights = new Map<number, Flight>();
  readonly #weights: ChannelWeights;
  #sendTags = new TagCounter();
  #receiveTags = new TagCounter();
  #sendSequence = 0;
  #receiveSequence = 0;
  #nextTransfer = 1;
  #nextFlight = 1;

  constructor(parts: TcpxSessionParts) {
    this.#parts = parts;
    this.#weights = new ChannelWeights(parts.values['tcpx.weights']);
    this.channels = new SessionChannels({
      role: parts.role,
      link: parts.link,
      rails: parts.rails,
      values: parts.values,
      log: parts.log,
      onPart: (flight, channel, us) => this.#onPart(flight, channel, us),
      onDown: (error, fenced) => void this.#onDown(error, fenced),
    });
  }

  get peer(): string {
    return this.#parts.link.peer;
  }

  /** Connects the channels; posts do it by themselves. */
  ready(): Promise<void> {
    return this.channels.ready();
  }

  write(blocks: readonly Block[], options: PostOptions = {}): TcpxTransfer {
    return this.#post('write', blocks, options);
  }

  read(blocks: readonly Block[], options: PostOptions = {}): TcpxTransfer {
    return this.#post('read', blocks, options);
  }

  /** Delivered in the order of notifications; not ordered with transfers in flight. */
  notify(message: Uint8Array | string): void {
    this.#parts.link.send({ kind: 'notify', bytes: toBase64(message) });
  }

  async close(): Promise<void> {
    await this.channels.close();
  }

  onMessage(message: ControlMessage): void {
    switch (message.kind) {
      case 'hello':
        void this.channels.onHello(message);
        return;
      case 'joined':
        this.channels.onJoined(message.epoch);
        return;
      case 'again':
        this.channels.onAgain();
        return;
      case 'down':
        this.channels.onDown(message.epoch, message.code, message.reason);
        return;
      case 'fenced':
        this.channels.onFenced(message.epoch, message.detail);
        return;
      case 'notify':
        this.#parts.onNotification(this, Buffer.from(message.bytes, 'base64'));
        return;
      default:
        this.#onTransferMessage(message);
    }
  }

  // What belongs to an epoch that is over was answered by its end.
  #onTransferMessage(
    message: Exclude<
      ControlMessage,
      { kind: 'hello' | 'joined' | 'again' | 'down' | 'fenced' | 'notify' }
    >,
  ): void {
    const { epoch, state } = this.channels;
    // The peer may be ready a moment before us: its first announcement is not early.
    if (message.epoch !== epoch || (state !== 'ready' && state !== 'joining')) return;
    try {
      if (message.kind === 'announce') this.#onAnnounce(message);
      else if (message.kind === 'read') this.#onRead(message);
      else if (message.kind === 'go') this.#onGo(message.transfer, message.op);
      else if (message.kind === 'landed') this.#onLanded(message);
      else this.#onRefused(message.transfer, message.code, message.reason);
    } catch (error) {
      this.channels.takeDown(toTcpxError(error, 'ERR_WIRE_STATE', message.kind));
    }
  }

  #post(op: 'write' | 'read', blocks: readonly Block[], options: PostOptions): TcpxTransfer {
    if (this.#own.size >= TRANSFERS_MAX) {
      throw new TcpxError('ERR_USAGE_STATE', `${this.peer}: ${TRANSFERS_MAX} transfers in flight`);
    }
    const transfer = new TcpxTransfer(this.#nextTransfer++, op);
    const own = this.#describe(transfer, blocks, options);
    this.#own.set(transfer.id, own);
    const deadlineMs = options.deadlineMs ?? DEADLINE_MS;
    own.timer = setTimeout(() => this.#onDeadline(own, deadlineMs), deadlineMs);
    options.signal?.addEventListener('abort', () => this.#cancel(own), { once: true });
    this.channels
      .ready()
      .then(() => this.#start(own))
      .catch((error: unknown) => {
        this.#settle(own, toTcpxError(error, 'ERR_XFER_FAILED', op));
      });
    return transfer;
  }

  #describe(transfer: TcpxTransfer, blocks: readonly Block[], options: PostOptions): OwnTransfer {
    const { regions: book } = this.#parts;
    const regions: RegionDescriptor[] = [];
    const indexOf = (descriptor: RegionDescriptor): number => {
      const known = regions.findIndex((region) => region.key === descriptor.key);
      return known >= 0 ? known : regions.push(descriptor) - 1;
    };
    const places = blocks.map(({ local, localOffset, bytes }) =>
      book.ownPlace(local, localOffset, bytes),
    );
    const tuples = blocks.map(
      ({ remote, remoteOffset, bytes }): BlockTuple => [indexOf(remote), remoteOffset, bytes],
    );
    const notify = options.notify === undefined ? undefined : toBase64(options.notify);
    const startUs = systemClock.nowUs();
    const lengths = blocks.map(({ bytes }) => bytes);
    return {
      transfer,
      lengths,
      places,
      regions,
      blocks: tuples,
      notify,
      timer: undefined,
      startUs,
    };
  }

  #start(own: OwnTransfer): void {
    if (own.transfer.status !== 'active') return;
    const { epoch } = this.channels;
    const { regions, blocks, notify } = own;
    if (own.transfer.operation === 'write') {
      this.#announce('write', own.transfer.id, own.lengths, own.places, {
        regions,
        blocks,
        notify,
      });
      return;
    }
    this.#parts.link.send({ kind: 'read', epoch, transfer: own.transfer.id, regions, blocks });
  }

  /** Becomes the sender of these blocks. */
  #announce(
    op: 'write' | 'read',
    transfer: number,
    lengths: readonly number[],
    places: readonly BlockPlace[],
    target: Pick<OwnTransfer, 'regions' | 'blocks' | 'notify'>,
  ): void {
    const weights = this.#weights.current(this.channels.set.count);
    const plan = planMatched(lengths, this.#parts.values['flow.chunkBytes'], weights);
    const firstTag = this.#sendTags.reserve(plan.chunkCount);
    const isPaced = this.#parts.values['tcpx.pacing'] === 'ready';
    const flight = this.#open({ role: 'send', op, transfer }, plan, firstTag, places);
    this.#parts.link.send({
      kind: 'announce',
      epoch: this.channels.epoch,
      transfer,
      op,
      sequence: this.#sendSequence++,
      firstTag,
      digest: planDigest(plan),
      weights,
      lengths,
      regions: target.regions,
      blocks: target.blocks,
      isPaced,
      ...(target.notify === undefined ? {} : { notify: target.notify }),
    });
    if (!isPaced) this.#put(flight);
  }

  #open(
    kind: FlightKind,
    plan: MatchedPlan,
    firstTag: number,
    places: readonly BlockPlace[],
  ): Flight {
    const flight = new Flight(this.#nextFlight++, kind, plan, firstTag, places);
    this.#flights.set(flight.number, flight);
    return flight;
  }

  #put(flight: Flight): void {
    const direction = flight.kind.role === 'send' ? SEND : RECEIVE;
    const { set } = this.channels;
    set.put(flight.number, direction, flight.plan, flight.firstTag, flight.places);
  }

  #onAnnounce(message: Announce): void {
    const plan = planMatched(
      message.lengths,
      this.#parts.values['flow.chunkBytes'],
      message.weights,
    );
    this.#checkOrder(message, plan);
    const { transfer, op, firstTag, epoch } = message;
    let places: readonly BlockPlace[];
    let isRefused = false;
    try {
      places = op === 'write' ? this.#writePlaces(message) : this.#readPlaces(message);
    } catch (error) {
      // The chunks come all the same: they are received in their turn and thrown away.
      const { code, message: reason } = toTcpxError(error, 'ERR_WIRE_STATE', op);
      this.#parts.link.send({ kind: 'refuse', epoch, transfer, code, reason });
      places = message.lengths.map(() => DISCARD);
      isRefused = true;
    }
    const kind = { role: 'receive', op, transfer, isRefused, notify: message.notify } as const;
    const flight = this.#open(kind, plan, firstTag, places);
    this.#put(flight);
    if (message.isPaced) this.#parts.link.send({ kind: 'go', epoch, transfer, op });
    if (flight.openParts.size === 0) this.#onReceived(flight);
  }

  /** Tags are not on the plugin's wire: what both ends count is compared before data is believed. */
  #checkOrder(message: Announce, plan: MatchedPlan): void {
    const due = { sequence: this.#receiveSequence, firstTag: this.#receiveTags.next };
    const digest = planDigest(plan);
    if (message.sequence !== due.sequence || message.firstTag !== due.firstTag) {
      throw new TcpxError(
        'ERR_WIRE_STATE',
        `announcement ${message.sequence} with tag ${message.firstTag}, due are ` +
          `${due.sequence} and ${due.firstTag}`,
      );
    }
    if (message.digest !== digest) {
      throw new TcpxError(
        'ERR_WIRE_STATE',
        `announcement ${message.sequence}: plan ${message.digest}, derived ${digest}`,
      );
    }
    this.#receiveSequence++;
    this.#receiveTags.reserve(plan.chunkCount);
  }

  #writePlaces(message: Announce): BlockPlace[] {
    if (message.blocks.length !== message.lengths.length) {
      throw new TcpxError('ERR_WIRE_FRAME', 'as many blocks as lengths');
    }
    return message.blocks.map(([region, offset, bytes], index) => {
      if (bytes !== message.lengths[index]) throw new TcpxError('ERR_WIRE_FRAME', 'equal lengths');
      return this.#parts.regions.peerPlace(message.regions[region], 'write', offset, bytes);
    });
  }

  #readPlaces(message: Announce): readonly BlockPlace[] {
    const own = this.#own.get(message.transfer);
    const isSame =
      own?.transfer.operation === 'read' &&
      own.lengths.length === message.lengths.length &&
      own.lengths.every((bytes, index) => bytes === message.lengths[index]);
    if (own !== undefined && isSame) return own.places;
    throw new TcpxError('ERR_WIRE_STATE', `read ${message.transfer} was not asked for like that`);
  }

  #onRead(message: ReadRequest): void {
    const { transfer, epoch } = message;
    try {
      const places = message.blocks.map(([region, offset, bytes]) =>
        this.#parts.regions.peerPlace(message.regions[region], 'read', offset, bytes),
      );
      const lengths = message.blocks.map(([, , bytes]) => bytes);
      const nothing = { regions: [], blocks: [], notify: undefined };
      this.#announce('read', transfer, lengths, places, nothing);
    } catch (error) {
      const { code, message: reason } = toTcpxError(error, 'ERR_WIRE_STATE', 'read');
      this.#parts.link.send({ kind: 'refuse', epoch, transfer, code, reason });
    }
  }

  #onGo(transfer: number, op: string): void {
    const flight = this.#sendFlight(transfer, op);
    if (flight !== undefined) this.#put(flight);
  }

  #sendFlight(transfer: number, op: string): Flight | undefined {
    return [...this.#flights.values()].find(
      ({ kind }) => kind.role === 'send' && kind.op === op && kind.transfer === transfer,
    );
  }

  #onPart(number: number, channel: number, durationUs: number): void {
    const flight = this.#flights.get(number);
    if (flight === undefined) return;
    flight.openParts.delete(channel);
    if (flight.kind.role === 'send') {
      this.#weights.onPart(channel, flight.plan.channelBytes[channel] ?? 0, durationUs);
    }
    if (flight.openParts.size > 0) return;
    if (flight.kind.role === 'receive') this.#onReceived(flight);
    else this.#checkSent(flight);
  }

  #onReceived(flight: Flight): void {
    this.#flights.delete(flight.number);
    const { op, transfer, isRefused, notify } = flight.kind;
    if (isRefused === true) return;
    const { plan, firstTag } = flight;
    const channels = this.channels.set
      .counters(RECEIVE)
      .map(({ posted, done, unpacked, consumed }) => [posted, done, unpacked, consumed]);
    if (op === 'write' && notify !== undefined) {
      this.#parts.onNotification(this, Buffer.from(notify, 'base64'));
    }
    this.#parts.link.send({
      kind: 'landed',
      epoch: this.channels.epoch,
      transfer,
      op,
      lastTag: firstTag + plan.chunkCount - 1,
      channels,
    });
    if (op === 'read') this.#finish(this.#own.get(transfer), flight);
  }

  #onLanded(message: Extract<ControlMessage, { kind: 'landed' }>): void {
    const flight = this.#sendFlight(message.transfer, message.op);
    if (flight === undefined) return;
    const lastTag = flight.firstTag + flight.plan.chunkCount - 1;
    if (message.lastTag !== lastTag) {
      throw new TcpxError('ERR_WIRE_STATE', `landed up to tag ${message.lastTag}, not ${lastTag}`);
    }
    flight.isLanded = true;
    this.#checkSent(flight);
  }

  #checkSent(flight: Flight): void {
    if (!flight.isLanded || flight.openParts.size > 0) return;
    this.#flights.delete(flight.number);
    if (flight.kind.op === 'write') this.#finish(this.#own.get(flight.kind.transfer), flight);
  }

  #onRefused(transfer: number, code: string, reason: string): void {
    const own = this.#own.get(transfer);
    if (own === undefined) return;
    const known = code in ERROR_CODES ? (code as ErrorCode) : 'ERR_PEER_REFUSED';
    const flight = this.#sendFlight(transfer, 'write');
    if (flight !== undefined) flight.isLanded = true;
    this.#settle(own, new TcpxError(known, `${this.peer} refused: ${reason}`));
    if (flight !== undefined) this.#checkSent(flight);
  }

  #finish(own: OwnTransfer | undefined, flight: Flight): void {
    if (own === undefined) return;
    this.#forget(own);
    if (own.transfer.operation === 'read' && own.notify !== undefined) {
      this.#parts.link.send({ kind: 'notify', bytes: own.notify });
    }
    own.transfer.finish(this.#receipt(own, flight));
  }

  #receipt(own: OwnTransfer, flight: Flight): TcpxReceipt {
    const { plan, kind } = flight;
    const { values, trustName, rails } = this.#parts;
    const plugin = this.channels.ownPlugin;
    const peerPlugin = this.channels.peerPlugin ?? plugin;
    const { set } = this.channels;
    const counters = set.counters(kind.role === 'send' ? SEND : RECEIVE);
    return {
      peer: this.peer,
      path: values['tcpx.hostRecv'] ? 'tcpx host-recv' : 'tcpx',
      evidence: plugin.isEmulated || peerPlugin.isEmulated ? 'emulated' : 'measured',
      trust: trustName,
      operation: own.transfer.operation,
      bytes: plan.totalBytes,
      bytesConfirmed: plan.totalBytes,
      chunks: plan.chunkCount,
      channels: counters.map((counter, channel) => ({
        channel,
        nic: set.nics[channel] ?? '',
        bytes: plan.channelBytes[channel] ?? 0,
        chunks: plan.channelChunks[channel] ?? 0,
        counters: counter,
      })),
      durationUs: systemClock.nowUs() - own.startUs,
      unpack: values['tcpx.hostRecv']
        ? 'none'
        : `${values['tcpx.unpack']} (${rails.facts.unpackedBy})`,
      plugin,
      peerPlugin,
      pluginStanding: pluginStanding(plugin, peerPlugin),
    };
  }

  #onDeadline(own: OwnTransfer, deadlineMs: number): void {
    const { id, operation } = own.transfer;
    this.#takeDownFor(
      own,
      'ERR_XFER_DEADLINE',
      `${operation} ${id} not finished in ${deadlineMs} ms`,
    );
  }

  #cancel(own: OwnTransfer): void {
    if (own.transfer.status !== 'active') return;
    this.#takeDownFor(own, 'ERR_XFER_CANCELLED', `${own.transfer.operation} cancelled`);
  }

  // Chunks that are posted cannot be taken back one by one: the epoch ends for all of them.
  #takeDownFor(own: OwnTransfer, code: ErrorCode, what: string): void {
    const { state } = this.channels;
    const flight = [...this.#flights.values()].find(
      ({ kind }) => kind.transfer === own.transfer.id,
    );
    if (state !== 'ready') {
      this.#settle(own, new TcpxError(code, `${this.peer}: ${what}; channels are ${state}`));
      return;
    }
    const { set } = this.channels;
    const direction = own.transfer.operation === 'write' ? SEND : RECEIVE;
    const stall = set.describeStall(direction, flight?.openParts ?? new Set());
    const waits = stall === '' ? 'waiting for the peer to confirm' : stall;
    const error = new TcpxError(code, `${this.peer}: ${what}: ${waits}`);
    this.channels.takeDown(error);
  }

  async #onDown(error: TcpxError, fenced: Promise<string | undefined>): Promise<void> {
    this.#flights.clear();
    this.#sendTags = new TagCounter();
    this.#receiveTags = new TagCounter();
    this.#sendSequence = 0;
    this.#receiveSequence = 0;
    const failing = [...this.#own.values()];
    for (const own of failing) this.#forget(own);
    const detail = await fenced;
    const there = detail === undefined || detail === '' ? '' : `; at the peer: ${detail}`;
    const facts = { ...error.facts, isFenced: detail !== undefined };
    const told = new TcpxError(error.code, `${error.message}${there}`, { facts, cause: error });
    for (const own of failing) own.transfer.fail(told);
  }

  #settle(own: OwnTransfer, error: TcpxError): void {
    this.#forget(own);
    own.transfer.fail(error);
  }

  #forget(own: OwnTransfer): void {
    clearTimeout(own.timer);
    this.#own.delete(own.transfer.id);
  }
}

function toBase64(message: Uint8Array | string): string {
  return Buffer.from(message).toString('base64');
}
