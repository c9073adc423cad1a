import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isTcpxError } from '../../base/errors.js';
import {
  type ControlMessage,
  encodeMessage,
  MESSAGE_BYTES_MAX,
  MessageReader,
  parseMessage,
} from './control-message.js';

const isFrameError = (error: unknown): boolean => isTcpxError(error, 'ERR_WIRE_FRAME');

const announce = {
  kind: 'announce',
  epoch: 1,
  transfer: 3,
  op: 'write',
  sequence: 0,
  firstTag: 1,
  digest: 77,
  weights: [1, 1],
  gatherBytes: 4096,
  lengths: [10, 20],
  regions: [{ slot: 0, generation: 1, bytes: 100, key: 'a'.repeat(32) }],
  blocks: [
    [0, 0, 10],
    [0, 10, 20],
  ],
  isPaced: false,
} as const satisfies ControlMessage;

const hello = {
  kind: 'hello',
  protocol: 1,
  epoch: 1,
  plugin: { name: 'x', version: '1', tableVersion: 7, isEmulated: true, pointerType: 'cuda' },
  chunkBytes: 4096,
  isHostRecv: false,
  nics: ['eth1'],
  handles: ['0'.repeat(256)],
} as const satisfies ControlMessage;

test('tcpx message: any message comes back whole, however large', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 9000 }), (count) => {
      const blocks = Array.from({ length: count }, (_, index) => [0, index, 10] as const);
      const message = { ...announce, blocks };
      const reader = new MessageReader();
      const pieces = encodeMessage(message);
      const taken = pieces.map((piece) => reader.take(piece));
      assert.ok(pieces.every((piece) => piece.length <= 64 * 1024));
      assert.deepEqual(taken.at(-1), message);
      assert.ok(taken.slice(0, -1).every((part) => part === undefined));
    }),
    { numRuns: 20 },
  );
});

test('tcpx message: a field that is not as it should be is refused', () => {
  const bad: readonly unknown[] = [
    'text',
    [],
    {},
    { kind: 'gremlin', epoch: 1 },
    { ...announce, epoch: -1 },
    { ...announce, transfer: 1.5 },
    { ...announce, op: 'erase' },
    { ...announce, weights: 'x' },
    { ...announce, gatherBytes: -1 },
    { ...announce, lengths: [10, -1] },
    { ...announce, blocks: [[0, 0]] },
    { ...announce, blocks: [[0, -5, 10]] },
    { ...announce, regions: [{ slot: 0, generation: 1, bytes: 1, key: 'zz' }] },
    { ...announce, notify: 5 },
    { ...hello, handles: ['00'] },
    { ...hello, handles: 'x' },
    { ...hello, plugin: null },
    { ...hello, nics: [1] },
    { kind: 'landed', epoch: 1, transfer: 1, op: 'write', lastTag: 'x' },
  ];
  for (const value of bad) {
    assert.throws(() => parseMessage(JSON.stringify(value)), isFrameError, JSON.stringify(value));
  }
  assert.deepEqual(parseMessage(JSON.stringify(announce)), announce);
  assert.deepEqual(parseMessage(JSON.stringify(hello)), hello);
});

test('tcpx message: random bytes are refused, never anything worse', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      try {
        new MessageReader().take(bytes);
      } catch (error) {
        assert.ok(isFrameError(error));
      }
    }),
  );
});

test('tcpx message: pieces beyond the limit are refused before they are put together', () => {
  const reader = new MessageReader();
  const piece = new Uint8Array(1024 * 1024).fill(32);
  piece[0] = 1;
  assert.throws(() => {
    for (let bytes = 0; bytes <= MESSAGE_BYTES_MAX + 1; bytes += piece.length) reader.take(piece);
  }, isFrameError);
});
