// The client's half of the bootstrap, spoken by hand: what an honest client says, so that tests can
// say nearly the same.

import { randomBytes } from 'node:crypto';
import { Transcript } from '../../src/engine/transcript.js';
import { attachProof } from '../../src/engine/trust.js';
import {
  type Agreement,
  ControlKind,
  encodeControl,
  Feature,
  type MessageOf,
} from '../../src/wire/control-frame.js';
import { RawPeer } from './raw-peer.js';

export const RAW_GENERATION = new Uint8Array(8).fill(2);
export const RAW_HOST_ID = new Uint8Array(16).fill(3);
export const RAW_WISH = { explicit: 0, channels: 1, windowChunks: 16, chunkBytes: 65536 };

export type Challenge = MessageOf<typeof ControlKind.Challenge>;
export type Accept = MessageOf<typeof ControlKind.Accept>;

export function rawHello(nonce: Uint8Array): MessageOf<typeof ControlKind.Hello> {
  const identity = { generation: RAW_GENERATION, nonce, hostId: RAW_HOST_ID, name: 'by hand' };
  return { kind: ControlKind.Hello, features: Feature.Tcp, ...identity };
}

type Wish = Agreement & { readonly explicit: number };

/** What was said up to CHALLENGE. */
export function transcriptOf(
  secret: Uint8Array,
  nonce: Uint8Array,
  challenge: Challenge,
): Transcript {
  const transcript = new Transcript(secret);
  transcript.add(rawHello(nonce));
  transcript.isProved(challenge);
  return transcript;
}

export function rawPropose(
  transcript: Transcript,
  wish: Wish = RAW_WISH,
): MessageOf<typeof ControlKind.Propose> {
  return transcript.sign({ kind: ControlKind.Propose, ...wish });
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
  const transcript = transcriptOf(secret, nonce, challenge);
  control.send(rawPropose(transcript, wish));
  const accept = await control.next();
  if (accept?.kind !== ControlKind.Accept) throw new Error(JSON.stringify(accept));
  if (!transcript.isProved(accept)) throw new Error('the server has not proved what it accepts');
  return { control, accept, key: transcript.sessionKey() };
}

/** A data connection that belongs to the session. */
export async function openRawChannel(port: number, session: RawSession, channelIndex = 0) {
  const data = await RawPeer.connect(port);
  data.sendBytes(rawAttach(session.accept.sessionId, channelIndex, session.key));
  const answer = await data.next();
  if (answer?.kind !== ControlKind.Attached) throw new Error(JSON.stringify(answer));
  return data;
}

const RAW_ACCEPT = {
  sessionId: 7,
  channels: 1,
  windowChunks: 16,
  chunkBytes: 65536,
  addresses: [],
};

/** The server's half by hand: it knows the secret, accepts what it likes; the session's key. */
export async function answerRaw(
  peer: RawPeer,
  said: Partial<Omit<Accept, 'proof' | 'kind'>> = {},
  secret: Uint8Array = new Uint8Array(0),
): Promise<Uint8Array> {
  const hello = await peer.next();
  if (hello?.kind !== ControlKind.Hello) throw new Error(`got ${hello?.kind}`);
  const transcript = new Transcript(secret);
  transcript.add(hello);
  const features = Feature.Tcp | (secret.length > 0 ? Feature.Secret : 0);
  const identity = { generation: RAW_GENERATION, hostId: RAW_HOST_ID, name: 'raw server' };
  const nonce = randomBytes(32);
  peer.send(transcript.sign({ kind: ControlKind.Challenge, features, nonce, ...identity }));
  const propose = await peer.next();
  if (propose?.kind !== ControlKind.Propose) throw new Error(`got ${propose?.kind}`);
  if (!transcript.isProved(propose)) throw new Error('the client has not proved itself');
  peer.send(transcript.sign({ kind: ControlKind.Accept, ...RAW_ACCEPT, ...said }));
  return transcript.sessionKey();
}
