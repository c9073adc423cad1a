// A control connection that is missed is asked for over the channels until it is there.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TcpxError } from '../base/errors.js';
import { silentLog } from '../base/log.js';
import { Timers } from '../base/timers.js';
import { ControlKeeper, type SessionControl } from './control-keeper.js';

class FakeControl implements SessionControl {
  readonly where = 'there';
  readonly localHost = 'here';
  isOpen = true;
  fail: (error: TcpxError) => void = () => undefined;

  send(): void {
    assert.ok(this.isOpen);
  }

  handOver(_: unknown, onFailure: (error: TcpxError) => void): void {
    this.fail = onFailure;
  }

  close(): void {
    this.isOpen = false;
  }

  abort(): void {
    this.isOpen = false;
  }
}

test('control keeper: a server asks again, ever less often, until the client is back', () => {
  let nowUs = 0;
  const timers = new Timers();
  const asked: number[] = [];
  const first = new FakeControl();
  const keeper = new ControlKeeper(
    {
      log: silentLog,
      timers,
      peer: 'client',
      limits: { controlTimeoutMs: 3000, reconnectMs: 5000 },
      nowUs: () => nowUs,
      attach: undefined,
      postSignal: () => asked.push(nowUs / 1e6),
      onRedial: () => undefined,
      onLookup: () => assert.fail('nobody asks'),
      onFound: () => undefined,
      onPeerEnded: () => undefined,
      onGoodbye: () => undefined,
      onPeerBack: () => undefined,
      lose: (error) => assert.fail(error),
    },
    first,
  );
  const runTo = (seconds: number): void => {
    for (; nowUs < seconds * 1e6; nowUs += 100_000) timers.run(nowUs);
  };
  keeper.watch();
  runTo(1);
  first.isOpen = false;
  first.fail(new TcpxError('ERR_PEER_LOST', 'there: ECONNRESET'));
  runTo(40);
  assert.deepEqual(asked, [1, 3, 7, 15, 31]);
  keeper.replace(new FakeControl(), 1);
  runTo(100);
  assert.equal(asked.length, 5, 'nobody is missed any more');
  assert.equal(timers.count, 0);
});
