// What the metadata side takes from others at most: connections, and bytes of an answer.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { KeptLog } from '../../test/support/engine-pair.js';
import { withCode } from '../../test/support/expect-error.js';
import { METADATA_EXAMPLES } from '../../test/support/metadata-examples.js';
import { RawPeer } from '../../test/support/raw-peer.js';
import { until } from '../../test/support/until.js';
import { sleepMs } from '../base/clock.js';
import { EtcdClient } from './etcd-client.js';
import { encodeListenerFrame } from './listener-message.js';
import { MetadataEndpoint } from './metadata-endpoint.js';

const MIB = 1024 * 1024;
const IS_CUT = /metadata peer cut off peer=127.*nixl\.listenerBytesMax/;

test('limit: the metadata listener holds so many connections, one more is closed', async () => {
  const kept = new KeptLog();
  const handlers = {
    onLoad: () => undefined,
    onInvalidate: () => undefined,
    ownBlob: () => new Uint8Array(1),
  };
  const endpoint = new MetadataEndpoint({
    handlers,
    frameBytesMax: 1000,
    bytesMax: 1e6,
    connectionsMax: 8,
    log: kept.log,
  });
  await endpoint.listen('127.0.0.1', 0);
  const port = endpoint.port ?? 0;
  const peers: RawPeer[] = [];
  for (let count = 0; count < 8; count++) peers.push(await RawPeer.connect(port));
  const more = await RawPeer.connect(port);
  assert.ok((await more.closed(2000)) < 2000);
  assert.ok(kept.has(/metadata peer refused peer=127.*nixl\.listenerConnectionsMax/));
  await assert.rejects(peers[0]!.closed(50), /does nothing/, 'the others stay');
  for (const peer of peers) peer.close();
  await endpoint.close();
});

const NO_HANDLERS = {
  onLoad: () => undefined,
  onInvalidate: () => undefined,
  ownBlob: () => new Uint8Array(MIB),
};

/** The length of a frame, and none of its bytes. */
function frameHead(bytes: number): Uint8Array {
  const head = Buffer.alloc(8);
  head.writeBigUInt64LE(BigInt(bytes));
  return head;
}

test('limit: blobs that never end are held up to the bound, honest ones get through', async () => {
  const kept = new KeptLog();
  let loaded = 0;
  const handlers = {
    ...NO_HANDLERS,
    onLoad: () => {
      loaded++;
    },
  };
  const limits = { frameBytesMax: 64 * MIB, bytesMax: 8 * MIB, connectionsMax: 256 };
  const endpoint = new MetadataEndpoint({ handlers, ...limits, log: kept.log });
  await endpoint.listen('127.0.0.1', 0);
  const port = endpoint.port ?? 0;
  const peers: RawPeer[] = [];
  let most = 0;
  for (let count = 0; count < 30; count++) {
    const peer = await RawPeer.connect(port);
    peers.push(peer);
    peer.sendBytes(frameHead(60 * MIB));
    for (let part = 0; part < 4; part++) peer.sendBytes(new Uint8Array(MIB / 4));
    await sleepMs(5);
    most = Math.max(most, endpoint.heldBytes);
  }
  await until('a cut', 5000, () => kept.has(IS_CUT));
  assert.ok(most <= 8 * MIB, `${most} bytes were held`);
  const blob = METADATA_EXAMPLES.blob;
  const honest = await RawPeer.connect(port);
  honest.sendBytes(encodeListenerFrame({ verb: 'LOAD', blob }));
  await until('the honest blob', 5000, () => loaded === 1);
  for (const peer of [...peers, honest]) peer.close();
  await until('nothing is held', 5000, () => endpoint.heldBytes === 0);
  await endpoint.close();
});

test('limit: whoever asks again and again and takes no answer is cut off', async () => {
  const kept = new KeptLog();
  const limits = { frameBytesMax: 64 * MIB, bytesMax: 8 * MIB, connectionsMax: 256 };
  const endpoint = new MetadataEndpoint({ handlers: NO_HANDLERS, ...limits, log: kept.log });
  await endpoint.listen('127.0.0.1', 0);
  const peer = await RawPeer.connect(endpoint.port ?? 0);
  peer.socket.pause();
  for (let count = 0; count < 100; count++) peer.sendBytes(encodeListenerFrame({ verb: 'SEND' }));
  await until('a cut', 5000, () => kept.has(IS_CUT));
  assert.ok(endpoint.heldBytes <= 8 * MIB);
  peer.close();
  await endpoint.close();
});

test('limit: an answer of etcd beyond its bytes is refused while it comes', async () => {
  let sentBytes = 0;
  const server = createServer((_, response) => {
    const more = (): void => {
      if (response.destroyed || sentBytes > 100_000_000) return;
      sentBytes += 100_000;
      if (response.write(Buffer.alloc(100_000, 32))) setImmediate(more);
      else response.once('drain', more);
    };
    more();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  const client = new EtcdClient([`http://127.0.0.1:${port}`], 5000, 1_000_000);
  await assert.rejects(
    client.get('k'),
    withCode('ERR_WIRE_FRAME', /over 1000000 bytes, nixl\.storeAnswerBytesMax/),
  );
  assert.ok(sentBytes < 50_000_000, `${sentBytes} bytes were taken`);
  server.closeAllConnections();
  server.close();
});
