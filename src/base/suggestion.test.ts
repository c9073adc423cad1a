import assert from 'node:assert/strict';
import { test } from 'node:test';
import { didYouMean, editsBetween, nearestName } from './suggestion.js';

test('suggestion: counts letters that were changed, left out, added or swapped', () => {
  assert.equal(editsBetween('bench', 'bench'), 0);
  assert.equal(editsBetween('bnech', 'bench'), 1);
  assert.equal(editsBetween('benhc', 'bench'), 1);
  assert.equal(editsBetween('bnch', 'bench'), 1);
  assert.equal(editsBetween('', 'bench'), 5);
  assert.equal(editsBetween('kitten', 'sitting'), 3);
});

test('suggestion: the nearest name, whatever its case, and none that is far', () => {
  const known = ['flow.channels', 'flow.chunkBytes', 'lane.count'];
  assert.equal(nearestName('flow.chanels', known), 'flow.channels');
  assert.equal(nearestName('FLOW.CHUNKBYTES', known), 'flow.chunkBytes');
  assert.equal(nearestName('colour', known), undefined);
  assert.equal(didYouMean('lane.cuont', known), '; did you mean lane.count?');
  assert.equal(didYouMean('colour', known), '');
});
