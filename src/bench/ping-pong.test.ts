// The server's half of a ping-pong: over when its session is, and refused where it would never be.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../base/log.js';
import type { Engine, Session } from '../engine/internal.js';
import { encodeBenchMessage } from './bench-message.js';
import type { HostFacts } from './bench-result.js';
import { BenchTarget } from './bench-target.js';
import { type PingPongEnd, playPingPong } from './ping-pong.js';

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

test('ping-pong: ends when its session does, long before its time is up', () => {
  const startMs = performance.now();
  assert.equal(playPingPong(deserted(10), Number.MAX_SAFE_INTEGER, false, 60_000), null);
  assert.equal(playPingPong(deserted(Infinity), Number.MAX_SAFE_INTEGER, false, 60_000), null);
  assert.ok(performance.now() - startMs < 10_000);
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
