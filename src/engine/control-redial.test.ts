// When a lost control connection is dialled again, and what its end says about the peer: the keeper
// on a fake clock, and a server against a client that speaks by hand.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeEngines, openEngine } from '../../test/support/engine-pair.js';
import {
  openRawChannel,
  openRawSession,
  type RawSession,
  rawAttach,
} from '../../test/support/raw-handshake.js';
import { RawPeer } from '../../test/support/raw-peer.js';
import { sleepMs } from '../base/clock.js';
import { TcpxError } from '../base/errors.js';
import { silentLog } from '../base/log.js';
import { Timers } from '../base/timers.js';
import { CONTROL_INDEX, ControlKind } from '../wire/control-frame.js';
import { ControlKeeper, type SessionControl } from './control-keeper.js';

after(closeEngines);

/** A control connection that fails when it is told to. */
class FakeControl implements SessionControl {
  readonly localHost = '127.0.0.1';
  readonly where = 'fake';
  isOpen = true;
  fail: () => void = () => undefined;

  send(): void {
    // Nobody listens.
  }

  handOver(_: unknown, onFailure: (error: TcpxError) => void): void {
    this.fail = () => {
      this.isOpen = false;
      onFailure(new TcpxError('ERR_PEER_LOST', 'fake: ECONNRESET'));
    };
  }

  close(): void {
    this.isOpen = false;
  }

  abort(): void {
    this.isOpen = false;
  }
}

/** A client's keeper; each of its connections lives as long as `lifeMs` says. */
class Keeper {
  readonly timers = new Timers();
  readonly attemptsMs: number[] = [];
  readonly first = new FakeControl();
  lifeMs = 0;
  nowMs = 0;
  readonly keeper: ControlKeeper;

  constructor(reconnectMs: number) {
    this.keeper = new ControlKeeper(
      {
        log: silentLog,
        timers: this.timers,
        peer: 'peer',
        limits: { reconnectMs, controlTimeoutMs: 3000 },
        nowUs: () => this.nowMs * 1000,
        attach: (epoch) => this.#attach(epoch),
        postSignal: () => undefined,
        onRedial: () => undefined,
        onLookup: () => assert.fail('nobody asks'),
        onFound: () => undefined,
        onPeerEnded: () => assert.fail('the peer lives'),
        onGoodbye: () => assert.fail('the peer stays'),
        onPeerBack: () => undefined,
        lose: (error) => assert.fail(error.message),
      },
      this.first,
    );
    this.keeper.watch();
  }

  #attach(epoch: number): Promise<'attached'> {
    this.attemptsMs.push(this.nowMs);
    const control = new FakeControl();
    this.keeper.replace(control, epoch);
    this.timers.at((this.nowMs + this.lifeMs) * 1000, () => control.fail());
    return Promise.resolve('attached');
  }

  async pass(ms: number): Promise<void> {
    for (const endMs = this.nowMs + ms; this.nowMs < endMs; this.nowMs++) {
      this.timers.run(this.nowMs * 1000);
      await Promise.resolve();
      await Promise.resolve();
    }
  }
}

test('control: one that dies as soon as it is attached is dialled with growing waits', async () => {
  const it = new Keeper(5000);
  await it.pass(5000);
  it.first.fail();
  await it.pass(20_000);
  const waits = it.attemptsMs.slice(1).map((ms, index) => ms - (it.attemptsMs[index] ?? 0));
  assert.equal(it.attemptsMs[0], 5000, 'at once at first');
  assert.ok(it.attemptsMs.length < 25, `${it.attemptsMs.length} attempts in 20 s`);
  assert.ok(
    waits.every((wait, index) => wait >= (waits[index - 1] ?? 100)),
    waits.join(' '),
  );
  const longest = Math.max(...waits);
  assert.ok(longest > 1000 && longest <= 1252, `${longest} ms: a quarter of the time of a session`);
  it.keeper.stop();
});

test('control: one that has lived is dialled at once when it is lost', async () => {
  const it = new Keeper(5000);
  await it.pass(3000);
  it.lifeMs = 2500;
  it.first.fail();
  await it.pass(10_000);
  assert.deepEqual(it.attemptsMs.slice(0, 3), [3000, 5501, 8002]);
  it.keeper.stop();
});

interface Served {
  readonly port: number;
  readonly session: RawSession;
  readonly data: RawPeer;
  isOpen(): boolean;
}

async function serve(): Promise<Served> {
  const server = await openEngine();
  const port = server.listen({ host: '127.0.0.1', port: 0 });
  const session = await openRawSession(port);
  const data = await openRawChannel(port, session);
  const isOpen = (): boolean => server.sessions.some((one) => one.isReady);
  while (!isOpen()) await sleepMs(5);
  return { port, session, data, isOpen };
}

async function attach({ port, session }: Served, channel: number, epoch: number) {
  const peer = await RawPeer.connect(port);
  peer.sendBytes(rawAttach(session.accept.sessionId, channel, session.key, epoch));
  assert.equal((await peer.next())?.kind, ControlKind.Attached);
  return peer;
}

/** Longer than a server waits for a client whose process seems to have ended. */
const ENDED_MS = 900;

test('control: an end of one that was never taken over is not the end of the client', async () => {
  const served = await serve();
  const half = await attach(served, CONTROL_INDEX, 1);
  served.data.socket.resetAndDestroy();
  half.socket.end();
  await sleepMs(ENDED_MS);
  assert.ok(served.isOpen(), 'the session is kept');
  const channel = await attach(served, 0, 1);
  assert.ok(served.isOpen());
  for (const peer of [channel, half, served.session.control]) peer.close();
});

test('control: an end of an old one is nothing, nor is one of all if a client comes', async () => {
  const served = await serve();
  const next = await attach(served, CONTROL_INDEX, 1);
  next.send({ kind: ControlKind.Taken, epoch: 1 });
  served.session.control.socket.end();
  served.data.socket.end();
  await sleepMs(ENDED_MS);
  assert.ok(served.isOpen(), 'the old one has ended, and the channel');
  const channel = await attach(served, 0, 1);
  next.socket.end();
  channel.socket.end();
  await sleepMs(100);
  await attach(served, 0, 2);
  await sleepMs(ENDED_MS);
  assert.ok(served.isOpen(), 'somebody on the way has ended all, and the client has come again');
});

test('control: the end of a client without a goodbye is noticed within a second', async () => {
  const served = await serve();
  served.session.control.socket.end();
  served.data.socket.end();
  await sleepMs(ENDED_MS);
  assert.ok(!served.isOpen());
});
