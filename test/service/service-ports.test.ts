// Ports of clients where the service has a range of them: a client's is the first one of the range
// that no client has, and it is free again once the client has gone.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { after, test } from 'node:test';
import { serviceStatus } from '../../src/base/service-status.js';
import { ServiceWorld } from './service-world.js';

/** Below the range that the kernel chooses from, which programs beside this one may be given. */
const FIRST = 20_000 + (process.pid % 10_000);
const COUNT = 4;
const world = new ServiceWorld();
after(() => world.close());

async function hold(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function letGo(server: Server): Promise<void> {
  server.close();
  await once(server, 'close');
}

/** The first of several that are free. */
async function freeRange(): Promise<number> {
  for (let first = FIRST; ; first += COUNT) {
    try {
      for (let index = 0; index < COUNT; index++) await letGo(await hold(first + index));
      return first;
    } catch {
      // The next ones, then.
    }
  }
}

async function serviceAt(first: number) {
  return world.service({ env: { NIXL_TCPX_SESSION_PORT: String(first) } });
}

test('service ports: those of clients that went are used again', async () => {
  const first = await freeRange();
  const service = await serviceAt(first);
  const a = await world.end(service, 'alice');
  const b = await world.end(service, 'bob');
  assert.match(a.info, new RegExp(`\\b${first}\\b`));
  assert.match(b.info, new RegExp(`\\b${first + 1}\\b`));
  for (let round = 0; round < 3; round++) {
    await a.program.do('close');
    const again = await a.program.do(`open ${service.folder} carol-${round}`);
    assert.match(again, new RegExp(`\\b${first}\\b`));
  }
});

test('service ports: clients that attach at the same time have one each', async () => {
  const first = await freeRange();
  const service = await serviceAt(first);
  const names = Array.from({ length: COUNT }, (_, index) => `client-${index}`);
  const ends = await Promise.all(names.map((name) => world.end(service, name)));
  const ports = ends.map(({ info }) => names.findIndex((_, at) => info.includes(`${first + at}`)));
  assert.deepEqual(ports.sort(), [0, 1, 2, 3]);
});

test('service ports: one that another program has is refused by its number', async () => {
  const first = await freeRange();
  const other = await hold(first);
  const service = await serviceAt(first);
  const program = world.program();
  const open = `open ${service.folder} alice`;
  const { status, text } = await program.ask(open);
  await letGo(other);
  assert.equal(status, serviceStatus('ERR_BUSY'), text);
  assert.match(text, new RegExp(`attach: port ${first} .*is taken by another program`));
  await program.do(open);
});

test('service ports: 0 is any for every client, and a range ends at the last port', async () => {
  const any = await serviceAt(0);
  await world.end(any, 'alice');
  await world.end(any, 'bob');
  const last = await serviceAt(65_535);
  await world.end(last, 'alice');
  const { status, text } = await world.program().ask(`open ${last.folder} bob`);
  assert.equal(status, serviceStatus('ERR_LIMIT'), text);
  assert.match(text, /session\.port 65535 leaves ports for 1 clients/);
});
