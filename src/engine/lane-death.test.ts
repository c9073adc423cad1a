// A lane's thread dies: what it served ends, but only once the lanes that live have let go of the
// memory; every transfer gets a typed error, the peer is told, and the engine can be closed.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { DEADLY_GPU_MODULE, DEADLY_TEXT } from '../../test/support/deadly-gpu.js';
import { closeEngines, openPair } from '../../test/support/engine-pair.js';
import { withCode } from '../../test/support/expect-error.js';
import { registerHost, registerSimulated } from '../../test/support/gpu-memory.js';
import { sleepMs } from '../base/clock.js';
import { isTcpxError } from '../base/errors.js';
import { readConnection } from '../os/connection-counters.js';
import type { Transfer } from './transfer.js';

after(closeEngines);

const BYTES = 48 * 1024 * 1024;
const SETTINGS = {
  'lane.count': 2,
  'flow.channels': 2,
  'flow.chunkBytes': 65536,
  // By reference a peer on the same host reads late what the memory holds by then (SECURITY.md).
  'socket.sendBy': 'copy',
} as const;

async function failureOf(transfer: Transfer): Promise<{ code: string; message: string }> {
  try {
    await transfer.done;
    return { code: 'none', message: 'done' };
  } catch (error) {
    if (isTcpxError(error)) return { code: error.code, message: error.message };
    throw error;
  }
}

test('lane: its thread dies; transfers fail, memory is free, the peer is told', async () => {
  const pair = await openPair(SETTINGS, SETTINGS, {}, { gpuModule: DEADLY_GPU_MODULE });
  const host = registerHost(pair.client, BYTES);
  const gpu = registerSimulated(pair.client, 1024 * 1024);
  const remote = registerHost(pair.server, BYTES);
  const block = (local: typeof host) => ({
    local: local.region,
    localOffset: 0,
    remote: remote.region.descriptor,
    remoteOffset: 0,
    bytes: local.memory.length,
  });
  host.memory.fill(1);
  const transfers = [
    pair.session.write([block(host)], { notify: 'landed' }),
    pair.session.write([block(gpu)]),
    pair.session.read([block(host)]),
  ];
  const sockets = pair.session.sockets.filter((socket) => socket !== undefined);
  assert.equal(sockets.length, SETTINGS['flow.channels']);
  assert.ok(sockets.every((socket) => readConnection(socket) !== undefined));
  const outcomes = await Promise.all(transfers.map(failureOf));
  for (const { code, message } of outcomes) {
    assert.equal(code, 'ERR_XFER_FAILED', message);
    assert.match(message, new RegExp(DEADLY_TEXT));
  }
  // Nobody sends from it any more: the connections of both lanes are closed.
  assert.deepEqual(
    sockets.filter((socket) => readConnection(socket) !== undefined),
    [],
  );
  host.memory.fill(2);
  await pair.session.closed;
  for (let tries = 0; tries < 200 && !pair.serverSession.isEnding(); tries++) await sleepMs(10);
  assert.equal(pair.serverSession.error?.code, 'ERR_PEER_GOODBYE');
  await pair.serverSession.closed;
  assert.ok(!remote.memory.includes(2), 'nothing was sent after the transfers had failed');
  assert.equal(pair.notifications.length, 0);
  await pair.server.deregister(remote.region, 1000);
  const late = () => pair.client.register(new Uint8Array(10));
  assert.throws(late, withCode('ERR_USAGE_STATE', /a lane has failed/));
  const startMs = performance.now();
  await pair.close();
  assert.ok(performance.now() - startMs < 3000);
});
