// Transfers of which one channel at a time pulls.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addRegion, block, LanePair } from '../../../../test/support/lane-pair.js';
import { fillPattern, findMismatch } from '../../../base/pattern.js';
import { COMMAND_DROP_CHANNEL } from './messages.js';

const BYTES = 300_000;
const CHANNELS = 4;

function openPair() {
  const pair = new LanePair({
    seed: 21,
    channels: CHANNELS,
    chunkBytes: 8192,
    windowChunks: 4,
    isByTurns: true,
    link: { callBytesMax: 7000 },
  });
  const local = addRegion(pair.a, BYTES);
  const remote = addRegion(pair.b, BYTES);
  let posted = 0;
  /** Moves all of it, checks it, and says which channels carried how much. */
  const move = (operation: 'write' | 'read', isMoving = (): boolean => true): number[] => {
    const [from, to] = operation === 'write' ? [local, remote] : [remote, local];
    fillPattern(from.memory, ++posted);
    const blocks = [block(local.region, remote.region, BYTES)];
    const slot = pair.a.post(operation, blocks, Uint8Array.of(posted));
    pair.run(() => pair.a.isFinished(slot) || !isMoving());
    if (!pair.a.isFinished(slot)) return [];
    assert.equal(pair.a.transfers.failure(slot), 0);
    assert.equal(findMismatch(to.memory, posted), -1, `transfer ${posted}`);
    const bytes = Array.from({ length: CHANNELS }, (_, channel) =>
      pair.a.transfers.channelBytes(slot, channel),
    );
    pair.a.transfers.free(slot);
    return bytes;
  };
  return { pair, move };
}

const isWhole = (bytes: number): boolean => bytes === BYTES;

for (const operation of ['write', 'read'] as const) {
  test(`pull turns: each ${operation} goes by one channel, and all have their turn`, () => {
    const { pair, move } = openPair();
    const turns = Array.from({ length: 2 * CHANNELS }, () => {
      const bytes = move(operation);
      assert.ok(bytes.some(isWhole), bytes.join(', '));
      return bytes.findIndex(isWhole);
    });
    const counts = Array.from({ length: CHANNELS }, (_, channel) => {
      return turns.filter((turn) => turn === channel).length;
    });
    assert.deepEqual(counts, [2, 2, 2, 2]);
    pair.destroy();
  });
}

test('pull turns: many at once are all whole, each by one channel', () => {
  const { pair } = openPair();
  const local = addRegion(pair.a, BYTES);
  const remote = addRegion(pair.b, BYTES);
  const slots = Array.from({ length: 12 }, () =>
    pair.a.post('write', [block(local.region, remote.region, BYTES)]),
  );
  for (const slot of slots) assert.equal(pair.finish(slot), 0);
  const used = slots.map((slot) => {
    return [0, 1, 2, 3].filter((channel) => pair.a.transfers.channelBytes(slot, channel) > 0);
  });
  // The channel that finds a transfer claimed to its end takes a chunk of the next.
  assert.ok(
    used.every((channels) => channels.length <= 2),
    JSON.stringify(used),
  );
  assert.equal(new Set(used.flat()).size, CHANNELS);
  pair.destroy();
});

test('pull turns: a channel that stands still has no turn until it moves again', () => {
  const { pair, move } = openPair();
  const [, stalled] = pair.links;
  assert.ok(stalled !== undefined);
  const setStalled = (isStalled: boolean): void => {
    stalled.toA.isStalled = isStalled;
    stalled.toB.isStalled = isStalled;
  };
  const session = pair.a.core.sessions[0];
  setStalled(true);
  // Until it is the turn of the channel that does not move.
  const isStill = (): boolean => session?.pullers.length === CHANNELS - 1;
  for (let tries = 0; tries < CHANNELS && !isStill(); tries++) move('write', () => !isStill());
  assert.ok(isStill());
  for (let index = 0; index < 2 * CHANNELS; index++) {
    assert.equal(move('write')[1], 0, 'others take its turns');
  }
  setStalled(false);
  pair.run(() => session?.pullers.length === CHANNELS);
  pair.settle();
  const again = Array.from({ length: CHANNELS }, () => move('write'));
  assert.ok(again.some((bytes) => bytes[1] === BYTES));
  pair.destroy();
});

test('pull turns: a channel that has ended has none', () => {
  const { pair, move } = openPair();
  pair.a.command(COMMAND_DROP_CHANNEL, [0, 2, 0]);
  pair.settle();
  const turns = Array.from({ length: 6 }, () => move('write').findIndex(isWhole));
  assert.deepEqual(new Set(turns), new Set([0, 1, 3]));
  pair.destroy();
});
