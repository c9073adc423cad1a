// What the peer sends and asks for: announcements that are received, reads that are answered, and
// the checks of both. Own reads land here too, since the peer announces them.

import { assert } from '../../base/assert.js';
import { TcpxError, toTcpxError } from '../../base/errors.js';
import type { Log } from '../../base/log.js';
import type { TransferNumber } from '../../base/quantity.js';
import {
  encodeMatch,
  encodeReason,
  MatchFlag,
  type MatchFrame,
  type MatchHead,
  MatchKind,
} from '../../wire/match-frame.js';
import type { DataOperation } from '../contract.js';
import { type BlockPlace, DISCARD } from './chunk-places.js';
import { type DerivedPlan, type KeptPlan, KeptPlans } from './described-plan.js';
import type { Epochs } from './epochs.js';
import { type Flight, isOwnWrite } from './flight.js';
import type { FlightDeck } from './flight-deck.js';
import type { MatchedHost } from './matched-host.js';
import type { MatchedRequest } from './matched-request.js';

export interface PeerFlightsParts {
  readonly peer: string;
  readonly log: Log;
  readonly host: MatchedHost;
  readonly chunkBytes: number;
  /** How long a flight of the peer's may take, beside what its bytes take at the least rate. */
  readonly patienceMs: number;
  /** Bytes a second. */
  readonly minRate: number;
  /**
   * Chunks of the peer's transfers under way, or blocks where there are more of them: each takes
   * memory. Those of a WRITE that is refused come all the same, so that at twice as many a rule is
   * broken.
   */
  readonly chunksMax: number;
  readonly deck: FlightDeck;
  readonly epochs: Pick<Epochs, 'send' | 'set' | 'takeDown'>;
  /** The own read of this number whose announcement is due, once; undefined where none is. */
  takeRead(transfer: TransferNumber): OwnRead | undefined;
  onReadLanded(transfer: TransferNumber, flight: Flight): void;
}

export interface OwnRead {
  readonly request: MatchedRequest;
  readonly derived: DerivedPlan;
}

const WANTED = { isRefused: false, isUnwanted: false };

export class PeerFlights {
  readonly #parts: PeerFlightsParts;
  #kept = new KeptPlans();
  /** READs that were cancelled before their owner announced them: it does so all the same. */
  readonly #unwanted = new Map<number, OwnRead>();
  /**
   * Flights that no deadline of this end covers, the peer's and those that nobody waits for any
   * more, and how to stop their clocks.
   */
  readonly #watched = new Map<Flight, () => void>();
  #chunks = 0;
  #bytes = 0;

  constructor(parts: PeerFlightsParts) {
    this.#parts = parts;
  }

  /** A new epoch begins with no plans. */
  reset(): void {
    this.#kept = new KeptPlans();
    this.#unwanted.clear();
    for (const stopClock of this.#watched.values()) stopClock();
    this.#watched.clear();
    this.#chunks = 0;
    this.#bytes = 0;
  }

  /**
   * Chunks of it are with the plugin, and regions with them, and it is the peer who has to do its
   * part, wanted or not: it ends by itself, or the epoch ends for it. What a peer has under way
   * counts as one, so that no transfer is blamed for those before it.
   */
  expectEnd(flight: Flight): void {
    assert(!this.#watched.has(flight), 'a flight has one clock');
    const { host, epochs, patienceMs, minRate } = this.#parts;
    const { totalBytes } = flight.derived.plan;
    this.#bytes += totalBytes;
    this.#chunks += isOfPeer(flight) ? costOf(flight.derived, flight.kind.lengths) : 0;
    const limitMs = Math.ceil(patienceMs + (this.#bytes / minRate) * 1000);
    const giveUp = (): void => {
      const { operation, transfer, role } = flight.kind;
      const what = `${operation} ${transfer}, ${role === 'send' ? 'sent' : 'received'} here`;
      const reason = `${what}, is not through after ${limitMs} ms`;
      epochs.takeDown(new TcpxError('ERR_PEER_TIMEOUT', reason));
    };
    this.#watched.set(flight, host.after(limitMs, giveUp));
  }

  #unwatch(flight: Flight): void {
    const stopClock = this.#watched.get(flight);
    if (stopClock === undefined) return;
    stopClock();
    this.#watched.delete(flight);
    this.#bytes -= flight.derived.plan.totalBytes;
    this.#chunks -= isOfPeer(flight) ? costOf(flight.derived, flight.kind.lengths) : 0;
  }

  #assertRoom(code: 'ERR_WIRE_LIMIT' | 'ERR_PEER_REFUSED', kept: KeptPlan, most: number): void {
    const chunks = this.#chunks + costOf(kept, kept.blocks.lengths);
    if (chunks <= most) return;
    throw new TcpxError(code, `${chunks} chunks in flight, tcpx.peerChunksMax allows ${most}`);
  }

  /** When it comes it is thrown away. */
  abandonRead(transfer: TransferNumber, read: OwnRead): void {
    this.#unwanted.set(transfer, read);
  }

  /** It does not come. */
  forgetRead(transfer: TransferNumber): void {
    this.#unwanted.delete(transfer);
  }

  onPlan({ plan, body, digest }: MatchFrame): void {
    const { chunkBytes, epochs } = this.#parts;
    this.#kept.keep(plan, body, digest, { chunkBytes, channelCount: epochs.set.count });
  }

  onAnnounce(frame: MatchFrame, operation: DataOperation): void {
    const { transfer } = frame;
    const target = operation === 'write' ? this.#writeTarget(frame) : this.#readTarget(frame);
    const hasNotify = operation === 'write' && (frame.flags & MatchFlag.Notify) !== 0;
    const notify = hasNotify ? frame.body.slice() : undefined;
    const { derived, places, lengths, entered, isRefused } = target;
    const kind = { operation, transfer, notify, lengths, entered, isRefused };
    const flight = this.#parts.deck.receive(kind, derived, frame.tag, places);
    // A READ of this end that is wanted has a deadline here.
    if (operation === 'write' || target.isUnwanted) this.expectEnd(flight);
    if ((frame.flags & MatchFlag.Paced) !== 0) {
      const flags = operation === 'read' ? MatchFlag.Read : 0;
      this.#parts.epochs.send(encodeMatch({ kind: MatchKind.Go, flags, transfer }));
    }
    if (flight.openParts.size === 0) this.onReceived(flight);
  }

  // The chunks of a WRITE that is refused come all the same: they are received in their turn and
  // thrown away.
  #writeTarget(head: MatchHead) {
    const { plan, transfer } = head;
    const kept = this.#kept.get(plan);
    const { lengths } = kept.blocks;
    // Before a region is entered: whoever throws here leaves none.
    this.#parts.deck.checkDue(head, kept);
    const { chunksMax } = this.#parts;
    this.#assertRoom('ERR_WIRE_LIMIT', kept, 2 * chunksMax);
    try {
      this.#assertRoom('ERR_PEER_REFUSED', kept, chunksMax);
      const entered = this.#enter(kept, 'write');
      return { derived: kept, places: kept.places, lengths, entered, ...WANTED };
    } catch (error) {
      this.#refuse(transfer, 'write', error);
      const places: BlockPlace[] = kept.places.map(() => DISCARD);
      return { derived: kept, places, lengths, entered: [], ...WANTED, isRefused: true };
    }
  }

  #readTarget(head: MatchHead) {
    const { transfer } = head;
    const unwanted = this.#unwanted.get(transfer);
    if (unwanted !== undefined) {
      this.#unwanted.delete(transfer);
      const { derived, request } = unwanted;
      this.#parts.deck.checkDue(head, derived);
      const places = request.places.map(() => DISCARD);
      const { lengths } = request;
      return { derived, places, lengths, entered: [], ...WANTED, isUnwanted: true };
    }
    const own = this.#parts.takeRead(transfer);
    if (own === undefined) {
      throw new TcpxError(
        'ERR_WIRE_STATE',
        `read ${transfer} was not asked for, or announced before`,
      );
    }
    this.#parts.deck.checkDue(head, own.derived);
    const { places, lengths } = own.request;
    return { derived: own.derived, places, lengths, entered: [], ...WANTED };
  }

  onRead({ plan, transfer }: MatchHead): void {
    const kept = this.#kept.get(plan);
    const { regions } = this.#parts.host;
    let entered: readonly number[] = [];
    try {
      this.#assertRoom('ERR_PEER_REFUSED', kept, this.#parts.chunksMax);
      entered = this.#enter(kept, 'read');
      regions.fillShadows(kept.places, kept.blocks.lengths);
    } catch (error) {
      this.#parts.host.leave(entered);
      this.#refuse(transfer, 'read', error);
      return;
    }
    const kind = { operation: 'read', transfer, lengths: kept.blocks.lengths, entered } as const;
    const { deck, host } = this.#parts;
    const before = deck.count;
    try {
      this.expectEnd(deck.send(kind, kept, kept.places, { plan: 0, notify: undefined }));
    } catch (error) {
      // What is on the deck is left with its epoch.
      if (deck.count === before) host.leave(entered);
      throw error;
    }
  }

  /** Lets the peer into the regions of a plan, or throws why not; `leave` undoes it. */
  #enter(kept: KeptPlan, right: 'read' | 'write'): readonly number[] {
    const entered = this.#parts.host.enter(kept.blocks.regions, kept.ends, right);
    try {
      this.#parts.host.regions.assertMapped(entered);
    } catch (error) {
      this.#parts.host.leave(entered);
      throw error;
    }
    return entered;
  }

  #refuse(transfer: TransferNumber, operation: DataOperation, error: unknown): void {
    const { code, message } = toTcpxError(error, 'ERR_WIRE_STATE', operation);
    const flags = operation === 'read' ? MatchFlag.Read : 0;
    const body = encodeReason({ code, reason: message });
    this.#parts.log.warn('operation refused', { peer: this.#parts.peer, code, reason: message });
    this.#parts.epochs.send(encodeMatch({ kind: MatchKind.Refuse, flags, transfer }, body));
  }

  /** Every chunk of it is in place. */
  onReceived(flight: Flight): void {
    const { host } = this.#parts;
    const { operation, transfer, isRefused, notify, lengths } = flight.kind;
    this.close(flight);
    if (isRefused === true) return;
    try {
      host.regions.drainShadows(flight.places, lengths);
    } catch (error) {
      this.#parts.epochs.takeDown(toTcpxError(error, 'ERR_CUDA_CALL', operation));
      return;
    }
    const flags = operation === 'read' ? MatchFlag.Read : 0;
    const landed = { kind: MatchKind.Landed, flags, transfer, tag: flight.lastTag };
    this.#parts.epochs.send(encodeMatch(landed));
    if (notify !== undefined) host.deliver(notify);
    if (operation === 'read') this.#parts.onReadLanded(transfer, flight);
  }

  /** It has finished at this end. */
  close(flight: Flight): void {
    this.#unwatch(flight);
    this.#parts.deck.remove(flight);
    this.#parts.host.leave(flight.kind.entered);
  }
}

/** Blocks that share a chunk have rows of their own on the way to the plugin. */
function costOf({ plan }: DerivedPlan, lengths: Float64Array): number {
  return Math.max(plan.chunkCount, lengths.length);
}

/** Not a WRITE of this end that was refused. */
function isOfPeer(flight: Flight): boolean {
  return !isOwnWrite(flight);
}
