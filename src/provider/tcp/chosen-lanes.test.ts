import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LARGE_BYTES, LaneSides } from './chosen-lanes.js';
import type { OwnLane, OwnLaneUse } from './lane/own-lane.js';
import type { LaneSession } from './lane-carrier.js';

const KIB = 1024;
const SMALL = 4 * KIB;
const LARGE = 128 * KIB;
const THREADS = { lanes: [0, 1], isOwn: false };
const OWN = { lanes: [2], isOwn: true };

/** An end with two threads, and a lane of its own (2) or not. */
function sidesOf(use?: OwnLaneUse, isLookedAt = true): LaneSides {
  const own = use === undefined ? undefined : ({ use, isLookedAt } as OwnLane);
  return new LaneSides({ own, threadCount: 2 }, LARGE_BYTES);
}

/** A session with these lanes, of two channels. */
function sessionOf(living: readonly number[], needed = 2) {
  const wanted: number[] = [];
  const session = {
    facts: { agreement: { channels: 2 }, plan: { count: 4, needed, own: 2, peers: 3 } },
    recovery: {
      book: { livingLanes: living },
      want: (channel: number) => wanted.push(channel),
    },
  } as unknown as LaneSession;
  return { session, wanted };
}

test('chosen lanes: a program that polls moves itself what is small, and nothing else', () => {
  const { session } = sessionOf([0, 1, 2]);
  const sides = sidesOf('posts');
  assert.deepEqual(sides.now(session, 0, 'plain', true), OWN);
  assert.deepEqual(sides.now(session, LARGE - 1, 'copied', true), OWN);
  assert.deepEqual(sides.now(session, LARGE, 'copied', true), THREADS);
  assert.deepEqual(sides.now(session, SMALL, 'staged', true), THREADS, 'a GPU copies');
  const again = sides.now(session, 2, 'plain', true);
  assert.equal(sides.now(session, 1, 'plain', true), again, 'nothing is made for a post');
});

test('chosen lanes: threads have what a program does not poll for, and what is too much', () => {
  const { session } = sessionOf([0, 1, 2]);
  assert.deepEqual(sidesOf('posts', false).now(session, SMALL, 'plain', true), THREADS);
  assert.deepEqual(sidesOf('posts').now(session, SMALL, 'plain', false), THREADS);
  assert.deepEqual(sidesOf('all').now(session, SMALL, 'plain', false), OWN, 'it does nothing else');
  assert.deepEqual(sidesOf().now(session, SMALL, 'plain', true).lanes, [0, 1, 2], 'without one');
});

test('chosen lanes: a request is cut for threads, which may have each post of it', () => {
  const { session } = sessionOf([0, 1, 2]);
  assert.deepEqual(sidesOf('posts').usual(session, SMALL, 'plain'), THREADS);
  assert.deepEqual(sidesOf('all').usual(session, SMALL, 'plain'), OWN);
  assert.deepEqual(sidesOf('all').usual(session, LARGE, 'plain'), THREADS);
});

test('chosen lanes: the first small post of a program that polls has the channel made', () => {
  const { session, wanted } = sessionOf([0, 1]);
  assert.deepEqual(sidesOf('posts', false).now(session, SMALL, 'plain', true), THREADS);
  assert.deepEqual(sidesOf('posts').now(session, LARGE, 'plain', true), THREADS);
  assert.deepEqual(wanted, []);
  assert.deepEqual(sidesOf('posts').now(session, SMALL, 'plain', true), THREADS);
  assert.deepEqual(wanted, [2]);
});

test('chosen lanes: what is large has all channels made where a session began with one', () => {
  const sides = sidesOf('posts');
  const late = sessionOf([0], 1);
  sides.want(late.session, LARGE - 1);
  assert.deepEqual(late.wanted, []);
  sides.want(late.session, LARGE);
  assert.deepEqual(late.wanted, [0, 1]);
  const whole = sessionOf([0, 1]);
  sides.want(whole.session, LARGE);
  assert.deepEqual(whole.wanted, []);
  assert.deepEqual([sides.threadsOf(late.session), sides.threadsOf(whole.session)], [2, 2]);
  assert.equal(sides.threadsOf(sessionOf([0]).session), 1, 'the other was lost');
});

test('chosen lanes: what was begun on one side stays there while that lives', () => {
  const sides = sidesOf('posts');
  const sideOf = (living: readonly number[], isOwn: boolean) =>
    sides.sideOf(sessionOf(living).session, isOwn);
  assert.deepEqual([sideOf([0, 1, 2], true), sideOf([0, 1, 2], false)], [[2], [0, 1]]);
  assert.deepEqual([sideOf([0], true), sideOf([2], false)], [[0], [2]]);
});
