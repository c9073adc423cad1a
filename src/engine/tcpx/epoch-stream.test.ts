// Two ends of a control stream in this process, over loopback.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { TcpxError } from '../../base/errors.js';
import { streamProof } from '../trust.js';
import { type ControlMessage, MESSAGE_BYTES_MAX, type StreamOffer } from './control-message.js';
import type { ControlStream } from './control-stream.js';
import { EpochStream } from './epoch-stream.js';

const HOST = '127.0.0.1';
const KEY = new Uint8Array(32).fill(7);
const go = (transfer: number): ControlMessage => ({ kind: 'go', epoch: 1, transfer, op: 'write' });

class End {
  readonly messages: ControlMessage[] = [];
  readonly stream: EpochStream;
  chosen: ControlStream | undefined;
  error: TcpxError | undefined;
  #onNews: () => void = () => undefined;

  constructor(t: TestContext, key = KEY, timeoutMs = 2000, epoch = 1) {
    this.stream = new EpochStream({
      key,
      epoch,
      timeoutMs,
      onChosen: (stream) => (this.chosen = stream),
      onMessage: (message) => {
        this.messages.push(message);
        this.#onNews();
      },
      onEnd: (error) => {
        this.error = error;
        this.#onNews();
      },
    });
    t.after(() => this.stream.close());
  }

  async until(isThere: () => boolean): Promise<void> {
    while (!isThere()) await new Promise<void>((resolve) => (this.#onNews = resolve));
  }
}

async function joined(t: TestContext): Promise<{ server: End; client: End }> {
  const server = new End(t);
  const client = new End(t);
  assert.equal(await client.stream.dial(HOST, await server.stream.offer(HOST)), true);
  return { server, client };
}

/** A client of the test's own, that has proved itself. */
async function provedSocket(t: TestContext, offer: StreamOffer): Promise<Socket> {
  const socket = connect({ host: HOST, port: offer.port, noDelay: true });
  t.after(() => socket.destroy());
  socket.on('error', () => undefined);
  socket.write(streamProof(KEY, 'client', 1, Buffer.from(offer.nonce, 'hex')));
  await once(socket, 'data');
  return socket;
}

function frame(text: string): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32LE(Buffer.byteLength(text));
  return Buffer.concat([head, Buffer.from(text)]);
}

test('control stream: messages go both ways in their order, large ones too', async (t) => {
  const { server, client } = await joined(t);
  const blocks = Array.from({ length: 200_000 }, (_, index) => [0, index, 10] as const);
  const large: ControlMessage = { kind: 'read', epoch: 1, transfer: 9, regions: [], blocks };
  for (let index = 0; index < 100; index++) client.chosen?.send(go(index));
  client.chosen?.send(large);
  await server.until(() => server.messages.length === 101);
  assert.deepEqual(
    server.messages.slice(0, 100),
    Array.from({ length: 100 }, (_, index) => go(index)),
  );
  assert.deepEqual(server.messages[100], large);
  server.chosen?.send(go(5));
  await client.until(() => client.messages.length === 1);
  assert.deepEqual(client.messages, [go(5)]);
});

test('control stream: the server uses it at its first message, or when told', async (t) => {
  const { server, client } = await joined(t);
  assert.equal(server.chosen, undefined);
  client.chosen?.send(go(1));
  await server.until(() => server.messages.length === 1);
  assert.notEqual(server.chosen, undefined);
  const second = await joined(t);
  assert.equal(second.server.stream.choose(), true);
  assert.notEqual(second.server.chosen, undefined);
});

test('control stream: another key proves nothing and keeps nobody out', async (t) => {
  const server = new End(t);
  const offer = await server.stream.offer(HOST);
  const stranger = new End(t, new Uint8Array(32).fill(8));
  assert.equal(await stranger.stream.dial(HOST, offer), false);
  const client = new End(t);
  assert.equal(await client.stream.dial(HOST, offer), true);
  assert.equal(server.stream.choose(), true);
});

test('control stream: what comes without proof is not obeyed', async (t) => {
  const server = new End(t);
  const { port } = await server.stream.offer(HOST);
  const socket = connect({ host: HOST, port });
  t.after(() => socket.destroy());
  socket.on('error', () => undefined);
  socket.write(Buffer.concat([Buffer.alloc(32), frame(JSON.stringify(go(1)))]));
  await once(socket, 'close');
  assert.deepEqual(server.messages, []);
  assert.equal(server.stream.choose(), false);
});

test('control stream: a server that does not know the key is refused', async (t) => {
  const impostor = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write(Buffer.alloc(32, 1));
  }).listen(0, HOST);
  t.after(() => impostor.close());
  await once(impostor, 'listening');
  const { port } = impostor.address() as { port: number };
  const client = new End(t);
  assert.equal(await client.stream.dial(HOST, { port, nonce: '0'.repeat(32) }), false);
  assert.equal(client.chosen, undefined);
});

test('control stream: nobody there, or somebody who says nothing, is no stream', async (t) => {
  const silent = createServer((socket) => socket.resume()).listen(0, HOST);
  await once(silent, 'listening');
  const { port } = silent.address() as { port: number };
  const nonce = '0'.repeat(32);
  assert.equal(await new End(t, KEY, 50).stream.dial(HOST, { port, nonce }), false);
  await new Promise((resolve) => silent.close(resolve));
  assert.equal(await new End(t).stream.dial(HOST, { port, nonce }), false);
});

test('control stream: frames arrive whole, one byte at a time', async (t) => {
  const server = new End(t);
  const socket = await provedSocket(t, await server.stream.offer(HOST));
  const bytes = Buffer.concat([1, 2, 3].map((index) => frame(JSON.stringify(go(index)))));
  for (const byte of bytes) {
    socket.write(Uint8Array.of(byte));
    await new Promise(setImmediate);
  }
  await server.until(() => server.messages.length === 3);
  assert.deepEqual(server.messages, [go(1), go(2), go(3)]);
});

for (const [what, bytes] of [
  ['a length beyond the limit', Buffer.from(Uint32Array.of(MESSAGE_BYTES_MAX + 1).buffer)],
  ['what is not JSON', frame('{')],
  ['an unknown kind', frame('{"kind":"gremlin","epoch":1}')],
] as const) {
  test(`control stream: ${what} ends it with its rule`, async (t) => {
    const server = new End(t);
    const socket = await provedSocket(t, await server.stream.offer(HOST));
    assert.equal(server.stream.choose(), true);
    socket.write(bytes);
    await server.until(() => server.error !== undefined);
    assert.equal(server.error?.code, 'ERR_WIRE_FRAME');
  });
}

test('control stream: its end is told once it is used, and not before', async (t) => {
  const { server, client } = await joined(t);
  client.stream.close();
  assert.equal(server.stream.choose(), true);
  await server.until(() => server.error !== undefined);
  assert.equal(server.error?.code, 'ERR_PEER_LOST');
  const unused = await joined(t);
  unused.client.stream.close();
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.equal(unused.server.error, undefined);
  assert.equal(unused.server.stream.choose(), false);
});

test('control stream: a proof of another epoch is refused', async (t) => {
  const server = new End(t);
  const offer = await server.stream.offer(HOST);
  const later = new End(t, KEY, 500, 2);
  assert.equal(await later.stream.dial(HOST, offer), false);
  assert.equal(server.stream.choose(), false);
});

test('control stream: silent strangers are bounded, and make room when they go', async (t) => {
  const server = new End(t);
  const offer = await server.stream.offer(HOST);
  const silent = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const socket = connect({ host: HOST, port: offer.port });
      t.after(() => socket.destroy());
      await once(socket, 'connect');
      return socket;
    }),
  );
  assert.equal(await new End(t).stream.dial(HOST, offer), false);
  silent[0]?.destroy();
  let isThere = false;
  for (let attempt = 0; attempt < 200 && !isThere; attempt++) {
    isThere = await new End(t).stream.dial(HOST, offer);
  }
  assert.ok(isThere);
  assert.equal(server.stream.choose(), true);
});
