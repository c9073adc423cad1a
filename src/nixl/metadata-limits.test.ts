// What the metadata side takes from others at most: connections, and bytes of an answer.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { silentLog } from '../base/log.js';
import { withCode } from '../../test/support/expect-error.js';
import { RawPeer } from '../../test/support/raw-peer.js';
import { EtcdClient } from './etcd-client.js';
import { MetadataEndpoint } from './metadata-endpoint.js';

test('limit: the metadata listener holds 256 connections, one more is closed', async () => {
  const handlers = {
    onLoad: () => undefined,
    onInvalidate: () => undefined,
    ownBlob: () => new Uint8Array(1),
  };
  const endpoint = new MetadataEndpoint({ handlers, frameBytesMax: 1000, log: silentLog });
  await endpoint.listen('127.0.0.1', 0);
  const port = endpoint.port ?? 0;
  const peers: RawPeer[] = [];
  for (let count = 0; count < 256; count++) peers.push(await RawPeer.connect(port));
  const more = await RawPeer.connect(port);
  assert.ok((await more.closed(2000)) < 2000);
  await assert.rejects(peers[0]!.closed(50), /does nothing/, 'the others stay');
  for (const peer of peers) peer.close();
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
  await assert.rejects(client.get('k'), withCode('ERR_WIRE_FRAME', /over 1000000 bytes/));
  assert.ok(sentBytes < 50_000_000, `${sentBytes} bytes were taken`);
  server.closeAllConnections();
  server.close();
});
