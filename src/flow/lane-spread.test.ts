import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LaneSpread, leastLoaded } from './lane-spread.js';

const MIB = 1024 * 1024;

test('lane spread: all lanes while the peer is unknown, never more than chunks', () => {
  const spread = new LaneSpread();
  assert.equal(spread.lanesFor(MIB, 2, 8), 2);
  assert.equal(spread.lanesFor(64 * MIB, 128, 8), 8);
  assert.equal(spread.lanesFor(0, 0, 8), 0);
});

test('lane spread: a fast link keeps small transfers together, a slow one spreads them', () => {
  const cases = [
    // Bytes per µs of one lane, bytes of the transfer, lanes that pay.
    [5000, 64 * 1024, 1],
    [5000, MIB, 1],
    [5000, 4 * MIB, 4],
    [5000, 64 * MIB, 8],
    [125, MIB, 8],
    [125, 64 * 1024, 2],
  ] as const;
  for (const [rate, bytes, lanes] of cases) {
    const spread = new LaneSpread();
    spread.onDone(rate * 1000, 1000, 1);
    assert.equal(spread.lanesFor(bytes, 128, 8), lanes, `${bytes} bytes at ${rate}`);
  }
});

test('lane spread: the best rate counts, slower ones wear it down slowly', () => {
  const spread = new LaneSpread();
  spread.onDone(8_000_000, 1000, 8);
  assert.equal(spread.lanesFor(400_000, 8, 8), 2, '1000 bytes per µs and lane');
  for (let count = 0; count < 3; count++) spread.onDone(1000, 1000, 1);
  assert.equal(spread.lanesFor(400_000, 8, 8), 2);
  for (let count = 0; count < 100; count++) spread.onDone(100_000, 1000, 1);
  assert.equal(spread.lanesFor(400_000, 32, 8), 8, 'a link that has become slow');
  spread.onDone(100, 0, 1);
  assert.equal(spread.lanesFor(400_000, 32, 8), 8, 'no time, no rate');
});

test('least loaded: the first of equals, none that is taken', () => {
  const lanes = [2, 0, 3];
  assert.equal(leastLoaded([0, 0, 0, 0], lanes, 0), 2, 'in the order of the session');
  assert.equal(leastLoaded([0, 0, 1, 0], lanes, 0), 0);
  assert.equal(leastLoaded([1, 0, 1, 0], lanes, 0), 3);
  assert.equal(leastLoaded([5, 0, 1, 0], lanes, 1 << 3), 2, 'not lane 1: it is not the session’s');
  assert.throws(() => leastLoaded([0, 0, 0, 0], lanes, 0b1101), /than there are/);
});
