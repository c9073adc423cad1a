import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DataOperation, PostExtra } from '../contract.js';
import type { DerivedPlan } from './described-plan.js';
import type { Flight } from './flight.js';
import type { MatchedRequest } from './matched-request.js';
import { checkRefusable, OwnPost } from './own-post.js';

function post(operation: DataOperation): OwnPost {
  return new OwnPost(7, operation, {} as MatchedRequest, {} as PostExtra);
}

const flight = (isLanded: boolean): Flight => ({ isLanded }) as Flight;

test('own post: a READ is announced once', () => {
  const read = post('read');
  assert.equal(read.takeRead(), undefined, 'not asked for yet');
  read.derived = {} as DerivedPlan;
  assert.ok(read.asRead() !== undefined);
  assert.ok(read.takeRead() !== undefined);
  assert.equal(read.takeRead(), undefined);
  assert.equal(read.asRead(), undefined);
});

test('own post: what is announced, has landed or is of the other kind is not refused', () => {
  checkRefusable(post('read'), undefined, 'read');
  checkRefusable(post('write'), undefined, 'write');
  checkRefusable(post('write'), flight(false), 'write');
  const wrong: readonly (readonly [DataOperation, Flight | undefined, DataOperation])[] = [
    ['read', flight(false), 'read'],
    ['write', flight(true), 'write'],
    ['read', undefined, 'write'],
    ['write', flight(false), 'read'],
  ];
  for (const [own, known, refused] of wrong) {
    assert.throws(() => checkRefusable(post(own), known, refused), /cannot be refused/);
  }
});
