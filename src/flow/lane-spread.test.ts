import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../base/assert.js';
import { chooseLane, type LaneMemory, LaneSpread, LaneSpreads, loadOf } from './lane-spread.js';

const MIB = 1024 * 1024;

/** Transfers one after another over a link of this kind; the share of each number of lanes. */
function settle(bytes: number, turns: number, timeUs: (lanes: number) => number) {
  const spread = new LaneSpread();
  const counts: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const lanes = spread.lanesFor(bytes, 128, 8);
    if (turn >= turns / 2) counts[lanes] = (counts[lanes] ?? 0) + 1;
    spread.onDone(bytes, timeUs(lanes), lanes);
  }
  return counts.map((count) => count / (turns / 2));
}

test('lane spread: before anything is known a lane has 2 MiB, and a chunk at least', () => {
  const first = (bytes: number, chunks: number) => new LaneSpread().lanesFor(bytes, chunks, 8);
  assert.equal(first(MIB, 2), 1);
  assert.equal(first(4 * MIB, 8), 2);
  assert.equal(first(64 * MIB, 128), 8);
  assert.equal(first(64 * MIB, 3), 3);
  assert.equal(first(64 * 1024, 1), 1);
  assert.equal(first(0, 0), 0);
});

test('lane spread: a fast link keeps 1 MiB on one lane, whatever is tried', () => {
  const share = settle(MIB, 1024, (lanes) => 170 + 45 * lanes);
  assert.ok((share[1] ?? 0) > 0.95, JSON.stringify(share));
});

test('lane spread: a number of lanes that proved hopeless is seldom tried again', () => {
  const share = settle(64 * MIB, 8192, (lanes) => 14_000 / lanes);
  assert.ok((share[4] ?? 0) < 0.01, JSON.stringify(share));
  assert.ok((share[4] ?? 0) > 0, 'though never given up');
});

test('lane spread: what is expected is what the next usual transfer gets, taking no turn', () => {
  const spread = new LaneSpread();
  for (let turn = 0; turn < 100; turn++) assert.equal(spread.expected(MIB, 8), 1);
  assert.equal(spread.expected(64 * MIB, 8), 8);
  assert.equal(spread.expected(64 * MIB, 2), 2);
  assert.equal(spread.lanesFor(MIB, 2, 8), 1, 'the first turn is no trial');
});

test('lane spread: a slow link gets all its lanes for 1 MiB soon', () => {
  const share = settle(MIB, 256, (lanes) => 8000 / lanes + 50);
  assert.ok((share[8] ?? 0) > 0.8, JSON.stringify(share));
});

test('lane spread: lanes that gain nothing are given back', () => {
  const equal = settle(64 * MIB, 1024, () => 5000);
  assert.ok((equal[1] ?? 0) > 0.9, JSON.stringify(equal));
  const worth = settle(64 * MIB, 1024, (lanes) => 14_000 / lanes);
  assert.ok((worth[8] ?? 0) > 0.9, JSON.stringify(worth));
});

test('lane spread: a wild sample moves nothing, neither a fast trial nor a slow usual one', () => {
  const spread = new LaneSpread();
  const turns = (count: number) => {
    for (let turn = 0; turn < count; turn++) {
      spread.onDone(MIB, 200, spread.lanesFor(MIB, 2, 8));
    }
  };
  turns(12);
  for (const us of [200, 200, 200, 200, 200, 200, 1, 200]) {
    const tried = spread.lanesFor(MIB, 2, 8);
    assert.equal(tried, 2, 'eight in a row are a trial');
    spread.onDone(MIB, us, tried);
  }
  assert.equal(spread.lanesFor(MIB, 2, 8), 1);
  const paused = settle(MIB, 2048, pausing());
  assert.ok((paused[1] ?? 0) > 0.9, JSON.stringify(paused));
});

test('lane spread: a trial that met something else does not shut out what is better', () => {
  const spread = new LaneSpread(undefined, 1);
  let trials = 0;
  let turns = 0;
  for (; spread.expected(64 * MIB, 2) === 1 && turns < 10_000; turns++) {
    const lanes = spread.lanesFor(64 * MIB, 128, 2);
    if (lanes === 2) trials++;
    const disturbed = trials <= 8 ? 100 : 1;
    spread.onDone(64 * MIB, lanes === 2 ? 600 * disturbed : 1000, lanes);
  }
  assert.ok(turns < 4000, `${turns} turns`);
});

test('lane spread: begins with no more than it may; more lanes need two good trials', () => {
  const spread = new LaneSpread(undefined, 1);
  assert.equal(spread.lanesFor(64 * MIB, 128, 2), 1);
  const after = (turns: number): number => {
    for (let turn = 0; turn < turns; turn++) {
      const lanes = spread.lanesFor(64 * MIB, 128, 2);
      spread.onDone(64 * MIB, lanes === 1 ? 8000 : 7000, lanes);
    }
    return spread.expected(64 * MIB, 2);
  };
  assert.deepEqual([after(25), after(11)], [1, 2], 'one may be luck');
});

/** One lane is best; every 199th transfer meets a pause of the machine. */
function pausing(): (lanes: number) => number {
  let count = 0;
  return (lanes) => (++count % 199 === 0 ? 200_000 : 170 + 45 * lanes);
}

// Measured on 16 cores: 4 of 8 lanes were kept although 8 were 15 % faster.
test('lane spread: lanes that have slept are not judged by their first transfer', () => {
  let [awake, transfers] = [0, 0];
  const share = settle(64 * MIB, 2048, (lanes) => {
    const coldUs = (lanes > awake ? 1500 : 0) + (transfers++ < 3 ? 8000 : 0);
    awake = lanes;
    return 9000 / lanes ** 0.5 + coldUs;
  });
  assert.ok((share[8] ?? 0) > 0.9, JSON.stringify(share));
});

// Two lanes on two cores under bbr: paced for half a link, one lane's connection needs some
// transfers until it has the whole.
test('lane spread: a connection that grows slowly is judged by what it has grown to', () => {
  let alone = 0;
  const share = settle(64 * MIB, 1024, (lanes) => {
    alone = lanes === 1 ? alone + 1 : 0;
    return lanes === 1 ? 8000 * Math.max(1, 1.6 - alone / 8) : 11_000;
  });
  assert.ok((share[1] ?? 0) > 0.9, JSON.stringify(share));
});

// Staged GPU memory on 16 cores: 4 of 8 lanes were kept for ever although 8 were 1.2 times as fast.
// Whatever was tried while code was compiled and clocks rose was faster than what came before it.
test('lane spread: what is tried while a machine warms up is not called better for it', () => {
  const timesUs = [0, 8000, 5200, 4200, 3400, 3300, 3200, 3000, 2900];
  for (const [warmth, turns] of [
    [3, 10],
    [1, 40],
    [6, 25],
  ] as const) {
    let turn = 0;
    const share = settle(64 * MIB, 1024, (lanes) => {
      return at(timesUs, lanes) * (1 + warmth * Math.exp(-turn++ / turns));
    });
    assert.ok((share[8] ?? 0) > 0.9, `${warmth} times, ${turns} turns: ${JSON.stringify(share)}`);
  }
});

test('lane spread: a trial while a machine slows down is no verdict on its lanes', () => {
  let turn = 0;
  const share = settle(MIB, 1024, (lanes) => (8000 / lanes + 50) * (1 + turn++ / 100));
  assert.ok((share[8] ?? 0) > 0.8, JSON.stringify(share));
});

test('lane spread: a trial that a transfer of few chunks cannot make is none', () => {
  const spread = new LaneSpread();
  for (let turn = 0; turn < 200; turn++) {
    const lanes = spread.lanesFor(4 * MIB, 2, 8);
    assert.ok(lanes <= 2);
    spread.onDone(4 * MIB, 1000 / lanes, lanes);
  }
  assert.equal(spread.expected(4 * MIB, 8), 2);
});

test('lane spread: transfers of two sizes in turn are compared by the byte', () => {
  const spread = new LaneSpread();
  let wrong = 0;
  for (let turn = 0; turn < 2000; turn++) {
    const bytes = turn % 2 === 0 ? MIB : 1.9 * MIB;
    const lanes = spread.lanesFor(bytes, 4, 8);
    if (lanes > 1) wrong++;
    spread.onDone(bytes, (bytes / MIB) * (170 + 45 * lanes), lanes);
  }
  assert.ok(wrong < 200, `${wrong} of 2000 on more lanes than pay`);
});

test('lane spread: what reads or staged memory have taught says nothing about plain writes', () => {
  const spreads = new LaneSpreads();
  const kinds = [
    ['write', 'plain', 1],
    ['read', 'plain', 8],
    ['write', 'staged', 8],
  ] as const;
  for (let turn = 0; turn < 400; turn++) {
    for (const [operation, memory, best] of kinds) {
      const spread = spreads.of(operation, memory);
      const lanes = spread.lanesFor(MIB, 16, 8);
      spread.onDone(MIB, best === 1 ? 170 + 45 * lanes : 8000 / lanes, lanes);
    }
  }
  const found = kinds.map(([operation, memory]) => spreads.of(operation, memory).expected(MIB, 8));
  assert.deepEqual(found, [1, 8, 8]);
});

test('lane spread: memory that lanes copy begins with more lanes than other memory', () => {
  const spreads = new LaneSpreads();
  const begins = (memory: LaneMemory) =>
    [64 * 1024, MIB / 4, MIB, 8 * MIB].map((bytes) =>
      spreads.of('write', memory).expected(bytes, 4),
    );
  assert.deepEqual(begins('copied'), [1, 1, 4, 4]);
  assert.deepEqual(begins('plain'), [1, 1, 1, 4]);
  assert.deepEqual(begins('staged'), [1, 1, 1, 4]);
});

test('lane spread: lanes that are gone are not asked for', () => {
  const spread = new LaneSpread();
  for (let turn = 0; turn < 20; turn++)
    spread.onDone(64 * MIB, 2000, spread.lanesFor(64 * MIB, 128, 8));
  for (let turn = 0; turn < 20; turn++) assert.ok(spread.lanesFor(64 * MIB, 128, 2) <= 2);
});

test('lane choice: the least loaded of those not taken; small ones share one', () => {
  const lanes = [2, 0, 3];
  const large = (loads: number[], taken = 0) => chooseLane(loads, lanes, taken, MIB);
  assert.equal(large([0, 0, 0, 0]), 2, 'in the order of the session');
  assert.equal(large([0, 0, 1, 0]), 0);
  assert.equal(large([1, 0, 1, 0]), 3);
  assert.equal(large([5, 0, 1, 0], 1 << 3), 2, 'not lane 1: it is not the session’s');
  assert.throws(() => large([0, 0, 0, 0], 0b1101), /than there are/);
  const small = (loads: number[], bytes = 4096) => chooseLane(loads, lanes, 0, bytes);
  assert.equal(small([0, 0, 63, 0]), 2);
  assert.equal(small([0, 0, 64, 0]), 0);
  assert.equal(small([90, 0, 80, 90]), 2, 'all are busy');
  assert.equal(small([0, 0, loadOf(MIB), 0]), 0, 'not behind a large one');
});

test('lane choice: a lane takes 256 KiB of small transfers, and four at least', () => {
  const fitting = (bytes: number): number => {
    for (let count = 0, load = 0; ; count++, load += loadOf(bytes)) {
      if (chooseLane([load, 0], [0, 1], 0, bytes) === 1) return count;
    }
  };
  const bytes = [0, 16, 4096, 16 * 1024, 64 * 1024, 128 * 1024, MIB / 4, MIB];
  assert.deepEqual(bytes.map(fitting), [64, 64, 64, 16, 4, 4, 1, 1]);
});
