import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LaneSides } from './chosen-lanes.js';
import type { LaneSession } from './lane-carrier.js';
import type { OwnLane } from './lane/own-lane.js';

const KIB = 1024;

/** A session with these lanes, at an end with two threads, and a lane of its own (2) or not. */
function lanesOf(living: readonly number[], hasOwn = true) {
  const own = hasOwn ? ({} as OwnLane) : undefined;
  const sides = new LaneSides({ own, threadCount: 2 });
  const session = { recovery: { book: { livingLanes: living } } } as unknown as LaneSession;
  return (bytes: number, memory: 'plain' | 'staged' | 'copied') =>
    sides.lanesFor(session, bytes, memory);
}

test('chosen lanes: the posting thread moves itself what is small, and nothing else', () => {
  const lanesFor = lanesOf([0, 1, 2]);
  assert.deepEqual(lanesFor(0, 'plain'), { lanes: [2], isOwn: true });
  assert.deepEqual(lanesFor(128 * KIB - 1, 'copied'), { lanes: [2], isOwn: true });
  assert.deepEqual(lanesFor(128 * KIB, 'copied'), { lanes: [0, 1], isOwn: false });
  assert.equal(lanesFor(1, 'plain'), lanesFor(2, 'plain'), 'nothing is made for a post');
});

test('chosen lanes: a GPU copies for the threads', () => {
  assert.deepEqual(lanesOf([0, 1, 2])(4 * KIB, 'staged').lanes, [0, 1]);
});

test('chosen lanes: what was begun on one side stays there while that lives', () => {
  const sides = new LaneSides({ own: {} as OwnLane, threadCount: 2 });
  const sideOf = (living: readonly number[], isOwn: boolean) =>
    sides.sideOf({ recovery: { book: { livingLanes: living } } } as unknown as LaneSession, isOwn);
  assert.deepEqual([sideOf([0, 1, 2], true), sideOf([0, 1, 2], false)], [[2], [0, 1]]);
  assert.deepEqual([sideOf([0], true), sideOf([2], false)], [[0], [2]]);
});

test('chosen lanes: where one side is lost the other takes everything', () => {
  for (const bytes of [1, 1024 * KIB]) {
    assert.deepEqual(lanesOf([0, 1])(bytes, 'plain'), { lanes: [0, 1], isOwn: false });
    assert.deepEqual(lanesOf([2])(bytes, 'plain'), { lanes: [2], isOwn: false });
    assert.deepEqual(lanesOf([])(bytes, 'plain'), { lanes: [], isOwn: false });
    assert.deepEqual(lanesOf([0, 1], false)(bytes, 'plain').lanes, [0, 1], 'without a lane');
  }
});
