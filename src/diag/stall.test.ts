import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ChunkCall, findStall } from './stall.js';

const BYTES = 524_288;

function call(role: ChunkCall['role'], step: ChunkCall['step'], chunk: number): ChunkCall {
  const place = { channel: '0', tag: String(100 + chunk), chunk, bytes: BYTES };
  return { role, step, ...place, offset: chunk * BYTES, timeUs: chunk * 10 };
}

function whole(chunk: number): ChunkCall[] {
  return [
    call('receive', 'posted', chunk),
    call('send', 'posted', chunk),
    call('receive', 'done', chunk),
    call('send', 'done', chunk),
    call('receive', 'consumed', chunk),
  ];
}

test('stall: a run that ended has none', () => {
  const report = findStall([0, 1, 2].flatMap(whole));
  assert.deepEqual(report.stalled, []);
  assert.equal(report.finishedCount, 3);
});

test('stall: the exact chunk, tag and offset, and that the other end never posted it', () => {
  const report = findStall([...[0, 1, 2, 3, 4, 5].flatMap(whole), call('send', 'posted', 6)]);
  const [first] = report.stalled;
  assert.equal(report.stalled.length, 1);
  assert.deepEqual(
    [first?.chunk, first?.tag, first?.offset, first?.sender, first?.receiver, first?.verdict],
    [6, '106', 6 * BYTES, 'posted', 'not posted', 'receiver never posted it'],
  );
});

test('stall: posted by both and not arrived, arrived and not consumed, never sent', () => {
  const verdictOf = (...calls: readonly ChunkCall[]) =>
    findStall([...whole(0), ...calls]).stalled[0]?.verdict;
  const posted = [call('send', 'posted', 1), call('receive', 'posted', 1)];
  assert.equal(verdictOf(...posted), 'both posted it, it never arrived');
  assert.equal(
    verdictOf(...posted, call('receive', 'done', 1)),
    'it arrived and was never consumed',
  );
  assert.equal(verdictOf(call('receive', 'posted', 1)), 'sender never posted it');
  assert.equal(
    verdictOf(...posted, call('receive', 'done', 1), call('receive', 'consumed', 1)),
    'the sender never saw it complete',
  );
});

test('stall: one end alone says so', () => {
  const [first] = findStall([call('send', 'posted', 0)]).stalled;
  assert.equal(first?.verdict, 'the other end is not known');
  assert.equal(first.receiver, 'no trace');
});

test('stall: a pool that is full of unconsumed receives, and tags used twice', () => {
  const receives = Array.from({ length: 16 }, (_, chunk) => [
    call('receive', 'posted', chunk),
    call('receive', 'done', chunk),
  ]).flat();
  assert.equal(findStall(receives).unconsumedMax, 16);
  const again = [call('send', 'posted', 0), call('send', 'posted', 0)];
  assert.deepEqual(findStall(again).reusedTags, ['100']);
});
