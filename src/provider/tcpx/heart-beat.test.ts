import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeartBeat } from './heart-beat.js';

const ALLOWED_MS = 1000;

/** The verdicts of a process that beats never again, looked at every 100 ms. */
function watchSilence(untilMs: number, waitedMs: (nowMs: number) => number | undefined) {
  const beat = new HeartBeat();
  const verdicts: string[] = [];
  beat.check(1, 0, ALLOWED_MS, () => waitedMs(0));
  for (let nowMs = 100; nowMs <= untilMs; nowMs += 100) {
    verdicts.push(beat.check(1, nowMs, ALLOWED_MS, () => waitedMs(nowMs)));
  }
  return verdicts;
}

test('heart-beat: one that sleeps in a call hangs after the allowed time', () => {
  const verdicts = watchSilence(1200, () => 0);
  assert.equal(verdicts.indexOf('hung'), 10);
  assert.ok(!verdicts.includes('starved'));
});

test('heart-beat: one that waits for a core is starved, for four times as long', () => {
  const verdicts = watchSilence(4200, (nowMs) => nowMs);
  assert.equal(verdicts.indexOf('starved'), 10);
  assert.equal(verdicts.indexOf('hung'), 40);
});

test('heart-beat: unknown waiting does not excuse silence', () => {
  assert.equal(watchSilence(1200, () => undefined).indexOf('hung'), 10);
});

test('heart-beat: waiting from before the silence does not excuse it', () => {
  const verdicts = watchSilence(1200, () => 100_000);
  assert.equal(verdicts.indexOf('hung'), 10);
});

test('heart-beat: a beat begins the time anew', () => {
  const beat = new HeartBeat();
  for (let count = 0; count < 50; count++) {
    assert.equal(
      beat.check(count, count * 900, ALLOWED_MS, () => 0),
      'alive',
    );
  }
  assert.equal(beat.silentMs(50 * 900), 900);
});
