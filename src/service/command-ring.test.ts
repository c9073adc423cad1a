import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import {
  COMMAND_CANCEL,
  COMMAND_NOTIFY,
  COMMAND_POST,
  NOTIFY_RECORD,
  POST_RECORD,
} from '../base/service-layout.js';
import { RING_BLOCK } from '../base/shared-layout.js';
import { publishRecords, reserveRecord } from '../os/record-ring.hot.js';
import { RecordRing } from '../os/record-ring.js';
import { CommandRing } from './command-ring.js';

const CAPACITY = 1024;

function pair() {
  const buffer = new ArrayBuffer(RING_BLOCK.bytes + CAPACITY);
  const memory = { int32: new Int32Array(buffer), uint8: new Uint8Array(buffer) };
  const writer = new RecordRing(memory, 0, CAPACITY);
  const put = (kind: number, words: readonly number[], text = ''): void => {
    const bytes = new TextEncoder().encode(text);
    const at = reserveRecord(writer, kind, words.length * 4 + bytes.length);
    assert.ok(at >= 0);
    memory.int32.set(words, at / 4);
    memory.uint8.set(bytes, at + words.length * 4);
    publishRecords(writer);
  };
  return { memory, put, reader: new CommandRing(memory, 0, CAPACITY) };
}

test('command ring: commands come out as they were put in, round and round', () => {
  const { put, reader } = pair();
  for (let round = 1; round <= 100; round++) {
    put(COMMAND_POST, [3, round, 250, 5], 'hello');
    put(COMMAND_POST, [4, round, 0, -1]);
    put(COMMAND_CANCEL, [3, round]);
    put(COMMAND_NOTIFY, [7, 2], 'ho');
    const first = reader.take();
    assert.ok(first?.kind === 'post' && first.deadlineMs === 250 && first.number === round);
    assert.equal(Buffer.from(first.notify ?? []).toString(), 'hello');
    const second = reader.take();
    assert.ok(second?.kind === 'post' && second.notify === undefined && second.request === 4);
    assert.deepEqual(reader.take(), { kind: 'cancel', request: 3, number: round });
    const last = reader.take();
    assert.ok(last?.kind === 'notify' && last.peer === 7);
    assert.equal(Buffer.from(last.message).toString(), 'ho');
    assert.equal(reader.take(), undefined);
    assert.ok(reader.isEmpty);
  }
});

const BREAKS: Readonly<Record<string, (ring: ReturnType<typeof pair>) => void>> = {
  'a tail beyond the ring': ({ memory }) => (memory.int32[0] = CAPACITY + 8),
  'a tail that runs back': ({ memory }) => (memory.int32[0] = -8),
  'a record of no bytes': ({ memory }) => (memory.int32[0] = 8),
  'a record longer than what waits': ({ memory, put }) => {
    put(COMMAND_CANCEL, [1, 2]);
    memory.int32[RING_BLOCK.bytes / 4] = 64;
  },
  'a kind that nobody knows': ({ put }) => put(99, [1, 2]),
  'a record too short for its kind': ({ put }) => put(COMMAND_POST, [1]),
  'a message longer than its record': ({ put }) => put(COMMAND_NOTIFY, [0, 100], 'short'),
  'a message of less than no bytes': ({ put }) => put(COMMAND_POST, [0, 1, 0, -2]),
  'a deadline before now': ({ put }) => put(COMMAND_POST, [0, 1, -5, -1]),
};
for (const [name, act] of Object.entries(BREAKS)) {
  test(`command ring: ${name} breaks a rule`, () => {
    const ring = pair();
    act(ring);
    assert.throws(() => ring.reader.take(), withCode('ERR_WIRE_FRAME'));
  });
}

test('command ring: what is kept of a message does not change with the ring', () => {
  const { memory, put, reader } = pair();
  put(COMMAND_NOTIFY, [0, 4], 'safe');
  const command = reader.take();
  memory.uint8.fill(0);
  assert.ok(command?.kind === 'notify');
  assert.equal(Buffer.from(command.message).toString(), 'safe');
  assert.equal(NOTIFY_RECORD.bytes + POST_RECORD.bytes, 24);
});
