import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { withCode } from '../../test/support/expect-error.js';
import { isTcpxError } from '../base/errors.js';
import {
  decodeMatchHead,
  decodeReason,
  encodeMatch,
  encodeReason,
  MATCH_BODY_BYTES_MAX,
  MATCH_HEAD_BYTES,
  MatchKind,
} from './match-frame.js';
import { decodeMatchHello, encodeMatchHello, type MatchHello } from './match-hello.js';
import { decodeMatchPlan, encodeMatchPlan, type PlannedBlocks } from './match-plan.js';

const PLAN: PlannedBlocks = {
  chunkBytes: 65536,
  gatherBytes: 4096,
  weights: [2, 1, 0],
  regions: [
    { slot: 1, generation: 7, key: new Uint8Array(16).fill(1) },
    { slot: 9, generation: 3, key: new Uint8Array(16).fill(2) },
  ],
  regionIndexes: Uint32Array.of(0, 1, 0),
  offsets: Float64Array.of(0, 2 ** 40, 12),
  lengths: Float64Array.of(1, 65537, 5),
};

const HELLO: MatchHello = {
  plugin: {
    name: 'TCPX',
    version: '3.1.9',
    tableVersion: 7,
    isEmulated: true,
    pointerType: 'host',
  },
  chunkBytes: 524288,
  isHostRecv: true,
  nics: ['eth1', 'eth2'],
  handles: ['00'.repeat(128), 'ff'.repeat(128)],
};

function change(bytes: Uint8Array, edit: (view: DataView) => void): Uint8Array {
  const copy = bytes.slice();
  edit(new DataView(copy.buffer));
  return copy;
}

test('match frame: golden bytes of a head', () => {
  const announce = {
    kind: MatchKind.Announce,
    flags: 6,
    transfer: 3,
    plan: 2,
    sequence: 4,
    tag: 5,
    digest: 0xdeadbeef,
  };
  const frame = encodeMatch(announce, Uint8Array.of(1, 2));
  const hex = '04000600 02000000 03000000 02000000 04000000 05000000 efbeadde 00000000 0102';
  assert.equal(Buffer.from(frame).toString('hex'), hex.replaceAll(' ', ''));
  assert.deepEqual(decodeMatchHead(frame), { ...announce, bodyBytes: 2 });
});

test('match frame: hostile heads are refused by rule', () => {
  const good = encodeMatch({ kind: MatchKind.Plan }, new Uint8Array(8));
  const bad: [string, Parameters<typeof withCode>[0], (view: DataView) => void][] = [
    ['kind 0', 'ERR_WIRE_FRAME', (view) => view.setUint16(0, 0, true)],
    ['kind 11', 'ERR_WIRE_FRAME', (view) => view.setUint16(0, 11, true)],
    ['unknown flag', 'ERR_WIRE_FRAME', (view) => view.setUint16(2, 8, true)],
    ['reserved', 'ERR_WIRE_FRAME', (view) => view.setUint8(31, 1)],
    ['plan 64', 'ERR_WIRE_FRAME', (view) => view.setUint32(12, 64, true)],
    ['tag', 'ERR_WIRE_FRAME', (view) => view.setUint32(20, 0x80000000, true)],
    ['long', 'ERR_WIRE_LIMIT', (view) => view.setUint32(4, MATCH_BODY_BYTES_MAX + 1, true)],
  ];
  for (const [name, code, edit] of bad) {
    assert.throws(() => decodeMatchHead(change(good, edit)), withCode(code), name);
  }
  // Only a plan may be long: nobody makes us hold 16 MiB for a confirmation.
  for (const kind of [MatchKind.Landed, MatchKind.Read, MatchKind.Joined, MatchKind.Go]) {
    const frame = encodeMatch({ kind }, Uint8Array.of(1));
    assert.throws(() => decodeMatchHead(frame), withCode('ERR_WIRE_LIMIT'));
  }
});

test('match hello: survives its bytes; too many handles and trailing bytes are refused', () => {
  const bytes = encodeMatchHello(HELLO);
  assert.deepEqual(decodeMatchHello(bytes), HELLO);
  const longer = new Uint8Array([...bytes, 0]);
  assert.throws(() => decodeMatchHello(longer), withCode('ERR_WIRE_FRAME'));
  const many = { ...HELLO, handles: [], nics: Array.from({ length: 17 }, () => 'e') };
  assert.throws(() => decodeMatchHello(encodeMatchHello(many)), withCode('ERR_WIRE_LIMIT'));
});

test('match plan: survives its bytes', () => {
  assert.deepEqual(decodeMatchPlan(encodeMatchPlan(PLAN)), PLAN);
  fc.assert(
    fc.property(
      fc.array(fc.nat(1000), { minLength: 1, maxLength: 16 }),
      fc.array(fc.tuple(fc.nat(2 ** 30), fc.integer({ min: 1, max: 2 ** 30 })), { minLength: 1 }),
      (weights, blocks) => {
        const plan = {
          ...PLAN,
          weights,
          regionIndexes: Uint32Array.from(blocks, (_, index) => index % 2),
          offsets: Float64Array.from(blocks, ([offset]) => offset),
          lengths: Float64Array.from(blocks, ([, bytes]) => bytes),
        };
        assert.deepEqual(decodeMatchPlan(encodeMatchPlan(plan)), plan);
      },
    ),
  );
});

test('match plan: counts that lie, regions that are not there and blocks of no place', () => {
  const good = encodeMatchPlan(PLAN);
  const bad: [string, (view: DataView) => void][] = [
    ['no channels', (view) => view.setUint16(8, 0, true)],
    ['17 channels', (view) => view.setUint16(8, 17, true)],
    ['a million regions', (view) => view.setUint32(16, 1_000_000, true)],
    ['a billion blocks', (view) => view.setUint32(68, 2 ** 30, true)],
    ['region 2 of 2', (view) => view.setUint32(72, 2, true)],
    ['negative offset', (view) => view.setFloat64(88, -1, true)],
    ['NaN', (view) => view.setFloat64(88, Number.NaN, true)],
    ['half a byte', (view) => view.setFloat64(112, 0.5, true)],
    ['no bytes', (view) => view.setFloat64(112, 0, true)],
  ];
  for (const [name, edit] of bad) {
    assert.throws(() => decodeMatchPlan(change(good, edit)), withCode('ERR_WIRE_FRAME'), name);
  }
});

test('match bodies: random and mutated bytes are refused or mean something, nothing else', () => {
  const decoders = [decodeMatchPlan, decodeMatchHello, decodeReason];
  const honest = [encodeMatchPlan(PLAN), encodeMatchHello(HELLO)];
  const attempt = (bytes: Uint8Array): void => {
    for (const decode of decoders) {
      try {
        decode(bytes);
      } catch (error) {
        assert.ok(isTcpxError(error), String(error));
      }
    }
  };
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), attempt), { numRuns: 2000 });
  const mutated = fc.tuple(fc.nat(1), fc.nat(400), fc.nat(255)).map(([which, at, value]) => {
    const bytes = honest[which]!.slice();
    bytes[at % bytes.length] = value;
    return bytes;
  });
  fc.assert(fc.property(mutated, attempt), { numRuns: 2000 });
});

test('match reason: long words are cut, control characters become spaces', () => {
  const reason = { code: 'ERR_X', reason: 'a\n'.repeat(3000) };
  const decoded = decodeReason(encodeReason(reason));
  assert.equal(decoded.code, 'ERR_X');
  assert.equal(decoded.reason.length, 1024);
  assert.ok(encodeReason(reason).length + MATCH_HEAD_BYTES < 8192);
});
