// The bootstrap, read top-down on both ends:
//
//   client                         server                      connection
//   HELLO (name, nonce)        →                                control
//                              ←   CHALLENGE (nonce, proof)
//   PROPOSE (proof, settings)  →
//                              ←   ACCEPT (session, addresses)  or REFUSE (code, reason)
//   ATTACH (session, proof)    →                                data, one per channel
//                              ←   ATTACHED (proof)
//
// Nothing else is obeyed before the proofs; every step has a deadline.

import { randomBytes } from 'node:crypto';
import { isTcpxError, TcpxError } from '../base/errors.js';
import {
  type Accept,
  type Agreement,
  type Attach,
  type Hello,
  ControlKind,
  Feature,
  NONCE_BYTES,
} from '../wire/control-frame.js';
import type { DataPath } from '../provider/receipt.js';
import { agree, checkAgreement, type Wish } from './agreement.js';
import type { ControlChannel } from './control-channel.js';
import {
  chooseProvider,
  offeredFeatures,
  offerOf,
  type ProviderChoice,
  type ProviderOffer,
} from './provider-choice.js';
import { attachProof, isSameProof, proofOf, type Transcript, type Trust } from './trust.js';

export interface Identity {
  readonly name: string;
  readonly generation: Uint8Array;
  readonly trust: Trust;
  readonly wish: Wish;
  /** Whether data channels run over shared memory; both ends must want it. */
  readonly isSharedMemory: boolean;
  readonly offer: ProviderOffer;
  readonly timeoutMs: number;
}

export function pathOf(self: Identity): DataPath {
  return self.isSharedMemory ? 'shm' : 'tcp host';
}

export function freshNonce(): Uint8Array {
  return randomBytes(NONCE_BYTES);
}

export interface ClientResult {
  readonly peerName: string;
  readonly peerGeneration: Uint8Array;
  readonly sessionKey: Uint8Array;
  readonly choice: ProviderChoice;
  readonly accept: Accept;
}

export async function greetServer(self: Identity, control: ControlChannel): Promise<ClientResult> {
  assertTrusted(self, control);
  const clientNonce = randomBytes(NONCE_BYTES);
  control.send({
    kind: ControlKind.Hello,
    features: featuresOf(self),
    generation: self.generation,
    nonce: clientNonce,
    hostId: self.offer.hostId,
    name: self.name,
  });
  const challenge = await control.next([ControlKind.Challenge], self.timeoutMs);
  checkFeatures(self, control, challenge.features, 'server');
  const transcript: Transcript = {
    clientGeneration: self.generation,
    serverGeneration: challenge.generation,
    clientNonce,
    serverNonce: challenge.nonce,
  };
  if (!isSameProof(challenge.proof, proofOf(self.trust.secret, 'server', transcript))) {
    // Told before we go, so that the server's log says why and from where.
    const error = authError(control, 'the server');
    refusePeer(control, error);
    throw error;
  }
  const choice = agreeProvider(self, control, offerOf(challenge.features, challenge.hostId));
  const proof = proofOf(self.trust.secret, 'client', transcript);
  control.send({ kind: ControlKind.Propose, proof, ...self.wish });
  const accept = await control.next([ControlKind.Accept], self.timeoutMs);
  checkAgreement(accept);
  const sessionKey = proofOf(self.trust.secret, 'session', transcript);
  const peerGeneration = challenge.generation;
  return { peerName: challenge.name, peerGeneration, sessionKey, choice, accept };
}

// Told before we go, so that the server's log says why.
function agreeProvider(self: Identity, control: ControlChannel, server: ProviderOffer) {
  try {
    return chooseProvider(self.offer, server, control.where);
  } catch (error) {
    refusePeer(control, error);
    throw error;
  }
}

export interface ServerResult {
  readonly peerName: string;
  readonly peerGeneration: Uint8Array;
  readonly sessionKey: Uint8Array;
  readonly choice: ProviderChoice;
  readonly agreement: Agreement;
}

/** Serves a HELLO up to the proof of the client; the caller sends ACCEPT or REFUSE. */
export async function greetClient(
  self: Identity,
  control: ControlChannel,
  hello: Hello,
): Promise<ServerResult> {
  assertTrusted(self, control);
  checkFeatures(self, control, hello.features, 'client');
  const serverNonce = randomBytes(NONCE_BYTES);
  const transcript: Transcript = {
    clientGeneration: hello.generation,
    serverGeneration: self.generation,
    clientNonce: hello.nonce,
    serverNonce,
  };
  control.send({
    kind: ControlKind.Challenge,
    features: featuresOf(self),
    generation: self.generation,
    nonce: serverNonce,
    hostId: self.offer.hostId,
    name: self.name,
    proof: proofOf(self.trust.secret, 'server', transcript),
  });
  const propose = await control.next([ControlKind.Propose], self.timeoutMs).catch(asAuthError);
  if (!isSameProof(propose.proof, proofOf(self.trust.secret, 'client', transcript))) {
    throw authError(control, 'the client');
  }
  const offer = offerOf(hello.features, hello.hostId);
  return {
    peerName: hello.name,
    peerGeneration: hello.generation,
    sessionKey: proofOf(self.trust.secret, 'session', transcript),
    choice: chooseProvider(offer, self.offer, control.where),
    agreement: agree(self.wish, propose),
  };
}

export interface AttachName {
  readonly sessionId: number;
  readonly channelIndex: number;
  readonly epoch: number;
  readonly nonce: Uint8Array;
}

/** Client's half of a data connection. */
export async function attachChannel(
  connection: ControlChannel,
  sessionKey: Uint8Array,
  attach: AttachName,
  timeoutMs: number,
): Promise<void> {
  const proof = attachProof(sessionKey, 'attach', attach);
  connection.send({ kind: ControlKind.Attach, ...attach, proof });
  const attached = await connection.next([ControlKind.Attached], timeoutMs);
  if (!isSameProof(attached.proof, attachProof(sessionKey, 'attached', attach))) {
    throw authError(connection, 'the server');
  }
}

/** Server's half: the client must know the session's key. */
export function checkAttach(key: Uint8Array, connection: ControlChannel, attach: Attach): void {
  if (!isSameProof(attach.proof, attachProof(key, 'attach', attach))) {
    throw authError(connection, 'the client');
  }
}

/** Server's answer to an ATTACH that was checked. */
export function admitChannel(connection: ControlChannel, key: Uint8Array, attach: Attach): void {
  connection.send({ kind: ControlKind.Attached, proof: attachProof(key, 'attached', attach) });
}

/** Tells the peer why, then closes. The peer may be gone already: that is not another error. */
export function refusePeer(control: ControlChannel, error: unknown): void {
  const isOurs = isTcpxError(error);
  try {
    if (control.socket.isOpen) {
      control.send({
        kind: ControlKind.Refuse,
        code: isOurs ? error.code : 'ERR_SYS_CALL',
        reason: isOurs ? error.message : 'internal error',
      });
    }
  } catch {
    // Nothing to add: the connection is closed below.
  }
  control.close();
}

function featuresOf(self: Identity): number {
  const shared = self.isSharedMemory ? Feature.SharedMemory : 0;
  return shared | offeredFeatures(self.offer);
}

function checkFeatures(
  self: Identity,
  control: ControlChannel,
  features: number,
  peer: 'client' | 'server',
): void {
  const doesPeer = (features & Feature.SharedMemory) !== 0;
  if (doesPeer === self.isSharedMemory) return;
  const [there, here] = doesPeer ? ['shm', 'tcp'] : ['tcp', 'shm'];
  const other = peer === 'client' ? 'server' : 'client';
  throw new TcpxError(
    'ERR_CONFIG_MISMATCH',
    `${control.where}: session.local: ${there} at the ${peer}, ${here} at the ${other}`,
    { facts: { name: 'session.local', peer: control.where } },
  );
}

/** Without a secret nobody beyond loopback, in either direction and on every connection. */
export function assertTrusted(self: Identity, control: ControlChannel): void {
  if (self.trust.acceptsNetwork || control.socket.isLoopback) return;
  throw new TcpxError(
    'ERR_PEER_UNTRUSTED',
    `${control.where}: without a secret only loopback peers are accepted ` +
      '(give both ends --secret-file, or --trust network)',
    { facts: { peer: control.where } },
  );
}

// A client that finds our proof wrong has another secret than we have.
function asAuthError(error: unknown): never {
  const hasRefused = isTcpxError(error, 'ERR_PEER_REFUSED');
  if (!hasRefused || error.facts['code'] !== 'ERR_WIRE_AUTH') throw error;
  const where = error.facts['peer'];
  throw new TcpxError('ERR_WIRE_AUTH', `${where}: the client has another secret, or none`, {
    facts: { peer: where },
    cause: error,
  });
}

function authError(control: ControlChannel, who: string): TcpxError {
  return new TcpxError(
    'ERR_WIRE_AUTH',
    `${control.where}: ${who} does not know the shared secret`,
    {
      facts: { peer: control.where },
    },
  );
}
