import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { withCode } from '../../test/support/expect-error.js';
import { isTcpxError } from '../base/errors.js';
import {
  CONTROL_BODY_BYTES_MAX,
  CONTROL_HEAD_BYTES,
  ControlKind,
  type ControlMessage,
  controlKindName,
  decodeControlBody,
  decodeControlHead,
  encodeControl,
  PROOF_BYTES,
  PROTOCOL_MAGIC,
} from './control-frame.js';
import { CONTROL_VECTORS } from './vectors/control-vectors.js';
import { bytesOfHex } from './vectors/data-vectors.js';

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

function decode(frame: Uint8Array): ControlMessage {
  const head = decodeControlHead(frame);
  assert.ok(head !== undefined);
  assert.equal(frame.length, CONTROL_HEAD_BYTES + head.bodyBytes);
  return decodeControlBody(head.kind, frame.subarray(CONTROL_HEAD_BYTES));
}

test('control frame: there is a golden vector for every kind', () => {
  const kinds = CONTROL_VECTORS.map((vector) => vector.message.kind);
  assert.deepEqual([...kinds].sort(), Object.values(ControlKind).sort());
  for (const { name, message } of CONTROL_VECTORS)
    assert.equal(name, controlKindName(message.kind));
});

for (const { name, message, hex, body } of CONTROL_VECTORS) {
  const golden = bytesOfHex(hex);

  test(`control frame: ${name} encodes to its golden bytes`, () => {
    assert.equal(hexOf(encodeControl(message)), hexOf(golden));
  });

  test(`control frame: ${name} decodes from its golden bytes`, () => {
    assert.deepEqual(decode(golden), message);
  });

  test(`control frame: the documented fields of ${name} fill its body`, () => {
    const sum = body.reduce((bytes, field) => bytes + field.bytes, 0);
    assert.equal(sum, golden.length - CONTROL_HEAD_BYTES);
  });

  test(`control frame: every truncation and every extension of ${name} is refused`, () => {
    const whole = golden.subarray(CONTROL_HEAD_BYTES);
    for (let bytes = 0; bytes < whole.length; bytes++) {
      const cut = () => decodeControlBody(message.kind, whole.subarray(0, bytes));
      assert.throws(cut, withCode('ERR_WIRE_FRAME'), `${bytes} bytes`);
    }
    const longer = Uint8Array.from([...whole, 0]);
    assert.throws(() => decodeControlBody(message.kind, longer), withCode('ERR_WIRE_FRAME'));
  });
}

test('control head: fewer bytes than a head are no answer yet, but garbage is told at once', () => {
  const golden = bytesOfHex(CONTROL_VECTORS[0]!.hex);
  for (let bytes = 0; bytes < CONTROL_HEAD_BYTES; bytes++) {
    assert.equal(decodeControlHead(golden.subarray(0, bytes)), undefined);
  }
  for (let index = 0; index < 4; index++) {
    const wrong = golden.slice(0, index + 1);
    wrong[index]! ^= 1;
    assert.throws(() => decodeControlHead(wrong), withCode('ERR_WIRE_MAGIC'), `byte ${index}`);
  }
});

function headWith(change: (view: DataView) => void): Uint8Array {
  const bytes = new Uint8Array(CONTROL_HEAD_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, PROTOCOL_MAGIC, true);
  view.setUint16(4, 2, true);
  view.setUint16(6, 1, true);
  change(view);
  return bytes;
}

test('control head: another version, unknown kind, long body, reserved bytes are refused', () => {
  const cases: [string, Parameters<typeof withCode>[0], (view: DataView) => void][] = [
    ['version 0', 'ERR_WIRE_VERSION', (view) => view.setUint16(4, 0, true)],
    ['version 1', 'ERR_WIRE_VERSION', (view) => view.setUint16(4, 1, true)],
    ['version 3', 'ERR_WIRE_VERSION', (view) => view.setUint16(4, 3, true)],
    ['kind 0', 'ERR_WIRE_FRAME', (view) => view.setUint16(6, 0, true)],
    ['kind 13', 'ERR_WIRE_FRAME', (view) => view.setUint16(6, 13, true)],
    ['reserved', 'ERR_WIRE_FRAME', (view) => view.setUint8(15, 1)],
    ['4,097 bytes', 'ERR_WIRE_LIMIT', (view) => view.setUint32(8, 4097, true)],
    ['4 GiB', 'ERR_WIRE_LIMIT', (view) => view.setUint32(8, 0xffffffff, true)],
  ];
  for (const [name, code, change] of cases) {
    assert.throws(() => decodeControlHead(headWith(change)), withCode(code), name);
  }
  const largest = headWith((view) => view.setUint32(8, CONTROL_BODY_BYTES_MAX, true));
  assert.equal(decodeControlHead(largest)?.bodyBytes, CONTROL_BODY_BYTES_MAX);
});

test('control body: hostile texts and counts are refused', () => {
  const accept = encodeControl(CONTROL_VECTORS[3]!.message).slice(CONTROL_HEAD_BYTES);
  new DataView(accept.buffer).setUint16(PROOF_BYTES + 16, 17, true);
  assert.throws(
    () => decodeControlBody(ControlKind.Accept, accept),
    withCode('ERR_WIRE_LIMIT', /17 addresses/),
  );
  const goodbye = (bytes: readonly number[]) => () =>
    decodeControlBody(ControlKind.Goodbye, Uint8Array.from(bytes));
  assert.throws(goodbye([2, 0, 0xff, 0xfe]), withCode('ERR_WIRE_FRAME', /UTF-8/));
  assert.throws(goodbye([0xff, 0xff]), withCode('ERR_WIRE_FRAME', /65535 bytes/));
  const long = new Uint8Array(2 + 513);
  new DataView(long.buffer).setUint16(0, 513, true);
  assert.throws(() => decodeControlBody(ControlKind.Goodbye, long), withCode('ERR_WIRE_FRAME'));
});

test('control body: random bytes are refused or decode to something that encodes to them', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...Object.values(ControlKind)),
      fc.uint8Array({ maxLength: 200 }),
      (kind, body) => {
        let message: ControlMessage;
        try {
          message = decodeControlBody(kind, body);
        } catch (error) {
          assert.ok(isTcpxError(error), String(error));
          return;
        }
        if (kind === ControlKind.Refuse || kind === ControlKind.Goodbye) return; // texts are cut
        assert.equal(hexOf(encodeControl(message).subarray(CONTROL_HEAD_BYTES)), hexOf(body));
      },
    ),
    { numRuns: 3000 },
  );
});

const word = fc.nat({ max: 0xffffffff });
const bytes16 = fc.uint8Array({ minLength: 16, maxLength: 16 });
const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 });
const name = fc.string({ maxLength: 60, unit: 'grapheme' });
const anyMessage: fc.Arbitrary<ControlMessage> = fc.oneof(
  fc.record({
    kind: fc.constant(ControlKind.Hello),
    features: word,
    generation: fc.uint8Array({ minLength: 8, maxLength: 8 }),
    nonce: bytes32,
    hostId: bytes16,
    name,
  }),
  fc.record({
    kind: fc.constant(ControlKind.Propose),
    proof: bytes32,
    explicit: word,
    channels: word,
    windowChunks: word,
    chunkBytes: word,
  }),
  fc.record({
    kind: fc.constant(ControlKind.Accept),
    proof: bytes32,
    sessionId: word,
    channels: word,
    windowChunks: word,
    chunkBytes: word,
    addresses: fc.array(fc.string({ maxLength: 20 }), { maxLength: 16 }),
  }),
  fc.record({
    kind: fc.constant(ControlKind.Attach),
    sessionId: word,
    channelIndex: word,
    epoch: fc.nat({ max: 0x7fffffff }),
    nonce: bytes32,
    proof: bytes32,
  }),
);

test('control frame: any message comes back as it went in', () => {
  const short = (message: ControlMessage): boolean =>
    !('name' in message) || new TextEncoder().encode(message.name).length <= 255;
  fc.assert(
    fc.property(anyMessage.filter(short), (message) => {
      assert.deepEqual(decode(encodeControl(message)), { ...message });
    }),
  );
});

test('control frame: a long reason is cut to what every decoder takes', () => {
  for (const letter of ['x', '€', '😀']) {
    for (const kind of [ControlKind.Refuse, ControlKind.Goodbye] as const) {
      const reason = letter.repeat(5000);
      const message =
        kind === ControlKind.Refuse ? { kind, code: 'ERR_SYS_CALL', reason } : { kind, reason };
      const decoded = decode(encodeControl(message));
      assert.ok('reason' in decoded && decoded.reason.length > 50);
    }
  }
});

test('control frame: texts with control characters are refused, and never written', () => {
  for (const sly of ['a\nb', '\u001b[2J', 'x\u0000', '\u009b1m', '\u2028']) {
    const message = { kind: ControlKind.Goodbye, reason: `a${sly}z` };
    const written = decode(encodeControl(message));
    assert.ok('reason' in written && /^[^\p{Cc}\u2028]+$/u.test(written.reason));
    const text = new TextEncoder().encode(sly);
    const body = Uint8Array.from([text.length, 0, ...text]);
    const read = () => decodeControlBody(ControlKind.Goodbye, body);
    assert.throws(read, withCode('ERR_WIRE_FRAME', /control characters/));
  }
});
