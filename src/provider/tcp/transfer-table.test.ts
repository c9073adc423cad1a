import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../../test/support/expect-error.js';
import { TRANSFER_BLOCK } from '../../base/shared-layout.js';
import { createFixedMemory } from '../../os/fixed-memory.js';
import { TRANSFER_HOLDERS, TRANSFER_STATE, TransferState, transferWord } from './lane/layout.js';
import { SIGNAL_ENTRIES, TransferTable } from './transfer-table.js';

const ENTRY = {
  operation: 1,
  sessionIndex: 0,
  chunkCount: 3,
  remotesAt: 0,
  pairsAt: 64,
  chunksAt: 128,
  notifyBytes: -1,
  notifyAt: -1,
  holders: 1,
};

function makeTable(count = 4) {
  const entries = count + SIGNAL_ENTRIES;
  const memory = createFixedMemory(entries * TRANSFER_BLOCK.bytes);
  const table = new TransferTable(memory, 0, entries);
  const set = (slot: number, word: number, value: number): void => {
    memory.int32[transferWord(0, slot, word)] = value;
  };
  return { table, set };
}

test('transfer table: every entry once, then full, and the setting is named', () => {
  const { table } = makeTable();
  const slots = Array.from({ length: 4 }, () => table.allocate(ENTRY));
  assert.deepEqual([...slots].sort(), [0, 1, 2, 3]);
  assert.throws(() => table.assertFree(), withCode('ERR_USAGE_STATE', /4 .*transfersMax/));
  for (let count = 0; count < SIGNAL_ENTRIES; count++) table.allocate(ENTRY);
  assert.throws(() => table.allocate(ENTRY), /an entry is free/);
});

test('transfer table: an entry is not reused while a lane may look at it', () => {
  const { table, set } = makeTable(1);
  const slot = table.allocate(ENTRY);
  assert.ok(!table.isFinished(slot));
  set(slot, TRANSFER_STATE, TransferState.Done);
  assert.ok(table.isFinished(slot));
  table.free(slot);
  assert.throws(() => table.assertFree(), withCode('ERR_USAGE_STATE'));
  set(slot, TRANSFER_HOLDERS, 0);
  const generation = table.generation(slot);
  table.assertFree();
  assert.equal(table.allocate(ENTRY), slot);
  assert.equal(table.generation(slot), generation + 1);
  assert.equal(table.failure(slot), 0);
  assert.equal(table.channelBytes(slot, 0), 0);
});
