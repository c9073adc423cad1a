// What a thread has posted and not seen the end of, and what that means for its own lane.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SmallPosts } from './small-posts.js';

function after(count: number): SmallPosts {
  const posts = new SmallPosts();
  for (let posted = 0; posted < count; posted++) posts.onPosted();
  return posts;
}

test('small posts: the first two leave at once, more in eights', () => {
  const posts = new SmallPosts();
  const isDue = (): boolean => {
    posts.onPosted();
    return posts.isSendDue();
  };
  assert.deepEqual([isDue(), isDue()], [true, true]);
  const next = Array.from({ length: 16 }, isDue);
  assert.deepEqual(
    next.flatMap((due, index) => (due ? [index + 1] : [])),
    [8, 16],
  );
});

test('small posts: what waited leaves with one that leaves at once', () => {
  const posts = after(3);
  assert.equal(posts.isSendDue(), false);
  posts.onOver();
  posts.onOver();
  posts.onPosted();
  assert.equal(posts.isSendDue(), true);
});

test('small posts: a crowd of 24 is for threads, until fewer than eight are left', () => {
  assert.equal(after(23).hasRoom, true);
  const posts = after(24);
  assert.equal(posts.hasRoom, false);
  for (let left = 23; left >= 8; left--) {
    posts.onOver();
    assert.equal(posts.hasRoom, false, `${left} left`);
  }
  posts.onOver();
  assert.equal(posts.hasRoom, true);
});
