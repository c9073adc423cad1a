// Metadata through a TCPStore: our client against a small server that speaks PyTorch's protocol.

import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { freePort } from '../../test/support/etcd-server.js';
import { openMockAgent, piecesOf, regionOf } from '../../test/support/mock-agents.js';
import { MockNetwork } from '../../test/support/mock-network.js';
import { TcpStoreServer } from '../../test/support/tcp-store-server.js';
import { startTorchStore, torchSkipReason } from '../../test/support/torch-store.js';
import { sleepMs } from '../base/clock.js';
import { type ErrorCode, isTcpxError } from '../base/errors.js';
import { NixlStatus } from './status.js';
import { TcpStoreClient } from './tcp-store-client.js';

const S = NixlStatus;

function using(endpoint: string, timeoutMs = 5000) {
  return {
    settings: {
      'nixl.tcpStoreEndpoint': endpoint,
      'nixl.tcpStoreTimeoutMs': timeoutMs,
      'nixl.tcpStoreOpTimeoutMs': 1000,
    },
  };
}

function clientOf(endpoint: string): TcpStoreClient {
  const [host = '', port = ''] = endpoint.split(':');
  const timeouts = { connectTimeoutMs: 1000, opTimeoutMs: 300 };
  return new TcpStoreClient({ host, port: Number(port), ...timeouts, valueBytesMax: 1 << 20 });
}

async function rejectsCode(promise: Promise<unknown>, code: ErrorCode): Promise<void> {
  await assert.rejects(promise, (error) => isTcpxError(error, code), code);
}

test('TCPStore: publish, fetch and withdraw with NIXL’s keys', async (t) => {
  const server = await TcpStoreServer.start(t);
  const network = new MockNetwork();
  const a = await openMockAgent(t, network, 'a', using(server.endpoint));
  const b = await openMockAgent(t, network, 'b', using(server.endpoint, 100));
  await a.agent.sendLocalMD();
  await a.agent.sendLocalPartialMD(regionOf(a.memory), { metadataLabel: 'part1' });
  await b.agent.fetchRemoteMD('a');
  assert.equal(b.agent.checkRemoteMD('a', piecesOf(a.memory, [0, 8])), S.SUCCESS);
  await b.agent.fetchRemoteMD('a', { metadataLabel: 'part1' });
  assert.deepEqual(
    [...server.values.keys()],
    ['/nixl/agents/metadata/a/NULL_AGENT', '/nixl/agents/part1/a/NULL_AGENT'],
  );
  assert.deepEqual(
    server.values.get('/nixl/agents/metadata/a/NULL_AGENT'),
    Buffer.from(a.agent.getLocalMD()),
  );
  await a.agent.invalidateLocalMD();
  assert.equal(server.values.size, 0);
  await rejectsCode(b.agent.fetchRemoteMD('a'), 'ERR_USAGE_NOT_FOUND');
});

for (const usesLibuv of [true, false]) {
  const kind = usesLibuv ? 'libuv' : 'plain';
  test(`TCPStore: PyTorch’s own server (${kind}), publish, fetch and withdraw`, async (t) => {
    const reason = torchSkipReason();
    if (reason !== undefined) {
      t.skip(reason);
      return;
    }
    const endpoint = await startTorchStore(t, usesLibuv);
    const network = new MockNetwork();
    const a = await openMockAgent(t, network, 'a', using(endpoint));
    const b = await openMockAgent(t, network, 'b', using(endpoint, 300));
    await a.agent.sendLocalMD();
    await b.agent.fetchRemoteMD('a');
    assert.equal(b.agent.checkRemoteMD('a', piecesOf(a.memory, [0, 8])), S.SUCCESS);
    await a.agent.invalidateLocalMD();
    await rejectsCode(b.agent.fetchRemoteMD('a'), 'ERR_USAGE_NOT_FOUND');
  });
}

test('TCPStore: a fetch waits for its key, an agent for its store', async (t) => {
  const port = await freePort();
  const opening = openMockAgent(t, new MockNetwork(), 'early', using(`127.0.0.1:${port}`));
  await sleepMs(50);
  const server = await TcpStoreServer.start(t, port);
  await opening;
  const network = new MockNetwork();
  const a = await openMockAgent(t, network, 'a', using(server.endpoint));
  const b = await openMockAgent(t, network, 'b', using(server.endpoint));
  const fetching = b.agent.fetchRemoteMD('a');
  await sleepMs(60);
  await a.agent.sendLocalMD();
  await fetching;
  assert.equal(b.agent.checkRemoteMD('a'), S.SUCCESS);
});

test('TCPStore: a restart of the server in mid-run is survived', async (t) => {
  const server = await TcpStoreServer.start(t);
  const network = new MockNetwork();
  const a = await openMockAgent(t, network, 'a', using(server.endpoint));
  const b = await openMockAgent(t, network, 'b', using(server.endpoint));
  await a.agent.sendLocalMD();
  await server.stop();
  const fetching = b.agent.fetchRemoteMD('a');
  await sleepMs(60);
  await server.listen();
  await fetching;
  await a.agent.sendLocalPartialMD(regionOf(a.memory), { metadataLabel: 'later' });
  assert.ok(server.values.has('/nixl/agents/later/a/NULL_AGENT'));
});

test('TCPStore: names with a slash, a missing label and two stores are refused', async (t) => {
  const server = await TcpStoreServer.start(t);
  const network = new MockNetwork();
  await rejectsCode(openMockAgent(t, network, 'x/y', using(server.endpoint)), 'ERR_USAGE_ARGUMENT');
  const a = await openMockAgent(t, network, 'a', using(server.endpoint));
  const partial = a.agent.sendLocalPartialMD(regionOf(a.memory));
  await rejectsCode(partial, 'ERR_USAGE_ARGUMENT');
  const both = {
    settings: { 'nixl.tcpStoreEndpoint': server.endpoint, 'nixl.etcdEndpoints': 'http://[::1]:1' },
  };
  await rejectsCode(openMockAgent(t, network, 'c', both), 'ERR_CONFIG_CONFLICT');
  await rejectsCode(openMockAgent(t, network, 'd', using('nonsense')), 'ERR_CONFIG_VALUE');
});

test('TCPStore client: a server that lies or stalls is a typed error, once', async (t) => {
  let answer = Buffer.alloc(0);
  const liar = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (hello: Buffer) => {
      socket.write(hello.subarray(6, 10));
      socket.on('data', () => socket.write(answer));
    });
  });
  await new Promise<void>((resolve) => liar.listen(0, '127.0.0.1', () => resolve()));
  const { port } = liar.address() as { port: number };
  const client = clientOf(`127.0.0.1:${port}`);
  t.after(() => {
    client.close();
    liar.close();
  });
  answer = Buffer.alloc(8, 0xff);
  await rejectsCode(client.get('k'), 'ERR_WIRE_LIMIT');
  answer = Buffer.from('0500000000000000aabb', 'hex');
  await rejectsCode(client.get('k'), 'ERR_PEER_TIMEOUT');
  answer = Buffer.from('0200000000000000aabb', 'hex');
  assert.deepEqual(await client.get('k'), Buffer.from('aabb', 'hex'));
});

test('TCPStore client: an answer that is not the handshake’s is refused', async (t) => {
  const other = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write('HTTP/1.1 400'));
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', () => resolve()));
  const { port } = other.address() as { port: number };
  const client = clientOf(`127.0.0.1:${port}`);
  t.after(() => {
    client.close();
    other.close();
  });
  await rejectsCode(client.check('k'), 'ERR_WIRE_MAGIC');
});
