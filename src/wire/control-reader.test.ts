import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { AssertionFailure } from '../base/assert.js';
import { CONTROL_HEAD_BYTES, type ControlMessage, encodeControl } from './control-frame.js';
import { ControlReader } from './control-reader.js';
import { CONTROL_VECTORS } from './vectors/control-vectors.js';

function readAll(bytes: Uint8Array, pieceBytes: number): ControlMessage[] {
  const reader = new ControlReader();
  const messages: ControlMessage[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(bytes.length, at + Math.min(pieceBytes, reader.bytesWanted));
    const message = reader.push(bytes.subarray(at, end));
    if (message !== undefined) messages.push(message);
    at = end;
  }
  return messages;
}

test('control reader: frames in pieces of any length, and never a byte beyond one', () => {
  const messages = CONTROL_VECTORS.map((vector) => vector.message);
  const bytes = Buffer.concat(messages.map(encodeControl));
  for (const pieceBytes of [1, 3, 16, 17, 5000]) {
    assert.deepEqual(readAll(bytes, pieceBytes), messages);
  }
  const reader = new ControlReader();
  assert.equal(reader.bytesWanted, CONTROL_HEAD_BYTES);
  assert.throws(() => reader.push(new Uint8Array(CONTROL_HEAD_BYTES + 1)), AssertionFailure);
});

test('control reader: garbage is told at its first byte', () => {
  const reader = new ControlReader();
  assert.throws(() => reader.push(Uint8Array.of(7)), withCode('ERR_WIRE_MAGIC'));
});
