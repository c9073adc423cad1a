// The watch of an engine: armed while there is work, fair to peers while this thread did not run.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TcpxError } from '../base/errors.js';
import { Timers } from '../base/timers.js';
import { ProgressWatch } from './progress-watch.js';
import { type WatchedWork, WorkWatch } from './work-watch.js';

const LIMITS = { reconnectMs: 600, progressMs: 400, minRate: 10_000 };

class FakeSession {
  readonly progress = new ProgressWatch();
  readonly peer: string;
  error: TcpxError | undefined;

  constructor(peer: string) {
    this.peer = peer;
  }

  /** Why it was given up; empty while it was not. */
  get code(): string {
    return this.error?.code ?? '';
  }

  isEnding(): boolean {
    return this.error !== undefined;
  }
}

function setUp() {
  const timers = new Timers();
  const work: WatchedWork<FakeSession>[] = [];
  let nowUs = 1_000_000;
  const watch = new WorkWatch<FakeSession>({
    timers,
    clock: { nowUs: () => nowUs },
    limits: LIMITS,
    inFlight: () => work,
    lose: (session, error) => (session.error = error),
  });
  const pass = (ms: number, stepMs = 10): void => {
    for (let passed = 0; passed < ms; passed += stepMs) {
      nowUs += stepMs * 1000;
      timers.run(nowUs);
    }
  };
  const post = (session: FakeSession, serial: number): void => {
    const state = { givenUpUs: Number.POSITIVE_INFINITY, confirmedBytes: 0, isHeldHere: false };
    work.push({ session, serial, ...state });
    watch.arm();
  };
  return { timers, work, pass, post };
}

test('work watch: the peer that confirms nothing is lost, and no other', () => {
  const { work, pass, post } = setUp();
  const [bad, good] = [new FakeSession('bad'), new FakeSession('good')];
  post(bad, 0);
  for (let serial = 1; serial < 20; serial++) {
    post(good, serial);
    pass(100);
    work.splice(1, 1);
  }
  assert.equal(bad.code, 'ERR_PEER_TIMEOUT');
  assert.match(bad.error?.message ?? '', /^bad: 0 B confirmed within 1000 ms/);
  assert.equal(good.code, '');
});

test('work watch: no timer is left when there is no work', () => {
  const { timers, work, pass, post } = setUp();
  post(new FakeSession('a'), 0);
  assert.equal(timers.count, 1);
  work.length = 0;
  pass(500);
  assert.equal(timers.count, 0);
  const late = new FakeSession('b');
  post(late, 1);
  pass(800);
  assert.equal(late.code, '', 'it counts from its own post');
  pass(400);
  assert.equal(late.code, 'ERR_PEER_TIMEOUT');
});

test('work watch: time in which this thread did not run counts against nobody', () => {
  const { pass, post } = setUp();
  const session = new FakeSession('a');
  post(session, 0);
  for (let pause = 0; pause < 5; pause++) pass(5000, 5000);
  assert.equal(session.code, '');
  pass(1100);
  assert.equal(session.code, 'ERR_PEER_TIMEOUT');
});
