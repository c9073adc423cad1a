// Every await settles: a peer that shows signs of life and confirms nothing holds neither a
// promise, nor memory, longer than the bound says.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  closeEngines,
  openEngine,
  openPair,
  type Settings,
} from '../../test/support/engine-pair.js';
import { buildFrame, type FrameIdea } from '../../test/support/hostile-frames.js';
import { HostileServer } from '../../test/support/hostile-server.js';
import { openRawChannel, openRawSession } from '../../test/support/raw-handshake.js';
import { until } from '../../test/support/until.js';
import { sleepMs } from '../base/clock.js';
import { isTcpxError, type TcpxError } from '../base/errors.js';
import { FRAME_READ_REQUEST, FRAME_WRITE } from '../wire/data-frame.js';
import { settleBoundMs } from './progress-watch.js';

after(closeEngines);

const BYTES = 200_000;
const LIMITS = { reconnectMs: 1500, progressMs: 500, minRate: 1_000_000 };
const BOUNDED: Settings = {
  'session.stallMs': 100,
  'session.reconnectMs': LIMITS.reconnectMs,
  'session.progressMs': LIMITS.progressMs,
  'session.minRateBytes': LIMITS.minRate,
};
const BOUND_MS = settleBoundMs(LIMITS, BYTES);
/** Beyond any bound: for timers and lanes of a machine that has other things to do. */
const SLACK_MS = 1500;

async function meet(manner: 'silent' | 'trickling', settings: Settings = {}) {
  const server = await HostileServer.open(manner);
  const client = await openEngine({ ...BOUNDED, ...settings });
  const session = await client.connect('127.0.0.1', server.port);
  const local = client.register(new Uint8Array(BYTES));
  const remote = { slot: 0, generation: 1, key: '0'.repeat(32), bytes: BYTES };
  const blocks = [{ local, localOffset: 0, remote, remoteOffset: 0, bytes: BYTES }];
  const close = async (): Promise<void> => {
    await client.close();
    server.close();
  };
  return { server, client, session, local, blocks, close };
}

async function failureOf(promise: Promise<unknown>): Promise<TcpxError> {
  try {
    await promise;
  } catch (error) {
    assert.ok(isTcpxError(error), String(error));
    return error;
  }
  assert.fail('it was done');
}

for (const progress of ['lanes', 'caller'] as const) {
  const settings: Settings = { 'lane.progress': progress };

  test(`bounds, ${progress}: a server that attaches and confirms nothing is lost`, async () => {
    const met = await meet('silent', settings);
    const startMs = performance.now();
    const write = met.session.write(met.blocks);
    const error = await failureOf(write.done);
    const tookMs = performance.now() - startMs;
    assert.equal(error.code, 'ERR_XFER_FAILED', error.message);
    assert.ok(isTcpxError(error.cause, 'ERR_PEER_TIMEOUT'), String(error.cause));
    assert.match(error.message, /0 B confirmed within 2000 ms, session\.minRate/);
    assert.ok(tookMs < BOUND_MS + SLACK_MS, `${tookMs} of ${BOUND_MS} ms`);
    assert.ok(met.server.attached > 1, 'it did attach anew');
    await met.client.deregister(met.local);
    await met.close();
  });

  test(`bounds, ${progress}: a deadline is hard; the memory follows within the bound`, async () => {
    const met = await meet('silent', settings);
    const startMs = performance.now();
    const write = met.session.write(met.blocks, { deadlineMs: 200 });
    const error = await failureOf(write.done);
    const tookMs = performance.now() - startMs;
    assert.equal(error.code, 'ERR_XFER_DEADLINE', error.message);
    assert.ok(tookMs >= 195 && tookMs < 200 + SLACK_MS, `${tookMs} ms`);
    assert.equal(write.status, 'failed');
    assert.ok(!write.isReleased, 'the peer may still read what is on its way');
    const busy = await failureOf(met.client.deregister(met.local, 0));
    assert.equal(busy.code, 'ERR_USAGE_REGION_BUSY');
    await met.client.drive(met.client.deregister(met.local));
    await write.released;
    assert.ok(performance.now() - startMs < 200 + BOUND_MS + SLACK_MS);
    assert.equal(write.error, error, 'it has failed once');
    await met.close();
  });

  test(`bounds, ${progress}: a read that is answered byte by byte is given up`, async () => {
    const met = await meet('trickling', settings);
    const startMs = performance.now();
    const error = await failureOf(met.session.read(met.blocks).done);
    const tookMs = performance.now() - startMs;
    assert.ok(isTcpxError(error.cause, 'ERR_PEER_TIMEOUT'), error.message);
    assert.ok(tookMs < BOUND_MS + SLACK_MS, `${tookMs} of ${BOUND_MS} ms`);
    await met.close();
  });
}

test('bounds: who polls or waits, away from the event loop, sees the deadline', async () => {
  const met = await meet('silent');
  for (const look of ['poll', 'wait'] as const) {
    const write = met.session.write(met.blocks, { deadlineMs: 50 });
    const startMs = performance.now();
    if (look === 'wait') assert.equal(write.wait(5000), 'failed');
    else while (write.poll() === 'active') assert.ok(performance.now() - startMs < 50 + SLACK_MS);
    const tookMs = performance.now() - startMs;
    assert.ok(tookMs >= 49 && tookMs < 50 + SLACK_MS, `${look}: ${tookMs} ms`);
    assert.equal(write.error?.code, 'ERR_XFER_DEADLINE');
  }
  await met.close();
});

test('bounds: a cancel that is not confirmed costs the session, in time', async () => {
  const met = await meet('silent');
  const write = met.session.write(met.blocks);
  await until('it has begun to send', 2000, () => met.server.attached > 0);
  const startMs = performance.now();
  write.cancel();
  await failureOf(write.done);
  assert.ok(write.isReleased, 'a cancel is a fence, or the session is gone');
  assert.ok(performance.now() - startMs < BOUND_MS + SLACK_MS);
  await met.close();
});

test('bounds: one that is fast enough, however slow, is not given up', async () => {
  const settings = { ...BOUNDED, 'flow.chunkBytes': 4096, 'flow.windowChunks': 1 };
  const pair = await openPair({ ...settings, 'lane.progress': 'caller' });
  const local = pair.client.register(new Uint8Array(BYTES));
  const remote = pair.server.register(new Uint8Array(BYTES));
  const places = { local, localOffset: 0, remote: remote.descriptor, remoteOffset: 0 };
  const endMs = performance.now() + 3 * (LIMITS.reconnectMs + LIMITS.progressMs);
  // Each is finished within the time; the session is never without one.
  for (let last = pair.session.write([{ ...places, bytes: 64 }]); performance.now() < endMs; ) {
    await new Promise((resolve) => setTimeout(resolve, 300));
    const next = pair.session.write([{ ...places, bytes: 64 }]);
    await pair.drive(last.done);
    last = next;
  }
  assert.ok(pair.session.isReady);
  await pair.close();
});

const IDEA: FrameIdea = {
  kind: FRAME_WRITE,
  region: 0,
  isOldGeneration: false,
  keyBit: -1,
  sequenceOff: 0,
  acknowledgedOff: 0,
  bytes: 60_000,
  offset: 0,
  table: [],
  payload: 'short',
  checks: 'right',
  edits: [],
};

for (const [name, idea, count] of [
  ['a write that never ends', IDEA, 1],
  [
    'reads whose answers are never taken',
    { ...IDEA, kind: FRAME_READ_REQUEST, bytes: 1 << 20 },
    16,
  ],
] as const) {
  test(`bounds: deregister waits for ${name}, not for ever`, async () => {
    const server = await openEngine({ ...BOUNDED, 'flow.chunkBytes': 1 << 20 });
    const port = server.listen({ host: '127.0.0.1', port: 0 });
    const wish = { explicit: 0, channels: 1, windowChunks: 16, chunkBytes: 1 << 20 };
    const raw = await openRawSession(port, undefined, wish);
    const data = await openRawChannel(port, raw);
    const region = server.register(new Uint8Array(1 << 20));
    for (let sequence = 0; sequence < count; sequence++) {
      const sequenceOf = (): number => sequence;
      const counts = { acknowledged: () => 0, framed: () => 0, isChecked: false };
      const victim = { regions: [region], sequenceOf, ...counts };
      data.sendBytes(buildFrame(idea, victim));
    }
    data.socket.pause();
    await sleepMs(300);
    const startMs = performance.now();
    await server.deregister(region);
    const tookMs = performance.now() - startMs;
    assert.ok(tookMs > 100 && tookMs < BOUND_MS + SLACK_MS, `${tookMs} ms`);
    raw.control.close();
    data.close();
    await server.close();
  });
}
