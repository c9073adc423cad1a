// Clients that break rules: each costs itself, with its number, and nobody else anything.

import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { serviceStatus } from '../../src/base/service-status.js';
import { until } from '../support/until.js';
import { addMemory, type End, load, type RunningService, ServiceWorld } from './service-world.js';

const SILENT = 1000;
const world = new ServiceWorld();
let service: RunningService;
let honest: End;

before(async () => {
  service = await world.service({
    env: { NIXL_TCPX_SERVICE_CLIENTS_MAX: '6', NIXL_TCPX_SERVICE_INBOX_BYTES: '1048576' },
  });
  honest = await world.end(service, 'honest');
});
after(() => world.close());

async function assertHonestGoesOn(): Promise<void> {
  const here = await addMemory(honest, 100_000, 'malloc');
  const there = await addMemory(honest, 100_000, 'alloc');
  const { peer, region } = await load(honest, honest, there);
  await honest.program.do(`fill ${here.id} 1`);
  const request = await honest.program.do(`write ${peer} ${here.id} ${region} 100000`);
  assert.equal(await honest.program.do(`check ${there.id} 1`), 'same 100000');
  await honest.program.do(`release ${request}`);
  await honest.program.do(`deregister ${here.id}`);
  await honest.program.do(`deregister ${there.id}`);
}

const RULES = {
  // Who scribbles over everything scribbles over the reason too.
  scribble: undefined,
  tail: 'ERR_PROTOCOL',
  kind: 'ERR_PROTOCOL',
  request: 'ERR_PROTOCOL',
  length: 'ERR_PROTOCOL',
  short: 'ERR_PROTOCOL',
  message: 'ERR_PROTOCOL',
  unknown: 'ERR_PROTOCOL',
  offset: 'ERR_PROTOCOL',
  mute: 'ERR_SERVICE_GONE',
} as const;
for (const [rule, expected] of Object.entries(RULES)) {
  test(`hostile client: ${rule} costs that client alone`, async () => {
    const hostile = await world.end(service, 'hostile');
    await hostile.program.do(`break ${rule}`);
    let seen = 0;
    await until('it is let go', 10_000, async () => {
      seen = (await hostile.program.ask('alive')).status;
      return seen !== 0;
    });
    if (expected !== undefined) assert.equal(seen, serviceStatus(expected));
    await hostile.program.kill();
    await assertHonestGoesOn();
  });
}

test('hostile client: a crowd is attached up to the limit, the rest is told so', async () => {
  const crowd = world.program();
  const [attached, refused] = (await crowd.do(`crowd ${service.folder} 60`)).split(' ').map(Number);
  assert.equal(attached, 5, 'six, and the honest one is there');
  assert.equal(refused, 55);
  await crowd.kill();
  await assertHonestGoesOn();
});

test('hostile client: notifications that nobody fetches cost the sender its session', async () => {
  const lazy = await world.end(service, 'lazy');
  const sender = await world.end(service, 'sender');
  const peer = await sender.program.do(`peer lazy ${lazy.info}`);
  await sender.program.do(`connect ${peer} 20000`);
  const before = service.residentKiB();
  const message = 'x'.repeat(60_000);
  // A full ring takes none, and where others have the cores it is full most of the time.
  await until('the flood is stopped', 20_000, async () => {
    for (let count = 0; count < 20; count++) await sender.program.ask(`notify ${peer} ${message}`);
    return /peer expelled/.test(service.stderr);
  });
  const grown = service.residentKiB() - before;
  assert.ok(grown < 128 * 1024, `grown by ${grown} KiB`);
  await lazy.program.kill();
  await sender.program.kill();
  await assertHonestGoesOn();
});

test('hostile client: a file that shrinks while it is registered is not taken', async () => {
  const hostile = await world.end(service, 'hostile');
  assert.equal(await hostile.program.do('break shrink 2000'), '0');
  await hostile.program.kill();
  await assertHonestGoesOn();
});

test('hostile client: a thousand that never say a word are turned away or let go', async () => {
  const sockets = Array.from({ length: SILENT }, () =>
    connect(join(service.folder, 'service.sock')),
  );
  let closed = 0;
  let told = '';
  for (const socket of sockets) {
    socket.on('error', () => undefined).on('close', () => closed++);
    socket.on('data', (bytes) => {
      told += bytes.toString('latin1');
    });
  }
  try {
    await until('those beyond the limit are closed', 20_000, () => closed >= SILENT - 6 - 32);
    assert.match(told, /service\.strangersMax/);
    await until('the others are let go for their silence', 20_000, () => closed === SILENT);
    await assertHonestGoesOn();
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

test('hostile client: another user is turned away, also where files would let it in', async (t) => {
  if (process.getuid?.() !== 0) {
    t.skip('needs root, to be another user');
    return;
  }
  const asNobody = (words: readonly string[]) => [
    'setpriv',
    '--reuid=65534',
    '--clear-groups',
    ...words,
  ];
  const { folder } = service;
  const stranger = world.program({ inside: asNobody });
  const shut = await stranger.ask(`open ${folder} stranger`);
  assert.equal(shut.status, serviceStatus('ERR_PERMISSION'), shut.text);
  chmodSync(folder, 0o755);
  chmodSync(join(folder, 'service.sock'), 0o666);
  const open = await stranger.ask(`open ${folder} stranger`);
  assert.equal(open.status, serviceStatus('ERR_PERMISSION'), open.text);
  assert.match(open.text, /is user 65534's, this service is user 0's/);
});
