// Which send belongs to which receive: the n-th to the n-th, in the order of their posts, whatever
// order the peer's messages take. Pure. The peer's numbers are checked: each comes once.

import { TcpxError } from '../base/errors.js';
import type { LiveOperation } from './live-operation.js';
import type { Misfit, Offer } from './match-message.js';

export interface Pair {
  readonly number: number;
  readonly send: LiveOperation;
  readonly offer: Offer;
  readonly misfit: Misfit | undefined;
}

export class MatchQueue {
  readonly #offersMax: number;
  readonly #sends = new Map<number, LiveOperation>();
  readonly #offers = new Map<number, Offer>();
  readonly #receives = new Map<number, LiveOperation>();
  #lastSend = 0;
  #lastReceive = 0;
  #matched = 0;

  /** `offersMax`: receives that a peer may have offered and that wait for a send here. */
  constructor(offersMax: number) {
    this.#offersMax = offersMax;
  }

  get waitingSends(): Iterable<LiveOperation> {
    return this.#sends.values();
  }

  get openReceives(): Iterable<LiveOperation> {
    return this.#receives.values();
  }

  addSend(send: LiveOperation): void {
    this.#sends.set(++this.#lastSend, send);
  }

  addReceive(receive: LiveOperation): number {
    this.#receives.set(++this.#lastReceive, receive);
    return this.#lastReceive;
  }

  addOffer(offer: Offer): void {
    if (offer.number <= this.#matched || this.#offers.has(offer.number)) {
      throw broken(`receive ${offer.number} is offered twice`);
    }
    if (this.#offers.size >= this.#offersMax) {
      throw broken(`${this.#offersMax} receives wait, session.offersMax allows no more`);
    }
    this.#offers.set(offer.number, offer);
  }

  /** The next send and receive that belong together, if both are there. */
  takePair(): Pair | undefined {
    const number = this.#matched + 1;
    const send = this.#sends.get(number);
    const offer = this.#offers.get(number);
    if (send === undefined || offer === undefined) return undefined;
    this.#sends.delete(number);
    this.#offers.delete(number);
    this.#matched = number;
    return { number, send, offer, misfit: misfitOf(send, offer) };
  }

  /** The receive that the peer speaks of; it must be one that waits. */
  takeReceive(number: number): LiveOperation {
    const receive = this.#receives.get(number);
    if (receive === undefined) throw broken(`receive ${number} does not wait`);
    this.#receives.delete(number);
    return receive;
  }

  clear(): void {
    this.#sends.clear();
    this.#offers.clear();
    this.#receives.clear();
  }
}

function misfitOf(send: LiveOperation, offer: Offer): Misfit | undefined {
  if (send.facts.tag !== offer.tag) return 'ERR_XFER_ORDER';
  if (send.facts.bytes < offer.target.bytes) return 'ERR_XFER_SHORT';
  if (send.facts.bytes > offer.target.bytes) return 'ERR_XFER_OVERSIZE';
  return undefined;
}

function broken(rule: string): TcpxError {
  return new TcpxError('ERR_WIRE_STATE', `posted receives: ${rule}`, { facts: { rule } });
}
