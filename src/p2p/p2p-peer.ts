// One peer of a p2p session: its engine session, and what is posted to it in both directions.

import { TcpxError, toTcpxError } from '../base/errors.js';
import type { Session } from '../engine/session.js';
import { liveSession } from '../engine/session-face.js';
import type { LiveOperation, OperationFacts } from './live-operation.js';
import {
  decodeMatch,
  encodeLanded,
  encodeOffer,
  encodeRefuse,
  MatchKind,
  type Misfit,
} from './match-message.js';
import { MatchQueue, type Pair } from './match-queue.js';

export class P2pPeer {
  readonly name: string;
  readonly session: Session;
  readonly #queue: MatchQueue;
  /** Sends that have found their receive and have not ended. */
  readonly #moving = new Set<LiveOperation>();

  readonly #hasRoom: () => boolean;
  /** What the engine has no room for at the moment, in order. */
  #held: (() => void)[] = [];

  constructor(name: string, session: Session, offersMax: number, hasRoom: () => boolean) {
    this.name = name;
    this.#queue = new MatchQueue(offersMax);
    this.session = session;
    this.#hasRoom = hasRoom;
    void session.closed.then(() => this.#end());
  }

  /** On a session that was lost it fails, as what waited there did. */
  postSend(send: LiveOperation): void {
    if (liveSession(this.session).isLost(`send to ${this.name}`)) {
      send.fail(unmatched('send', send.facts, this, this.session.error));
      return;
    }
    this.#queue.addSend(send);
    this.#match();
  }

  postReceive(receive: LiveOperation): void {
    if (liveSession(this.session).isLost(`receive from ${this.name}`)) {
      receive.fail(unmatched('receive', receive.facts, this, this.session.error));
      return;
    }
    const number = this.#queue.addReceive(receive);
    const target = receive.region.descriptor;
    const offer = encodeOffer({ number, tag: receive.facts.tag, target });
    this.#post(() => void this.session.notify(offer));
  }

  /** Posts what was held back, as far as there is room now. */
  proceed(): void {
    let count = 0;
    for (; count < this.#held.length && this.#hasRoom() && this.session.isReady; count++) {
      this.#held[count]?.();
    }
    if (count > 0) this.#held.splice(0, count);
  }

  #post(action: () => void): void {
    if (this.#held.length === 0 && this.#hasRoom()) action();
    else this.#held.push(action);
  }

  /** A message about receives; a peer that breaks the rules loses its session. */
  onMessage(bytes: Uint8Array): void {
    try {
      const message = decodeMatch(bytes);
      if (message.kind === MatchKind.Offer) {
        this.#queue.addOffer(message);
        this.#match();
        return;
      }
      const receive = this.#queue.takeReceive(message.number);
      if (message.kind === MatchKind.Refuse) {
        receive.fail(misfitError(message.misfit, 'receive', receive.facts, this.name));
      } else if (message.bytes === receive.facts.bytes) {
        receive.finish();
      } else {
        throw new TcpxError('ERR_WIRE_STATE', `${message.bytes} bytes landed in a receive`);
      }
    } catch (error) {
      this.#expel(toTcpxError(error, 'ERR_WIRE_FRAME', this.name));
    }
  }

  #match(): void {
    for (;;) {
      const pair = this.#queue.takePair();
      if (pair === undefined) return;
      if (pair.misfit === undefined) this.#begin(pair);
      else this.#refuse(pair, pair.misfit);
    }
  }

  #refuse({ send, offer, number }: Pair, misfit: Misfit): void {
    this.#post(() => void this.session.notify(encodeRefuse(number, offer.tag, misfit)));
    send.fail(misfitError(misfit, 'send', send.facts, this.name));
  }

  #begin(pair: Pair): void {
    pair.send.begin();
    this.#moving.add(pair.send);
    this.#post(() => this.#write(pair));
  }

  #write({ send, offer, number }: Pair): void {
    const { offset, bytes, tag } = send.facts;
    const places = { local: send.region, localOffset: offset, remote: offer.target };
    const notify = encodeLanded(number, tag, bytes);
    try {
      const transfer = this.session.write([{ ...places, remoteOffset: 0, bytes }], { notify });
      transfer.done.then(
        (receipt) => {
          this.#moving.delete(send);
          send.receipt = receipt;
          send.finish();
        },
        (error: unknown) => this.#fail(send, error),
      );
    } catch (error) {
      this.#fail(send, error);
    }
  }

  #fail(send: LiveOperation, error: unknown): void {
    this.#moving.delete(send);
    send.fail(toTcpxError(error, 'ERR_XFER_FAILED', `send to ${this.name}`));
  }

  #expel(error: TcpxError): void {
    for (const receive of this.#queue.openReceives) receive.fail(error);
    this.session.close().catch(() => undefined);
  }

  /** Nothing comes any more: what waits for a counterpart stays without one. */
  #end(): void {
    const cause = this.session.error;
    for (const send of this.#queue.waitingSends)
      send.fail(unmatched('send', send.facts, this, cause));
    for (const receive of this.#queue.openReceives) {
      receive.fail(unmatched('receive', receive.facts, this, cause));
    }
    for (const send of this.#moving) send.fail(unmatched('send', send.facts, this, cause));
    this.#moving.clear();
    this.#held = [];
    this.#queue.clear();
  }
}

const MISFIT_TEXTS: Readonly<Record<Misfit, string>> = {
  ERR_XFER_ORDER: 'its counterpart has another tag: the two ends post in different orders',
  ERR_XFER_SHORT: 'the send is shorter than the receive',
  ERR_XFER_OVERSIZE: 'the send is longer than the receive',
};

function misfitError(misfit: Misfit, kind: string, facts: OperationFacts, peer: string): TcpxError {
  return new TcpxError(misfit, `${describe(kind, facts, peer)}: ${MISFIT_TEXTS[misfit]}`, {
    facts: { tag: facts.tag, bytes: facts.bytes, peer },
  });
}

function unmatched(
  kind: string,
  facts: OperationFacts,
  peer: P2pPeer,
  cause: TcpxError | undefined,
): TcpxError {
  const reason = cause === undefined ? 'the session ended' : cause.message;
  const message = `${describe(kind, facts, peer.name)}: no counterpart came: ${reason}`;
  return new TcpxError('ERR_XFER_UNMATCHED', message, {
    facts: { tag: facts.tag, bytes: facts.bytes, peer: peer.name },
    ...(cause === undefined ? {} : { cause }),
  });
}

function describe(kind: string, facts: OperationFacts, peer: string): string {
  return `${kind} of ${facts.bytes} bytes with ${peer}, tag ${facts.tag}`;
}
