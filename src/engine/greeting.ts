// The greeting on a new control connection, one machine for each end:
//
//   client                          server
//   HELLO (offer, nonce)        →
//                               ←   CHALLENGE (offer, nonce, proof)
//   PROPOSE (settings, proof)   →
//                               ←   ACCEPT (session, settings, addresses, proof)  or REFUSE
//
// Nothing else is obeyed before the proofs. Pure: nonces and session numbers are given.

import { assert } from '../base/assert.js';
import type { TcpxError } from '../base/errors.js';
import type { LateChannels } from '../provider/tcp/channel-plan.js';
import {
  type Agreement,
  ControlKind,
  type ControlMessage,
  type MessageOf,
} from '../wire/control-frame.js';
import { agree, checkAgreement, isLateWished, WISH_LATE } from './agreement.js';
import { type ConnectionFacts, Exchange, type Outcome } from './exchange.js';
import {
  changedError,
  checkTrusted,
  featuresOf,
  type Identity,
  isSessionChecked,
  knowsLate,
  secretError,
} from './identity.js';
import { chooseProvider, isSameHost, offerOf, type ProviderChoice } from './provider-choice.js';
import { chooseSharing, type SharingChoice } from './session-sharing.js';
import { Transcript } from './transcript.js';

type Hello = MessageOf<typeof ControlKind.Hello>;
type Challenge = MessageOf<typeof ControlKind.Challenge>;
type Propose = MessageOf<typeof ControlKind.Propose>;
type Accept = MessageOf<typeof ControlKind.Accept>;
type Refuse = MessageOf<typeof ControlKind.Refuse>;

/** What both ends know of each other in the end. */
interface PeerFacts {
  readonly peerName: string;
  readonly peerGeneration: Uint8Array;
  readonly choice: ProviderChoice;
  readonly sharing: SharingChoice;
  readonly isChecked: boolean;
  readonly late: LateChannels;
}

export interface ClientResult extends PeerFacts {
  readonly sessionKey: Uint8Array;
  readonly accept: Accept;
}

export class ClientGreeting extends Exchange<ClientResult> {
  readonly #self: Identity;
  readonly #facts: ConnectionFacts;
  readonly #transcript: Transcript;
  readonly #nonce: Uint8Array;
  /** Who answered, once its proof was right. */
  #peer: PeerFacts | undefined;

  constructor(self: Identity, facts: ConnectionFacts, nonce: Uint8Array) {
    super(facts.where, self.timeoutMs);
    this.#self = self;
    this.#facts = facts;
    this.#nonce = nonce;
    this.#transcript = new Transcript(self.trust.secret.reveal());
  }

  protected override begin(): Outcome<ClientResult> {
    checkTrusted(this.#self, this.#facts);
    const hello: Hello = { kind: ControlKind.Hello, ...introduction(this.#self, this.#nonce) };
    this.#transcript.add(hello);
    return { send: [hello], due: [ControlKind.Challenge] };
  }

  protected override hear(message: ControlMessage): Outcome<ClientResult> {
    if (message.kind === ControlKind.Challenge) return this.#onChallenge(message);
    assert(message.kind === ControlKind.Accept, 'CHALLENGE or ACCEPT is due');
    return this.#onAccept(message);
  }

  #onChallenge(challenge: Challenge): Outcome<ClientResult> {
    assert(this.#peer === undefined, 'a server is challenged once');
    const { where } = this;
    if (!this.#transcript.isProved(challenge)) {
      throw secretError(where, this.#self, challenge.features, 'server');
    }
    const isKnown = knowsLate(challenge.features);
    const { wish } = this.#self;
    const explicit = isKnown ? wish.explicit : wish.explicit & ~WISH_LATE;
    this.#peer = {
      peerName: challenge.name,
      peerGeneration: challenge.generation,
      choice: chooseProvider(
        this.#self.offer,
        offerOf(challenge.features, challenge.hostId),
        where,
      ),
      sharing: sharingWith(where, this.#self, challenge, 'server'),
      isChecked: isSessionChecked(this.#self, challenge.features),
      late: { isKnown, beginsWithOne: isLateWished({ explicit }) },
    };
    const propose = this.#transcript.sign({ kind: ControlKind.Propose, ...wish, explicit });
    return { send: [propose], due: [ControlKind.Accept] };
  }

  #onAccept(accept: Accept): Outcome<ClientResult> {
    const peer = this.#peer;
    assert(peer !== undefined, 'ACCEPT is due only behind a right CHALLENGE');
    if (!this.#transcript.isProved(accept)) throw changedError(this.where);
    checkAgreement(accept, this.#self.wish, this.where);
    return { send: [], result: { ...peer, accept, sessionKey: this.#transcript.sessionKey() } };
  }
}

/** A client that has proved itself; its session may still be refused for other reasons. */
export interface ServerResult extends PeerFacts {
  readonly agreement: Agreement;
}

export interface Acceptance {
  readonly accept: Accept;
  readonly sessionKey: Uint8Array;
}

export class ServerGreeting extends Exchange<ServerResult> {
  readonly #self: Identity;
  readonly #facts: ConnectionFacts;
  readonly #transcript: Transcript;
  readonly #hello: Hello;
  readonly #nonce: Uint8Array;
  #agreement: Agreement | undefined;
  #sharing: SharingChoice | undefined;
  #isAccepted = false;

  constructor(self: Identity, facts: ConnectionFacts, hello: Hello, nonce: Uint8Array) {
    super(facts.where, self.timeoutMs);
    this.#self = self;
    this.#facts = facts;
    this.#hello = hello;
    this.#nonce = nonce;
    this.#transcript = new Transcript(self.trust.secret.reveal());
  }

  protected override begin(): Outcome<ServerResult> {
    checkTrusted(this.#self, this.#facts);
    this.#sharing = sharingWith(this.where, this.#self, this.#hello, 'client');
    this.#transcript.add(this.#hello);
    const said = introduction(this.#self, this.#nonce);
    const challenge = this.#transcript.sign({ kind: ControlKind.Challenge, ...said });
    return { send: [challenge], due: [ControlKind.Propose] };
  }

  protected override hear(message: ControlMessage): Outcome<ServerResult> {
    assert(message.kind === ControlKind.Propose, 'PROPOSE is due');
    return this.#onPropose(message);
  }

  #onPropose(propose: Propose): Outcome<ServerResult> {
    const { name, generation, features, hostId } = this.#hello;
    if (!this.#transcript.isProved(propose)) throw this.#secretError();
    const agreement = agree(this.#self.wish, propose);
    const choice = chooseProvider(offerOf(features, hostId), this.#self.offer, this.where);
    this.#agreement = agreement;
    const isChecked = isSessionChecked(this.#self, features);
    const sharing = this.#sharing;
    assert(sharing !== undefined, 'it was chosen before the challenge');
    const isKnown = knowsLate(features);
    const late = { isKnown, beginsWithOne: isKnown && isLateWished(propose) };
    const facts = { peerName: name, peerGeneration: generation, choice, sharing, late };
    return { send: [], result: { ...facts, isChecked, agreement } };
  }

  /** The session has a number: what the client is told, and the key that both ends then have. */
  accept(sessionId: number, addresses: readonly string[]): Acceptance {
    assert(this.#agreement !== undefined, 'only a client that has proved itself is accepted');
    assert(!this.#isAccepted, 'a client is accepted once');
    this.#isAccepted = true;
    const said = { kind: ControlKind.Accept, sessionId, ...this.#agreement, addresses } as const;
    const accept = this.#transcript.sign(said);
    return { accept, sessionKey: this.#transcript.sessionKey() };
  }

  // A client that finds our proof wrong has another secret than we have.
  protected override refused(refuse: Refuse): TcpxError {
    return refuse.code === 'ERR_WIRE_AUTH' ? this.#secretError() : super.refused(refuse);
  }

  #secretError(): TcpxError {
    return secretError(this.where, this.#self, this.#hello.features, 'client');
  }
}

// What is refused for its settings is refused before anything else is said.
function sharingWith(
  where: string,
  self: Identity,
  { features, hostId }: Pick<Hello, 'features' | 'hostId'>,
  peer: 'client' | 'server',
): SharingChoice {
  const isNear = isSameHost(self.offer, offerOf(features, hostId));
  return chooseSharing(where, self.local, features, isNear, peer);
}

function introduction(self: Identity, nonce: Uint8Array): Omit<Hello, 'kind'> {
  return {
    features: featuresOf(self),
    generation: self.generation,
    nonce,
    hostId: self.offer.hostId,
    name: self.name,
  };
}
