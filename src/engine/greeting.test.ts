// Both machines of a greeting against each other, without sockets: what they agree on, and what
// happens when somebody between them changes a bit, or one loses its connection or its time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { AssertionFailure } from '../base/assert.js';
import { isTcpxError, TcpxError } from '../base/errors.js';
import { SecretBytes } from '../base/secret-bytes.js';
import { ControlKind, type ControlMessage, encodeControl } from '../wire/control-frame.js';
import { ControlReader } from '../wire/control-reader.js';
import type { Move } from './exchange.js';
import { ClientGreeting, type ClientResult, ServerGreeting } from './greeting.js';
import type { Identity } from './identity.js';
import { Transcript } from './transcript.js';

const FACTS = { where: '192.0.2.1:5', isLoopback: false };
const WISH = { channels: 2, windowChunks: 16, chunkBytes: 65536, explicit: 0 };
const SECRET = 'a shared secret of some length';

function identity(name: string, secret = SECRET, wish = WISH): Identity {
  const byte = name.charCodeAt(0);
  return {
    name,
    generation: new Uint8Array(8).fill(byte),
    trust: {
      secret: new SecretBytes(new TextEncoder().encode(secret)),
      acceptsNetwork: true,
      name: 'secret',
    },
    wish,
    local: 'tcp',
    isChecked: false,
    offer: {
      hasTcp: true,
      hasTcpx: true,
      isSameHostServed: false,
      hostId: new Uint8Array(16).fill(byte),
    },
    timeoutMs: 100,
  };
}

const nonce = (fill: number): Uint8Array => new Uint8Array(32).fill(fill);

/** The message as it comes out of the wire, changed on its way. */
function carry(message: ControlMessage, change: (frame: Uint8Array) => void): ControlMessage {
  const frame = encodeControl(message);
  change(frame);
  const reader = new ControlReader();
  let heard: ControlMessage | undefined;
  for (const byte of frame) heard = reader.push(Uint8Array.of(byte)) ?? heard;
  if (heard === undefined) throw new TcpxError('ERR_PEER_TIMEOUT', 'half a frame');
  return heard;
}

function only<T>({ send, next }: Move<T>): ControlMessage {
  if (next.kind === 'failed') throw next.error;
  assert.equal(send.length, 1);
  return send[0]!;
}

function resultOf<T>({ next }: Move<T>): T {
  if (next.kind === 'failed') throw next.error;
  assert.ok(next.kind === 'done');
  return next.result;
}

interface Ends {
  readonly client?: Identity;
  readonly server?: Identity;
}

/** A whole greeting; `change` sees every frame with its number. */
function greet(
  { client = identity('client'), server = identity('server') }: Ends = {},
  change: (frame: Uint8Array, step: number) => void = () => undefined,
) {
  const calling = new ClientGreeting(client, FACTS, nonce(1));
  const hello = carry(only(calling.start(0)), (frame) => change(frame, 0));
  assert.ok(hello.kind === ControlKind.Hello);
  const called = new ServerGreeting(server, FACTS, hello, nonce(2));
  const challenge = carry(only(called.start(0)), (frame) => change(frame, 1));
  const propose = carry(only(calling.onMessage(challenge, 1)), (frame) => change(frame, 2));
  const atServer = resultOf(called.onMessage(propose, 2));
  const accepted = called.accept(7, ['10.0.0.1']);
  const accept = carry(accepted.accept, (frame) => change(frame, 3));
  const atClient: ClientResult = resultOf(calling.onMessage(accept, 3));
  return { atClient, atServer, serverKey: accepted.sessionKey };
}

test('greeting: both ends agree on settings, provider and key, and know each other', () => {
  const { atClient, atServer, serverKey } = greet();
  assert.deepEqual(atClient.sessionKey, serverKey);
  assert.deepEqual(atClient.choice, atServer.choice);
  assert.equal(atClient.choice.provider, 'tcpx');
  const { channels, windowChunks, chunkBytes, sessionId, addresses } = atClient.accept;
  assert.deepEqual({ channels, windowChunks, chunkBytes }, atServer.agreement);
  assert.deepEqual([sessionId, addresses], [7, ['10.0.0.1']]);
  assert.deepEqual([atClient.peerName, atServer.peerName], ['server', 'client']);
});

test('greeting: a bit that is changed anywhere in any frame leaves no session', () => {
  const lengths: number[] = [];
  greet({}, (frame, step) => {
    lengths[step] = frame.length;
  });
  assert.equal(lengths.length, 4);
  for (const secret of [SECRET, '']) {
    const ends = { client: identity('client', secret), server: identity('server', secret) };
    for (const [step, length] of lengths.entries()) {
      for (let bit = 0; bit < length * 8; bit++) {
        const flip = (frame: Uint8Array, at: number): void => {
          if (at === step) frame[bit >> 3]! ^= 1 << (bit & 7);
        };
        assert.throws(
          () => greet(ends, flip),
          (error) => isTcpxError(error) && /^ERR_(WIRE|CONFIG|PEER)_/.test(error.code),
          `bit ${bit} of frame ${step}`,
        );
      }
    }
  }
});

test('greeting: a server that does not keep to a firm setting of its client is refused', () => {
  const client = identity('client', SECRET, { ...WISH, channels: 1, explicit: 1 });
  const calling = new ClientGreeting(client, FACTS, nonce(1));
  const transcript = new Transcript(client.trust.secret.reveal());
  const hello = helloOf(calling.start(0));
  transcript.add(hello);
  const challenge = transcript.sign({ ...hello, kind: ControlKind.Challenge, name: 'liar' });
  const propose = only(calling.onMessage(challenge, 0));
  assert.ok(propose.kind === ControlKind.Propose && transcript.isProved(propose));
  const settings = { channels: 4, windowChunks: 16, chunkBytes: 65536 };
  const said = { kind: ControlKind.Accept, sessionId: 1, ...settings, addresses: [] } as const;
  const { next } = calling.onMessage(transcript.sign(said), 0);
  assert.ok(next.kind === 'failed');
  const text = /192\.0\.2\.1:5: flow\.channels: set by hand to 1 at the client, the server says 4/;
  assert.ok(withCode('ERR_CONFIG_MISMATCH', text)(next.error));
});

test('greeting: a wrong proof is told by the end that lacks the secret', () => {
  const cases: [string, string, RegExp][] = [
    ['', SECRET, /192\.0\.2\.1:5: this end has no shared secret, the server has one/],
    [SECRET, '', /192\.0\.2\.1:5: the server has no shared secret, this end has one/],
    [SECRET, `${SECRET}!`, /the server has another shared secret than this end/],
  ];
  for (const [own, theirs, text] of cases) {
    const ends = { client: identity('client', own), server: identity('server', theirs) };
    assert.throws(() => greet(ends), withCode('ERR_WIRE_AUTH', text));
  }
});

test('greeting: the server says the same of its client, also when that refuses it', () => {
  const cases: [string, string, RegExp][] = [
    ['', SECRET, /the client has no shared secret, this end has one/],
    [SECRET, '', /this end has no shared secret, the client has one/],
    [SECRET, `${SECRET}!`, /the client has another shared secret/],
  ];
  for (const [client, server, text] of cases) {
    const hello = only(new ClientGreeting(identity('client', client), FACTS, nonce(1)).start(0));
    assert.ok(hello.kind === ControlKind.Hello);
    const answers: ControlMessage[] = [
      { kind: ControlKind.Refuse, code: 'ERR_WIRE_AUTH', reason: 'wrong' },
      { kind: ControlKind.Propose, ...WISH, proof: new Uint8Array(32) },
    ];
    for (const answer of answers) {
      const called = new ServerGreeting(identity('server', server), FACTS, hello, nonce(2));
      called.start(0);
      const { next } = called.onMessage(answer, 0);
      assert.ok(next.kind === 'failed' && withCode('ERR_WIRE_AUTH', text)(next.error));
    }
  }
});

test('greeting: each step has its time, from when it began', () => {
  const calling = new ClientGreeting(identity('client'), FACTS, nonce(1));
  const hello = calling.start(1000);
  assert.deepEqual(hello.next, { kind: 'wait', untilUs: 101_000 });
  assert.deepEqual(calling.onTime(100_999), { send: [], next: hello.next }, 'an early alarm');
  const called = new ServerGreeting(identity('server'), FACTS, helloOf(hello), nonce(2));
  const proposed = calling.onMessage(only(called.start(0)), 60_000);
  assert.deepEqual(proposed.next, { kind: 'wait', untilUs: 160_000 });
  const { next } = calling.onTime(160_000);
  assert.ok(next.kind === 'failed');
  assert.ok(withCode('ERR_PEER_TIMEOUT', /no ACCEPT within 100 ms/)(next.error));
});

function helloOf(move: Move<ClientResult>) {
  const hello = only(move);
  assert.ok(hello.kind === ControlKind.Hello);
  return hello;
}

test('greeting: a lost connection, a refusal and a frame out of turn are what they are', () => {
  const lost = new TcpxError('ERR_PEER_LOST', 'gone');
  const begin = () => {
    const machine = new ClientGreeting(identity('client'), FACTS, nonce(1));
    machine.start(0);
    return machine;
  };
  assert.deepEqual(begin().onLost(lost).next, { kind: 'failed', error: lost });
  const refuse = { kind: ControlKind.Refuse, code: 'ERR_WIRE_LIMIT', reason: 'full' } as const;
  const refused = begin().onMessage(refuse, 0).next;
  assert.ok(refused.kind === 'failed');
  assert.ok(withCode('ERR_PEER_REFUSED', /ERR_WIRE_LIMIT: full/)(refused.error));
  const early = begin().onMessage({ kind: ControlKind.Attached, proof: nonce(0) }, 0).next;
  assert.ok(early.kind === 'failed');
  assert.ok(withCode('ERR_WIRE_STATE', /ATTACHED where CHALLENGE is due/)(early.error));
});

test('greeting: a machine asserts that it is asked in its turn', () => {
  const machine = new ClientGreeting(identity('client'), FACTS, nonce(1));
  const goodbye = { kind: ControlKind.Goodbye, reason: '' } as const;
  assert.throws(() => machine.onMessage(goodbye, 0), AssertionFailure, 'before the start');
  const hello = helloOf(machine.start(0));
  assert.throws(() => machine.start(0), AssertionFailure, 'twice');
  machine.onLost(new TcpxError('ERR_PEER_LOST', 'gone'));
  assert.throws(() => machine.onMessage(goodbye, 0), AssertionFailure, 'behind its end');
  assert.throws(() => machine.onTime(0), AssertionFailure, 'behind its end');
  const called = new ServerGreeting(identity('server'), FACTS, hello, nonce(2));
  called.start(0);
  assert.throws(() => called.accept(1, []), AssertionFailure, 'nobody is accepted unproved');
});

test('greeting: without a secret nobody beyond loopback is greeted, from either end', () => {
  const trust = {
    secret: new SecretBytes(new Uint8Array(0)),
    acceptsNetwork: false,
    name: 'loopback',
  } as const;
  const near = { ...FACTS, isLoopback: true };
  const self = { ...identity('self'), trust };
  const { next } = new ClientGreeting(self, FACTS, nonce(1)).start(0);
  assert.ok(next.kind === 'failed' && next.error.code === 'ERR_PEER_UNTRUSTED');
  const hello = helloOf(new ClientGreeting(self, near, nonce(1)).start(0));
  const called = new ServerGreeting(self, FACTS, hello, nonce(2)).start(0).next;
  assert.ok(called.kind === 'failed' && called.error.code === 'ERR_PEER_UNTRUSTED');
});
