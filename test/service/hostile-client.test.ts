// Clients that break rules: each costs itself, with its number, and nobody else anything.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { serviceStatus } from '../../src/base/service-status.js';
import { until } from '../support/until.js';
import { addMemory, type End, load, type RunningService, ServiceWorld } from './service-world.js';

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

const RULES = ['scribble', 'tail', 'kind', 'request', 'length', 'short', 'message', 'unknown'];
for (const rule of RULES) {
  test(`hostile client: ${rule} costs that client alone`, async () => {
    const hostile = await world.end(service, 'hostile');
    await hostile.program.do(`break ${rule}`);
    const expected = [serviceStatus('ERR_PROTOCOL')];
    // Who scribbles over everything scribbles over the reason too.
    if (rule === 'scribble') expected.push(serviceStatus('ERR_SERVICE_GONE'));
    let seen = 0;
    await until('it is let go', 10_000, async () => {
      seen = (await hostile.program.ask('alive')).status;
      return seen !== 0;
    });
    if (rule !== 'scribble') assert.ok(expected.includes(seen), `status ${seen}`);
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
  for (let count = 0; count < 200; count++) {
    const { status } = await sender.program.ask(`notify ${peer} ${message}`);
    if (status !== 0 && status !== serviceStatus('ERR_FULL')) break;
  }
  await until('the flood is stopped', 20_000, () => /peer expelled/.test(service.stderr));
  const grown = service.residentKiB() - before;
  assert.ok(grown < 128 * 1024, `grown by ${grown} KiB`);
  await lazy.program.kill();
  await sender.program.kill();
  await assertHonestGoesOn();
});

test('hostile client: three hundred that never say a word are turned away or let go', async () => {
  const sockets = Array.from({ length: 300 }, () => connect(join(service.folder, 'service.sock')));
  let closed = 0;
  for (const socket of sockets) {
    socket.on('error', () => undefined).on('close', () => closed++);
    socket.resume();
  }
  try {
    await until('those beyond the limit are closed', 20_000, () => closed >= 300 - 6 - 32);
    await until('the others are let go for their silence', 20_000, () => closed === 300);
    await assertHonestGoesOn();
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

test('hostile client: quotas answer with the name of the setting', async () => {
  const { program } = honest;
  const here = await addMemory(honest, 4096, 'malloc');
  const { peer, region } = await load(honest, honest, here);
  const many = await program.ask(`prepare ${peer} ${here.id} ${region} 0 1048577`);
  assert.equal(many.status, serviceStatus('ERR_LIMIT'), many.text);
  const wrong = await world.program().ask(`open ${service.folder} greedy trust.mode=network`);
  assert.equal(wrong.status, serviceStatus('ERR_ARGUMENT'), wrong.text);
  assert.match(wrong.text, /trust\.mode/);
});
