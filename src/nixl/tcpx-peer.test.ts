// Notifications that wait for a peer: bounded by a setting that names itself, and none is lost.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeEngines, openEngine } from '../../test/support/engine-pair.js';
import { withCode } from '../../test/support/expect-error.js';
import { until } from '../../test/support/until.js';
import { TcpxPeer } from './tcpx-peer.js';

after(closeEngines);

test('outbox: what waits for a peer is bounded by its setting, and goes when it can', async () => {
  let received = 0;
  const there = await openEngine({}, { name: 'there', onNotification: () => received++ });
  const port = there.listen({ host: '127.0.0.1', port: 0 });
  const here = await openEngine({ 'nixl.outboxBytesMax': 1 << 24 });
  const info = { instance: there.instance, port, hosts: ['127.0.0.1'] };
  const peer = new TcpxPeer(here, 'there', info);
  const message = new Uint8Array(60_000);
  // It is not connected yet, and cannot be before this turn is over. The engine's arena holds a
  // quarter of what waits, so that it is full many times.
  let sent = 0;
  for (; sent < 279; sent++) peer.send(message);
  assert.throws(
    () => peer.send(message),
    withCode(
      'ERR_USAGE_STATE',
      /notify there: 16740000 bytes.*nixl\.outboxBytesMax allows 16777216/,
    ),
  );
  peer.send(new Uint8Array(37_216));
  assert.throws(() => peer.send(new Uint8Array(1)), withCode('ERR_USAGE_STATE'));
  await peer.connect();
  await until('all have gone', 20_000, () => {
    peer.proceed();
    return peer.isIdle;
  });
  peer.send(message);
  // The last message too waits for room while the arena holds those before it.
  await until('all have come', 20_000, () => {
    peer.proceed();
    return received === sent + 2;
  });
  await peer.disconnect();
});
