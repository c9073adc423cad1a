import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ControlKind, Feature, type MessageOf } from '../wire/control-frame.js';
import { Transcript } from './transcript.js';

const SECRET = new TextEncoder().encode('a secret of sixteen bytes');
const HELLO: MessageOf<typeof ControlKind.Hello> = {
  kind: ControlKind.Hello,
  features: Feature.Tcp,
  generation: new Uint8Array(8).fill(1),
  nonce: new Uint8Array(32).fill(2),
  hostId: new Uint8Array(16).fill(3),
  name: 'client',
};
const SAID = { ...HELLO, kind: ControlKind.Challenge, name: 'server' } as const;
const WISH = {
  kind: ControlKind.Propose,
  explicit: 1,
  channels: 1,
  windowChunks: 2,
  chunkBytes: 3,
};

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

function begun(secret = SECRET, hello = HELLO): Transcript {
  const transcript = new Transcript(secret);
  transcript.add(hello);
  return transcript;
}

test('transcript: a proof depends on the secret, the step and all that was said before', () => {
  const challenge = begun().sign(SAID);
  const proofs = [
    challenge.proof,
    begun(new Uint8Array(0)).sign(SAID).proof,
    begun(SECRET, { ...HELLO, features: 0 }).sign(SAID).proof,
    begun(SECRET, { ...HELLO, name: 'Client' }).sign(SAID).proof,
    begun(SECRET, { ...HELLO, hostId: new Uint8Array(16) }).sign(SAID).proof,
    begun(SECRET, { ...HELLO, nonce: new Uint8Array(32) }).sign(SAID).proof,
    begun().sign({ ...SAID, features: 0 }).proof,
    begun().sign({ ...SAID, name: 'Server' }).proof,
    begun().sign({ ...WISH, kind: ControlKind.Propose }).proof,
    begun().sessionKey(),
  ];
  assert.equal(new Set(proofs.map(hex)).size, proofs.length);
  assert.ok(begun().isProved(challenge));
  assert.ok(!begun().isProved({ ...challenge, hostId: new Uint8Array(16) }));
  assert.ok(!begun(new Uint8Array(0)).isProved(challenge));
});

test('transcript: both ends have one key, and another when they have heard something else', () => {
  const speaker = begun();
  const listener = begun();
  assert.ok(listener.isProved(speaker.sign(SAID)));
  assert.equal(hex(speaker.sessionKey()), hex(listener.sessionKey()));
  const other = begun();
  other.isProved(begun().sign({ ...SAID, name: 'other' }));
  assert.notEqual(hex(other.sessionKey()), hex(speaker.sessionKey()));
});

test('transcript: a proof that is sent back is wrong in the other direction', () => {
  const challenge = begun().sign(SAID);
  const transcript = begun();
  transcript.isProved(challenge);
  const { channels, windowChunks, chunkBytes, explicit } = WISH;
  const settings = { channels, windowChunks, chunkBytes, explicit };
  const reflected = { kind: ControlKind.Propose, ...settings, proof: challenge.proof };
  assert.ok(!transcript.isProved(reflected));
});
