// Which fences ask for what: those of connections that live here, lived here, or never did.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChannelBook } from './channel-book.js';

const bookOf = (lanes: readonly number[]) =>
  new ChannelBook(lanes, { needed: lanes.length, peers: -1 });

const fence = (channel: number, epoch: number, landed = 3) => ({
  channel,
  epoch,
  landed,
  isDamaged: false,
  refusals: [],
});

test('channel book: a fence for a living connection closes it, then settles it', () => {
  const book = bookOf([0, 1]);
  book.setUp(0, 0);
  assert.equal(book.onFence(fence(0, 0)).isToDrop, true);
  assert.deepEqual(book.setDown(0, 0).settle, fence(0, 0));
});

test('channel book: a fence that comes twice says nothing new', () => {
  const book = bookOf([0]);
  book.setUp(0, 0);
  assert.equal(book.setDown(0, 0).settle, undefined);
  assert.deepEqual(book.onFence(fence(0, 0)).settle, fence(0, 0));
  const again = book.onFence(fence(0, 0));
  assert.deepEqual(again, { isToDrop: false, settle: undefined, isToAnswer: false });
});

test('channel book: every attempt has an epoch of its own', () => {
  const book = bookOf([0]);
  book.setUp(0, 0);
  book.setDown(0, 0);
  assert.deepEqual([book.nextEpoch(0), book.nextEpoch(0)], [1, 2]);
  book.setUp(0, 2);
  assert.equal(book.nextEpoch(0), 3);
});

test('channel book: the fence of an attempt that came to nothing here is answered', () => {
  const book = bookOf([0]);
  book.setUp(0, 0);
  book.setDown(0, 0);
  const epoch = book.nextEpoch(0);
  assert.equal(book.setFailed(0, epoch).isToAnswer, false, 'the peer has not said anything');
  assert.equal(book.onFence(fence(0, epoch, 0)).isToAnswer, true);
});

test('channel book: a fence that comes while its attempt is under way is kept until then', () => {
  const book = bookOf([0, 0]);
  const failed = book.nextEpoch(0);
  assert.equal(book.onFence(fence(0, failed)).isToDrop, false);
  assert.equal(book.setFailed(0, failed).isToAnswer, true);
  const taken = book.nextEpoch(1);
  assert.equal(book.onFence(fence(1, taken)).isToAnswer, false);
  assert.equal(book.setUp(1, taken).isToDrop, true);
  assert.deepEqual(book.setDown(1, taken).settle, fence(1, taken));
});

test('channel book: a fence for an epoch that nobody has tried is nothing', () => {
  const book = bookOf([0]);
  book.setUp(0, 0);
  for (const one of [fence(0, 7), fence(5, 0)]) {
    assert.deepEqual(book.onFence(one), { isToDrop: false, settle: undefined, isToAnswer: false });
  }
});

test('channel book: begun with what it needs, whole without what nobody has tried', () => {
  const book = new ChannelBook([0, 1, 0, 1], { needed: 1, peers: 3 });
  assert.deepEqual([book.isBegun, book.isWhole], [false, false]);
  book.setUp(0, 0);
  assert.deepEqual([book.isBegun, book.isWhole], [true, true]);
  assert.deepEqual([book.isAbsent(0), book.isAbsent(1)], [false, true]);
  const epoch = book.nextEpoch(1);
  assert.equal(epoch, 1, 'none of those with which it begins');
  assert.deepEqual([book.isAbsent(1), book.isWhole], [false, false]);
  assert.equal(book.setDoubted(1, 0), false, 'who asks for the first has not seen this one yet');
  book.setUp(1, epoch);
  book.setDown(0, 0);
  assert.deepEqual([book.isBegun, book.isWhole], [true, false]);
});

test('channel book: what the peer alone posts on is up, and nothing to post on', () => {
  const book = new ChannelBook([0, 1, 2], { needed: 1, peers: 2 });
  book.setUp(0, 0);
  book.setUp(2, 0);
  assert.deepEqual([book.up, book.living], [[0, 2], [0]]);
  assert.deepEqual([book.livingLanes, book.usedLanes], [[0], [0, 2]]);
  book.setStalled(0, 0, true);
  assert.equal(book.isMoving, false, 'whatever the other does');
  book.setStalled(0, 0, false);
  book.setStalled(2, 0, true);
  assert.deepEqual([book.isMoving, book.stalled], [true, [2]]);
});
