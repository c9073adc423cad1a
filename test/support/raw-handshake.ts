// The client's half of the bootstrap, spoken by hand: what an honest client says, so that tests can
// say nearly the same.

import { randomBytes } from 'node:crypto';
import { attachProof, proofOf, type Transcript } from '../../src/engine/trust.js';
import {
  type Agreement,
  ControlKind,
  type ControlMessage,
  encodeControl,
  Feature,
} from '../../src/wire/control-frame.js';
import { RawPeer } from './raw-peer.js';

export const RAW_GENERATION = new Uint8Array(8).fill(2);
export const RAW_HOST_ID = new Uint8Array(16).fill(3);
export const RAW_WISH = { explicit: 0, channels: 1, windowChunks: 16, chunkBytes: 65536 };

type MessageOf<K> = Extract<ControlMessage, { kind: K }>;
export type Challenge = MessageOf<typeof ControlKind.Challenge>;
export type Accept = MessageOf<typeof ControlKind.Accept>;

export function rawHello(nonce: Uint8Array): MessageOf<typeof ControlKind.Hello> {
  const identity = { generation: RAW_GENERATION, nonce, hostId: RAW_HOST_ID, name: 'by hand' };
  return { kind: ControlKind.Hello, features: Feature.Tcp, ...identity };
}

export function transcriptOf(nonce: Uint8Array, challenge: Challenge): Transcript {
  return {
    clientGeneration: RAW_GENERATION,
    serverGeneration: challenge.generation,
    clientNonce: nonce,
    serverNonce: challenge.nonce,
  };
}

export function rawPropose(
  secret: Uint8Array,
  transcript: Transcript,
  wish: Agreement & { readonly explicit: number } = RAW_WISH,
): MessageOf<typeof ControlKind.Propose> {
  return { kind: ControlKind.Propose, proof: proofOf(secret, 'client', transcript), ...wish };
}

export function rawAttach(sessionId: number, channelIndex: number, key: Uint8Array, epoch = 0) {
  const attach = { sessionId, channelIndex, epoch, nonce: randomBytes(32) };
  const proof = attachProof(key, 'attach', attach);
  return encodeControl({ kind: ControlKind.Attach, ...attach, proof });
}

export interface RawSession {
  readonly control: RawPeer;
  readonly accept: Accept;
  readonly key: Uint8Array;
}

/** A handshake as it should be, up to ACCEPT. */
export async function openRawSession(
  port: number,
  secret: Uint8Array = new Uint8Array(0),
  wish = RAW_WISH,
): Promise<RawSession> {
  const control = await RawPeer.connect(port);
  const nonce = randomBytes(32);
  control.send(rawHello(nonce));
  const challenge = await control.next();
  if (challenge?.kind !== ControlKind.Challenge) throw new Error(`got ${challenge?.kind}`);
  const transcript = transcriptOf(nonce, challenge);
  control.send(rawPropose(secret, transcript, wish));
  const accept = await control.next();
  if (accept?.kind !== ControlKind.Accept) throw new Error(JSON.stringify(accept));
  return { control, accept, key: proofOf(secret, 'session', transcript) };
}

/** A data connection that belongs to the session. */
export async function openRawChannel(port: number, session: RawSession, channelIndex = 0) {
  const data = await RawPeer.connect(port);
  data.sendBytes(rawAttach(session.accept.sessionId, channelIndex, session.key));
  const answer = await data.next();
  if (answer?.kind !== ControlKind.Attached) throw new Error(JSON.stringify(answer));
  return data;
}
