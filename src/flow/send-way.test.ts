import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../base/assert.js';
import { seededRandom } from '../base/random.js';
import { RING_WAYS, SendWay, type SendWayName } from './send-way.js';

const MIB = 1024 * 1024;
const ROUNDS = 2000;

interface Course {
  /** Transfers before the way that was used last was used for good. */
  readonly settledAt: number;
  readonly changes: number;
  readonly last: SendWayName;
  /** Time of all against the better way from the first transfer on. */
  readonly cost: number;
}

/** Transfers one after another; a copy takes `copyUs` where a reference takes 1000, plus noise. */
function run(copyUs: number, noise: number, seed = 1): Course {
  const random = seededRandom(seed);
  const learner = new SendWay();
  let usual: SendWayName = 'splice';
  let changes = 0;
  let settledAt = 0;
  let spentUs = 0;
  let bestUs = 0;
  for (let turn = 0; turn < ROUNDS; turn++) {
    const way = learner.wayFor(MIB, true);
    const factor = 1 + noise * (random.nextBetween(0, 1000) / 1000);
    const us = (way === 'copy' ? copyUs : 1000) * factor;
    spentUs += us;
    bestUs += Math.min(copyUs, 1000) * factor;
    learner.onDone(MIB, us, way, 1);
    const now = learner.wayFor(MIB, false);
    if (now === usual) continue;
    usual = now;
    changes++;
    settledAt = turn;
  }
  return { settledAt, changes, last: usual, cost: spentUs / bestUs - 1 };
}

test('send way: a table of machines, with and without noise', () => {
  const cases: readonly (readonly [number, number, SendWayName])[] = [
    // µs of a copy against 1000 by reference, noise, the way in the end.
    [700, 0, 'copy'],
    [890, 0, 'copy'],
    [940, 0, 'copy'],
    [960, 0, 'splice'],
    [1000, 0, 'splice'],
    [1300, 0, 'splice'],
    [800, 0.3, 'copy'],
    [1100, 0.3, 'splice'],
    [1500, 1, 'splice'],
  ];
  for (const [copyUs, noise, last] of cases) {
    for (let seed = 1; seed <= 20; seed++) {
      const course = run(copyUs, noise, seed);
      const label = `${copyUs} µs, noise ${noise}, seed ${seed}: ${JSON.stringify(course)}`;
      assert.equal(course.last, last, label);
      assert.ok(course.settledAt <= 40 || noise > 0, label);
      // Each change begins anew, so that one by chance is undone within some thirty transfers.
      assert.ok(course.changes <= (noise > 0 ? 6 : 1), label);
      // A copy that gains less than 5 % is left alone for its CPU.
      assert.ok(course.cost < (copyUs === 960 ? 0.05 : 0.02), label);
    }
  }
});

test('send way: what has become faster is found again', () => {
  const learner = new SendWay();
  const turns = (count: number, copyUs: number) => {
    for (let turn = 0; turn < count; turn++) {
      const way = learner.wayFor(MIB, true);
      learner.onDone(MIB, way === 'copy' ? copyUs : 1000, way, 1);
    }
    return learner.wayFor(MIB, false);
  };
  assert.equal(turns(100, 800), 'copy');
  assert.match(learner.reasonFor(MIB), /^auto: a copy took 0\.80 × the time of references$/);
  assert.equal(turns(1000, 1200), 'splice');
});

test('send way: what is hardly slower is tried often, what is far slower seldom', () => {
  const gaps = (copyUs: number): number => {
    const turns = copied(new SendWay(), 5000, () => copyUs).slice(-2);
    return at(turns, 1) - at(turns, 0);
  };
  assert.equal(gaps(1010), 17);
  assert.equal(gaps(1200), 41);
  assert.equal(gaps(2000), 201);
  assert.equal(gaps(9000), 503);
});

/** Which of `count` transfers were copied, where a copy takes so long against 1000. */
function copied(learner: SendWay, count: number, copyUs: (turn: number) => number): number[] {
  const turns: number[] = [];
  for (let turn = 1; turn <= count; turn++) {
    const way = learner.wayFor(MIB, true);
    if (way === 'copy') turns.push(turn);
    learner.onDone(MIB, way === 'copy' ? copyUs(turn) : 1000, way, 1);
  }
  return turns;
}

test('send way: two clear losses are enough to know, and are looked at again all the same', () => {
  assert.deepEqual(
    copied(new SendWay(), 300, () => 2000),
    [5, 10, 211],
  );
  assert.equal(copied(new SendWay(), 60, () => 1300).length, 5);
  // Two that something else had slowed down.
  const learner = new SendWay();
  const later = copied(learner, 1000, (turn) => (turn <= 10 ? 2000 : 800));
  assert.equal(later[2], 211);
  assert.equal(learner.wayFor(MIB, false), 'copy');
  assert.match(learner.reasonFor(MIB), /0\.80/);
});

test('send way: with another number of lanes all is new, and sizes have nothing in common', () => {
  const learner = new SendWay();
  for (let turn = 0; turn < 60; turn++) {
    const way = learner.wayFor(MIB, true);
    learner.onDone(MIB, way === 'copy' ? 800 : 1000, way, 1);
  }
  assert.equal(learner.wayFor(MIB, false), 'copy');
  assert.equal(learner.wayFor(64 * MIB, false), 'splice');
  assert.match(learner.reasonFor(64 * MIB), /no copy has been tried/);
  for (let turn = 0; turn < 60; turn++) {
    const way = learner.wayFor(MIB, true);
    learner.onDone(MIB, way === 'copy' ? 1200 : 1000, way, 2);
  }
  assert.equal(learner.wayFor(MIB, false), 'splice');
});

test('send way: nothing is tried where something else is', () => {
  const learner = new SendWay();
  for (let turn = 0; turn < 50; turn++) assert.equal(learner.wayFor(MIB, false), 'splice');
});

test('send way: few bytes begin with a copy, and change for a gain of 3 % either way', () => {
  const KIB = 1024;
  const learner = new SendWay();
  assert.equal(learner.wayFor(127 * KIB, false), 'copy');
  assert.match(learner.reasonFor(127 * KIB), /by copy first/);
  assert.equal(learner.wayFor(128 * KIB, false), 'splice');
  const turns = (copyUs: number, spliceUs: number) => {
    for (let turn = 0; turn < 1000; turn++) {
      const way = learner.wayFor(64 * KIB, true);
      learner.onDone(64 * KIB, way === 'copy' ? copyUs : spliceUs, way, 1);
    }
    return learner.wayFor(64 * KIB, false);
  };
  assert.equal(turns(40, 42.5), 'copy');
  assert.equal(turns(40, 39), 'copy');
  assert.equal(turns(40, 30), 'splice');
  assert.equal(turns(40, 40.5), 'splice');
  assert.equal(turns(40, 42.5), 'copy');
});

test('send way: however many are in flight at once, it learns', () => {
  for (let flight = 1; flight <= 128; flight++) {
    const learner = new SendWay();
    const posted: SendWayName[] = [];
    const turns = (count: number, copyUs: number): SendWayName => {
      for (let turn = 0; turn < count; turn++) {
        posted.push(learner.wayFor(MIB, true));
        if (posted.length < flight) continue;
        const way = at(posted, 0);
        posted.shift();
        learner.onDone(MIB, way === 'copy' ? copyUs : 1000, way, 1);
      }
      return learner.wayFor(MIB, false);
    };
    assert.equal(turns(1000, 600), 'copy', `${flight} in flight`);
    assert.equal(turns(3000, 1400), 'splice', `${flight} in flight`);
  }
});

test('send way: a trial whose transfer fails is given up', () => {
  const learner = new SendWay();
  const ends = (count: number, isFailing: boolean): void => {
    for (let turn = 0; turn < count; turn++) {
      const way = learner.wayFor(MIB, true);
      if (way === 'copy' && isFailing) continue;
      learner.onDone(MIB, way === 'copy' ? 500 : 1000, way, 1);
    }
  };
  ends(100, true);
  ends(1100, false);
  assert.equal(learner.wayFor(MIB, false), 'copy');
});

test('send way: one slow moment among two trials is no clear loss', () => {
  const learner = new SendWay();
  copied(learner, 60, (turn) => (turn <= 5 ? 4000 : 600));
  assert.equal(learner.wayFor(MIB, false), 'copy');
});

test('send way: slow moments are not taken for a slow way', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = seededRandom(seed);
    const learner = new SendWay();
    let [slowness, left, wrong] = [1, 0, 0];
    for (let turn = 0; turn < ROUNDS; turn++) {
      if (left-- === 0) {
        left = random.nextBetween(4, 15);
        slowness = slowness === 1 ? 1.8 : 1;
      }
      const way = learner.wayFor(MIB, true);
      const noise = 1 + random.nextFloat() / 5;
      learner.onDone(MIB, (way === 'copy' ? 1250 : 1000) * slowness * noise, way, 1);
      if (learner.wayFor(MIB, false) === 'copy') wrong++;
    }
    assert.equal(wrong, 0, `seed ${seed}`);
  }
});

test('send way: through rings the words are about the cache', () => {
  const learner = new SendWay(RING_WAYS);
  assert.match(learner.reasonFor(MIB), /past the cache first/);
  copied(learner, 100, () => 800);
  assert.equal(learner.wayFor(MIB, false), 'copy');
  const reason = 'auto: a copy through the cache took 0.80 × the time of a copy past it';
  assert.equal(learner.reasonFor(MIB), reason);
});
