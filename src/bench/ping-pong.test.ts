// The server's half of a ping-pong: over when its session is, and refused where it would never be.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../base/log.js';
import type { Engine, Session } from '../engine/internal.js';
import { encodeBenchMessage } from './bench-message.js';
import type { HostFacts } from './bench-result.js';
import { BenchTarget } from './bench-target.js';
import type { PingPongEnd } from './ping-pong.js';
import { PingPongGame } from './ping-pong-game.js';

/** An end whose peer answers `turns` times; then its session is gone. */
function deserted(turns: number): PingPongEnd & { polls: number } {
  const end = {
    polls: 0,
    isCheckable: false,
    send: () => undefined,
    hasCome: (turn: number) => turn < turns,
    rest: () => undefined,
    settle: () => undefined,
    engine: { poll: () => (end.polls += 1) } as unknown as Engine,
    session: {
      get isReady() {
        return end.polls < 3;
      },
    } as unknown as Session,
  };
  return end;
}

/** Until it is lost: how many slices that took. */
function playOut(end: PingPongEnd, isFirst: boolean): number {
  const rules = { count: Number.MAX_SAFE_INTEGER, isFirst, timeoutMs: 60_000 };
  const game = new PingPongGame(end, rules);
  for (let slices = 1; slices < 100; slices++) if (game.play(2) === null) return slices;
  return Number.POSITIVE_INFINITY;
}

test('ping-pong: ends when its session does, long before its time is up', () => {
  for (const isFirst of [true, false]) {
    assert.equal(playOut(deserted(10), isFirst), 3);
    assert.equal(playOut(deserted(Number.POSITIVE_INFINITY), isFirst), 3);
  }
});

test('ping-pong: a slice that ends within a turn goes on with it, and sends it once', () => {
  const sent: number[] = [];
  let hasAnswer = false;
  const end: PingPongEnd = {
    ...deserted(0),
    send: (turn) => sent.push(turn),
    hasCome: () => hasAnswer,
    session: { isReady: true } as unknown as Session,
  };
  const game = new PingPongGame(end, { count: 3, isFirst: true, timeoutMs: 60_000 });
  assert.deepEqual(game.play(1), []);
  assert.deepEqual([sent, game.turns, game.isDone], [[0], 0, false]);
  hasAnswer = true;
  assert.equal(game.play(1000)?.length, 3);
  assert.deepEqual([sent, game.turns, game.isDone], [[0, 1, 2], 3, true]);
});

test('ping-pong: nothing comes for the time that was set: lost', () => {
  const end = { ...deserted(0), session: { isReady: true } as unknown as Session };
  const play = (timeoutMs: number) =>
    new PingPongGame(end, { count: 1, isFirst: false, timeoutMs }).play(5);
  assert.deepEqual(play(60_000), []);
  assert.equal(play(1), null);
});

test('ping-pong: a count that no initiator can be asked for is refused by name', () => {
  const answers: string[] = [];
  const target = new BenchTarget({
    engine: () => ({}) as Engine,
    host: {} as HostFacts,
    log: silentLog,
    gpu: 0,
    pages: 'auto',
    clients: 1,
    onReport: () => undefined,
    onFinished: () => undefined,
  });
  const notify = (text: string) => answers.push(text);
  const session = { peer: 'hostile', state: 'ready', notify } as unknown as Session;
  const region = { slot: 0, generation: 1, key: '0'.repeat(32), bytes: 64 };
  const question = { kind: 'pong', region, count: Number.MAX_SAFE_INTEGER, bytes: 64 } as const;
  target.onNotification(session, Buffer.from(encodeBenchMessage(question)));
  assert.match(answers.join(), /failed.*9007199254740991 turns, at most/);
});
