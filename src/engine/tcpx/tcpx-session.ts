// A peer reached through the plugin: one-sided write, read and notify over matched channels. Each
// end announces what it sends; the other derives the same plan and posts its receives in that
// order. A WRITE is done when the target has confirmed that it landed; a READ when it landed here.

import { systemClock } from '../../base/clock.js';
import { type ErrorCode, ERROR_CODES, TcpxError, toTcpxError } from '../../base/errors.js';
import type { Log } from '../../base/log.js';
import type { SettingValues } from '../../base/settings.js';
import { RECEIVE, SEND } from '../../provider/tcpx/host-layout.js';
import type { RailSet } from '../../provider/tcpx/rail-set.js';
import type { Block } from '../request.js';
import type { PostOptions } from '../session.js';
import type { SourceEvent } from '../transfer-table.js';
import { checkSource } from '../transfers.js';
import { type BlockPlace, DISCARD } from './chunk-places.js';
import type { ControlLink } from './control-link.js';
import type { Announce, ControlMessage, ReadRequest, TransferMessage } from './control-message.js';
import type { Flight } from './flight.js';
import { FlightDeck } from './flight-deck.js';
import { awaitSource, describeOwn, type OwnTransfer, toBase64 } from './own-transfer.js';
import type { RegionBook } from './region-book.js';
import { describeDown, SessionChannels } from './session-channels.js';
import { makeReceipt } from './tcpx-receipt.js';
import { TcpxTransfer } from './tcpx-transfer.js';

export interface TcpxSessionParts {
  readonly role: 'client' | 'server';
  readonly link: ControlLink;
  readonly rails: RailSet;
  readonly regions: RegionBook;
  readonly values: SettingValues;
  readonly log: Log;
  readonly trustName: string;
  /** Whether an event of this process has happened; throws when it never will. */
  readonly isSourceReady: (event: SourceEvent) => boolean;
  onNotification(session: TcpxPeerSession, bytes: Uint8Array): void;
}

const DEADLINE_MS = 60_000;
/** Own transfers at a time. */
const TRANSFERS_MAX = 4096;

export class TcpxPeerSession {
  readonly channels: SessionChannels;
  readonly #parts: TcpxSessionParts;
  readonly #own = new Map<number, OwnTransfer>();
  readonly #deck: FlightDeck;
  /** Resolves with the reason when the session is over, for whatever reason. */
  readonly closed: Promise<TcpxError>;
  #onClosed: (reason: TcpxError) => void = () => undefined;
  #nextTransfer = 1;

  constructor(parts: TcpxSessionParts) {
    this.#parts = parts;
    this.closed = new Promise((resolve) => (this.#onClosed = resolve));
    this.#deck = new FlightDeck({
      channels: () => this.channels,
      link: parts.link,
      chunkBytes: parts.values['flow.chunkBytes'],
      gatherBytes: Math.min(parts.values['tcpx.gatherBytes'], parts.values['flow.chunkBytes']),
      isPaced: parts.values['tcpx.pacing'] === 'ready',
      weights: parts.values['tcpx.weights'],
    });
    this.channels = new SessionChannels({
      role: parts.role,
      link: parts.link,
      rails: parts.rails,
      values: parts.values,
      log: parts.log,
      onMessage: (message) => this.#onTransferMessage(message),
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

  /** What is in flight fails, with the reason where there is one. */
  async close(reason?: TcpxError): Promise<void> {
    await this.channels.close(reason);
    const error = reason ?? new TcpxError('ERR_USAGE_STATE', `${this.peer}: session closed`);
    for (const own of [...this.#own.values()]) this.#settle(own, error);
    this.#onClosed(error);
  }

  /** Whether a transfer in flight, of either end, touches this region. */
  usesRegion(id: number): boolean {
    const isPosted = [...this.#own.values()].some(({ places }) =>
      places.some(({ region }) => region === id),
    );
    return isPosted || this.#deck.usesRegion(id);
  }

  onMessage(message: ControlMessage): void {
    switch (message.kind) {
      case 'hello':
        void this.channels.onHello(message);
        return;
      case 'joined':
        this.channels.onJoined(message.epoch, message.isStreamed === true);
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
      case 'announce':
      case 'read':
      case 'go':
      case 'landed':
      case 'refuse':
        this.#onTransferMessage(message);
    }
  }

  // What belongs to an epoch that is over was answered by its end.
  #onTransferMessage(message: TransferMessage): void {
    const { epoch, state } = this.channels;
    // The peer may be ready a moment before us: its first announcement is not early.
    if (message.epoch !== epoch || (state !== 'ready' && state !== 'joining')) return;
    try {
      if (message.kind === 'announce') this.#onAnnounce(message);
      else if (message.kind === 'read') this.#onRead(message);
      else if (message.kind === 'go') this.#deck.go(message.transfer, message.op);
      else if (message.kind === 'landed') this.#onLanded(message);
      else this.#onRefused(message.transfer, message.code, message.reason);
    } catch (error) {
      this.channels.takeDown(toTcpxError(error, 'ERR_WIRE_STATE', message.kind));
    }
  }

  #post(op: 'write' | 'read', blocks: readonly Block[], options: PostOptions): TcpxTransfer {
    checkSource(op, options.sourceReady);
    if (this.#own.size >= TRANSFERS_MAX) {
      throw new TcpxError('ERR_USAGE_STATE', `${this.peer}: ${TRANSFERS_MAX} transfers in flight`);
    }
    const transfer = new TcpxTransfer(this.#nextTransfer++, op);
    const own = describeOwn(transfer, blocks, options, this.#parts.regions);
    this.#own.set(transfer.id, own);
    const deadlineMs = options.deadlineMs ?? DEADLINE_MS;
    own.timer = setTimeout(() => this.#onDeadline(own, deadlineMs), deadlineMs);
    options.signal?.addEventListener('abort', () => this.#cancel(own), { once: true });
    if (this.channels.state === 'ready' && options.sourceReady === undefined) {
      this.#startNow(own);
      return transfer;
    }
    this.channels
      .ready()
      .then(() => awaitSource(own, options.sourceReady, this.#parts.isSourceReady))
      .then(() => this.#start(own))
      .catch((error: unknown) => {
        this.#settle(own, toTcpxError(error, 'ERR_XFER_FAILED', op));
      });
    return transfer;
  }

  // What waits for nothing goes out before the caller does anything else.
  #startNow(own: OwnTransfer): void {
    try {
      this.#start(own);
    } catch (error) {
      this.#settle(own, toTcpxError(error, 'ERR_XFER_FAILED', own.transfer.operation));
    }
  }

  #start(own: OwnTransfer): void {
    if (own.transfer.status !== 'active') return;
    const { epoch } = this.channels;
    const { regions, blocks, notify } = own;
    if (own.transfer.operation === 'write') {
      this.#parts.regions.fillShadows(own.places, own.lengths);
      this.#deck.send('write', own.transfer.id, own.lengths, own.places, {
        regions,
        blocks,
        notify,
      });
      return;
    }
    this.#parts.link.send({ kind: 'read', epoch, transfer: own.transfer.id, regions, blocks });
  }

  #onAnnounce(message: Announce): void {
    const plan = this.#deck.planOf(message);
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
    const { notify, lengths } = message;
    const kind = { role: 'receive', op, transfer, isRefused, notify, lengths } as const;
    const flight = this.#deck.receive(kind, plan, firstTag, places);
    if (message.isPaced) this.#parts.link.send({ kind: 'go', epoch, transfer, op });
    if (flight.openParts.size === 0) this.#onReceived(flight);
  }

  #writePlaces(message: Announce): BlockPlace[] {
    if (message.blocks.length !== message.lengths.length) {
      throw new TcpxError('ERR_WIRE_FRAME', 'as many blocks as lengths');
    }
    if (message.blocks.some(([, , bytes], index) => bytes !== message.lengths[index])) {
      throw new TcpxError('ERR_WIRE_FRAME', 'equal lengths');
    }
    return this.#parts.regions.peerPlaces(message.regions, 'write', message.blocks);
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
      const places = this.#parts.regions.peerPlaces(message.regions, 'read', message.blocks);
      const lengths = message.blocks.map(([, , bytes]) => bytes);
      const nothing = { regions: [], blocks: [], notify: undefined };
      this.#parts.regions.fillShadows(places, lengths);
      this.#deck.send('read', transfer, lengths, places, nothing);
    } catch (error) {
      const { code, message: reason } = toTcpxError(error, 'ERR_WIRE_STATE', 'read');
      this.#parts.link.send({ kind: 'refuse', epoch, transfer, code, reason });
    }
  }

  #onPart(number: number, channel: number, durationUs: number): void {
    const flight = this.#deck.onPart(number, channel, durationUs);
    if (flight === undefined) return;
    try {
      if (flight.kind.role === 'receive') this.#onReceived(flight);
      else this.#checkSent(flight);
    } catch (error) {
      // A peer that takes no messages cannot be told; nobody above this could do anything.
      this.channels.takeDown(toTcpxError(error, 'ERR_WIRE_STATE', flight.kind.op));
    }
  }

  #onReceived(flight: Flight): void {
    this.#deck.remove(flight);
    const { op, transfer, isRefused, notify } = flight.kind;
    if (isRefused === true) return;
    const { plan, firstTag, places, kind } = flight;
    try {
      this.#parts.regions.drainShadows(places, kind.lengths ?? []);
    } catch (error) {
      this.channels.takeDown(toTcpxError(error, 'ERR_CUDA_CALL', op));
      return;
    }
    if (op === 'write' && notify !== undefined) {
      this.#parts.onNotification(this, Buffer.from(notify, 'base64'));
    }
    this.#parts.link.send({
      kind: 'landed',
      epoch: this.channels.epoch,
      transfer,
      op,
      lastTag: firstTag + plan.chunkCount - 1,
    });
    if (op === 'read') this.#finish(this.#own.get(transfer), flight);
  }

  #onLanded(message: Extract<ControlMessage, { kind: 'landed' }>): void {
    const flight = this.#deck.sending(message.transfer, message.op);
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
    this.#deck.remove(flight);
    if (flight.kind.op === 'write') this.#finish(this.#own.get(flight.kind.transfer), flight);
  }

  #onRefused(transfer: number, code: string, reason: string): void {
    const own = this.#own.get(transfer);
    if (own === undefined) return;
    const known = code in ERROR_CODES ? (code as ErrorCode) : 'ERR_PEER_REFUSED';
    const flight = this.#deck.sending(transfer, 'write');
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
    own.transfer.finish(
      makeReceipt({
        peer: this.peer,
        trustName: this.#parts.trustName,
        values: this.#parts.values,
        channels: this.channels,
        flight,
        memory: this.#parts.regions.ways(own.places),
        operation: own.transfer.operation,
        durationUs: systemClock.nowUs() - own.startUs,
      }),
    );
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
    const { id, operation } = own.transfer;
    const isWrite = operation === 'write';
    const flight = isWrite
      ? this.#deck.sending(id, operation)
      : this.#deck.receiving(id, operation);
    if (state !== 'ready') {
      this.#settle(own, new TcpxError(code, `${this.peer}: ${what}; channels are ${state}`));
      return;
    }
    const { set } = this.channels;
    const stall = set.describeStall(isWrite ? SEND : RECEIVE, flight?.openParts ?? new Set());
    const waits = stall === '' ? 'waiting for the peer to confirm' : stall;
    const error = new TcpxError(code, `${this.peer}: ${what}: ${waits}`);
    this.channels.takeDown(error);
  }

  async #onDown(error: TcpxError, fenced: Promise<string | undefined>): Promise<void> {
    this.#deck.reset();
    const failing = [...this.#own.values()];
    for (const own of failing) this.#forget(own);
    const detail = await fenced;
    const told = describeDown(error, this.channels.lastDeaths, detail);
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
