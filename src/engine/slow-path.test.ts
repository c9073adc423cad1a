// A path that carries little at a time, with pauses: all bytes arrive, and nobody calls it a stall.

import assert from 'node:assert/strict';
import { connect, createServer, type Socket } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeEngines, openEngine } from '../../test/support/engine-pair.js';
import { fillPattern, findMismatch } from '../base/pattern.js';

const PIECE_BYTES = 24 * 1024;
const PIECE_MS = 10;
/** Longer than a lane sleeps at most. */
const PAUSE_MS = 250;
const PAUSE_EVERY = 10;

after(closeEngines);

async function dribble(from: Socket, to: Socket): Promise<void> {
  let pieces = 0;
  for await (const bytes of from as AsyncIterable<Buffer>) {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      to.write(bytes.subarray(at, at + PIECE_BYTES));
      if (bytes.length < PIECE_BYTES) continue;
      await sleep(++pieces % PAUSE_EVERY === 0 ? PAUSE_MS : PIECE_MS);
    }
  }
  to.end();
}

async function openDribbler(t: TestContext, serverPort: number): Promise<number> {
  const sockets: Socket[] = [];
  const relay = createServer((toClient) => {
    const toServer = connect(serverPort, '127.0.0.1');
    sockets.push(toClient, toServer);
    for (const socket of [toClient, toServer]) socket.setNoDelay(true).on('error', () => undefined);
    dribble(toClient, toServer).catch(() => undefined);
    dribble(toServer, toClient).catch(() => undefined);
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    relay.close();
  });
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  const address = relay.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

for (const operation of ['write', 'read'] as const) {
  test(`${operation} over a path that dribbles: all bytes, in the time of the path`, async (t) => {
    const bytes = 600_000;
    const server = await openEngine();
    const client = await openEngine();
    const port = await openDribbler(t, server.listen({ port: 0 }));
    const session = await client.connect('127.0.0.1', port);
    const source = new Uint8Array(bytes);
    const target = new Uint8Array(bytes);
    fillPattern(source, 7);
    const [own, other] = operation === 'write' ? [source, target] : [target, source];
    const local = client.register(own);
    const remote = server.register(other).descriptor;
    const block = { local, localOffset: 0, remote, remoteOffset: 0, bytes };
    const startMs = performance.now();
    await session[operation]([block]).done;
    const tookMs = performance.now() - startMs;
    assert.equal(findMismatch(target, 7), -1);
    const pieces = Math.ceil(bytes / PIECE_BYTES);
    const pathMs = pieces * PIECE_MS + (pieces / PAUSE_EVERY) * PAUSE_MS;
    assert.ok(tookMs < 3 * pathMs, `${tookMs} ms over a path of ${pathMs} ms`);
  });
}
