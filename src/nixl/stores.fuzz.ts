// Answers of stores: a TCPStore and an etcd that say anything. A value, or a typed error.

import assert from 'node:assert/strict';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import fc from 'fast-check';
import { decodesOrRefuses, fuzzTarget } from '../../test/support/fuzz-target.js';
import { isTcpxError } from '../base/errors.js';
import { EtcdClient, parseEtcdAnswer } from './etcd-client.js';
import { TcpStoreClient } from './tcp-store-client.js';

const VALUE_BYTES_MAX = 1000;
const TYPED = /^ERR_(WIRE|PEER)_/;

async function portOf(server: Server | HttpServer): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function settles(promise: Promise<unknown>): Promise<unknown> {
  try {
    return await promise;
  } catch (error) {
    if (isTcpxError(error) && TYPED.test(error.code)) return undefined;
    throw error;
  }
}

/** Echoes the handshake as it should, or not; then answers with the bytes. */
function storeThatSays(answer: Uint8Array, isPolite: boolean): Server {
  return createServer((socket: Socket) => {
    socket.on('error', () => undefined);
    let hasGreeted = false;
    socket.on('data', (data: Buffer) => {
      if (hasGreeted) return;
      hasGreeted = true;
      // VALIDATE, magic, PING, nonce: the nonce is what comes back.
      if (isPolite) socket.write(data.subarray(6, 10));
      socket.end(answer);
    });
  });
}

async function askTcpStore(answer: Uint8Array, isPolite: boolean, ask: number): Promise<void> {
  const server = storeThatSays(answer, isPolite);
  const timeouts = { connectTimeoutMs: 1000, opTimeoutMs: 1000 };
  const options = { host: '127.0.0.1', ...timeouts, valueBytesMax: VALUE_BYTES_MAX };
  const client = new TcpStoreClient({ ...options, port: await portOf(server) });
  const asked = [client.get('k'), client.check('k'), client.delete('k'), client.set('k', answer)];
  const [first, ...others] = [...asked.slice(ask), ...asked.slice(0, ask)];
  const value = await settles(Promise.resolve(first));
  if (value instanceof Uint8Array) assert.ok(value.length <= VALUE_BYTES_MAX);
  await Promise.all(others.map(settles));
  client.close();
  server.close();
}

const etcd = { body: '', status: 200 };
let gateway: Promise<{ server: HttpServer; port: number }> | undefined;

async function openGateway() {
  const server = createHttpServer((request, response) => {
    request.resume();
    response.writeHead(etcd.status).end(etcd.body);
  });
  return { server, port: await portOf(server) };
}

async function askEtcd(body: string, status: number): Promise<void> {
  gateway ??= openGateway();
  const { port } = await gateway;
  Object.assign(etcd, { body, status });
  const client = new EtcdClient([`http://127.0.0.1:${port}`], 1000);
  await settles(client.get('k'));
  await settles(client.keys('k'));
  await settles(client.keepAlive('1'));
  await settles(client.grantLease(5));
}

async function closeGateway(): Promise<void> {
  const opened = await gateway;
  gateway = undefined;
  opened?.server.closeAllConnections();
  opened?.server.close();
}

const head = (bytes: number): Uint8Array => {
  const out = Buffer.alloc(8);
  out.writeBigUInt64LE(BigInt(bytes));
  return out;
};
const storeAnswer = fc.oneof(
  fc.uint8Array({ maxLength: 60 }),
  fc
    .tuple(fc.constantFrom(0, 1, 5, 999, 1001, 2 ** 40), fc.uint8Array({ maxLength: 60 }))
    .map(([bytes, rest]) => Uint8Array.from([...head(bytes), ...rest])),
);
const shape = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, 0, '', 'AA==', '12', 'x', [], true),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(
      fc.constantFrom('kvs', 'key', 'value', 'header', 'revision', 'result', 'TTL', 'ID'),
      tie('value'),
      { maxKeys: 4, noNullPrototype: true },
    ),
  ),
})).value;
const etcdBody = fc.oneof(
  shape.map((value) => JSON.stringify(value)),
  fc.string({ maxLength: 60 }),
);

export const FUZZ_TARGETS = [
  fuzzTarget('etcd answer: an object, or a wire error', { runs: 2000 }, etcdBody, (body) => {
    const parse = (text: string) => parseEtcdAnswer('kv/range', text);
    const answer = decodesOrRefuses(parse, body, /^ERR_WIRE_FRAME$/);
    assert.ok(answer === undefined || typeof answer === 'object');
  }),
  fuzzTarget(
    'etcd client: a value or a typed error, whatever the gateway answers',
    { runs: 60, close: closeGateway },
    fc.tuple(etcdBody, fc.constantFrom(200, 200, 200, 404, 503)),
    ([body, status]) => askEtcd(body, status),
  ),
  fuzzTarget(
    'TCPStore client: a value within its limit or a typed error',
    { runs: 40 },
    fc.tuple(storeAnswer, fc.boolean(), fc.nat({ max: 3 })),
    ([answer, isPolite, ask]) => askTcpStore(answer, isPolite, ask),
  ),
];
