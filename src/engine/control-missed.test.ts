// A control connection that is missed is asked for over the channels until it is there.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TcpxError } from '../base/errors.js';
import { createLog, silentLog } from '../base/log.js';
import { Timers } from '../base/timers.js';
import { ControlKeeper, type ControlKeeperHost, type SessionControl } from './control-keeper.js';

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

/** Of a session in which nothing else happens. */
function quietHost(
  own: Pick<ControlKeeperHost, 'timers' | 'peer' | 'nowUs' | 'attach'> & Partial<ControlKeeperHost>,
): ControlKeeperHost {
  return {
    log: silentLog,
    limits: { controlTimeoutMs: 3000, reconnectMs: 5000 },
    postSignal: () => undefined,
    onRedial: () => undefined,
    onLookup: () => assert.fail('nobody asks'),
    onFound: () => undefined,
    onPeerEnded: () => undefined,
    onGoodbye: () => undefined,
    onPeerBack: () => undefined,
    lose: (error) => assert.fail(error),
    ...own,
  };
}

test('control keeper: a server asks again, ever less often, until the client is back', () => {
  let nowUs = 0;
  const timers = new Timers();
  const asked: number[] = [];
  const first = new FakeControl();
  const keeper = new ControlKeeper(
    quietHost({
      ...{ timers, peer: 'client', nowUs: () => nowUs, attach: undefined },
      postSignal: () => asked.push(nowUs / 1e6),
    }),
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

test('control keeper: a loss that the peer tells of is in the log, once', () => {
  const lines: string[] = [];
  const attached: number[] = [];
  const timers = new Timers();
  const attach = (epoch: number): Promise<'attached'> => {
    attached.push(epoch);
    return Promise.resolve('attached');
  };
  const log = createLog({ level: 'info', format: 'text', write: (line) => lines.push(line) });
  const host = quietHost({ timers, peer: 'server', nowUs: () => 0, attach, log });
  const keeper = new ControlKeeper(host, new FakeControl());
  keeper.watch();
  keeper.onMissed(0);
  keeper.onMissed(0);
  const said = /control connection lost.*the peer has lost its end/;
  assert.equal(lines.filter((line) => said.test(line)).length, 1, lines.join('\n'));
  timers.run(10e6);
  assert.deepEqual(attached, [1]);
});
