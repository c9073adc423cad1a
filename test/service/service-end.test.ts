// Ends: of the service, of clients, of both at bad moments; starts: stale sockets, a second
// service; forks. One on demand: autostart.test.ts.

import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { serviceStatus } from '../../src/base/service-status.js';
import { hasEnded } from '../e2e/running-tcpx.js';
import { until } from '../support/until.js';
import { addMemory, load, ServiceWorld } from './service-world.js';

/** From the end of the service to the error in a client; more where everything is slow. */
const NOTICED_MS_MAX = 1000;
const BIG = 64 * 1024 * 1024;
const TICKS_PER_SECOND = 100;
let world = new ServiceWorld();

afterEach(async () => {
  await world.close();
  world = new ServiceWorld();
});

test('service: killed under waiting clients, they see it within a second', async () => {
  const service = await world.service();
  const a = await world.end(service, 'alice');
  const b = await world.end(service, 'bob');
  const here = await addMemory(a, BIG, 'malloc');
  const there = await addMemory(b, BIG, 'malloc');
  const { peer, region } = await load(a, b, there);
  await a.program.do(`connect ${peer} 20000`);
  const request = await a.program.do(`prepare ${peer} ${here.id} ${region} ${BIG}`);
  const repeating = a.program.ask(`repeat ${request} 100000`);
  const waiting = b.program.ask('accept nobody 60000');
  await new Promise((resolve) => setTimeout(resolve, 300));
  const killedMs = performance.now();
  await service.end('SIGKILL');
  for (const reply of await Promise.all([repeating, waiting])) {
    assert.equal(reply.status, serviceStatus('ERR_SERVICE_GONE'), reply.text);
  }
  const noticedMs = performance.now() - killedMs;
  assert.ok(noticedMs < NOTICED_MS_MAX, `${noticedMs} ms`);
  for (const line of [`test ${request}`, 'alive', 'memory 10 malloc', `post ${request}`]) {
    const { status } = await a.program.ask(line);
    assert.equal(status, serviceStatus('ERR_SERVICE_GONE'), line);
  }
  const again = await world.service({ folder: service.folder });
  await a.program.do('close');
  await a.program.do(`open ${again.folder} alice`);
  assert.equal(await a.program.do('alive'), 'alive');
});

test('service: one per folder; a socket that was left over is taken away', async () => {
  const service = await world.service();
  const socket = join(service.folder, 'service.sock');
  assert.equal(statSync(socket).mode & 0o777, 0o600);
  await assert.rejects(
    world.service({ folder: service.folder }),
    new RegExp(`ERR_SYS_ADDRESS_IN_USE.*process ${service.pid}`),
  );
  await service.end('SIGKILL');
  assert.ok(existsSync(socket), 'the kill has left it');
  const lost = await world.program().ask(`open ${service.folder} alice`);
  assert.equal(lost.status, serviceStatus('ERR_NO_SERVICE'), lost.text);
  const next = await world.service({ folder: service.folder });
  await world.end(next, 'alice');
  assert.equal(await next.end('SIGTERM'), 0);
  assert.ok(!existsSync(socket), 'an orderly end leaves none');
});

test('service: a client that is killed in mid-transfer is noticed by its peer alone', async () => {
  const service = await world.service();
  const a = await world.end(service, 'alice');
  const b = await world.end(service, 'bob');
  const [c, d] = [await world.end(service, 'carol'), await world.end(service, 'dave')];
  const pairs = [];
  for (const [from, to] of [
    [a, b],
    [c, d],
  ] as const) {
    const here = await addMemory(from, BIG, 'malloc');
    const there = await addMemory(to, BIG, 'malloc');
    const { peer, region } = await load(from, to, there);
    await from.program.do(`connect ${peer} 20000`);
    const request = await from.program.do(`prepare ${peer} ${here.id} ${region} ${BIG}`);
    pairs.push({ from, to, here, there, request });
  }
  const [hit, spared] = pairs;
  assert.ok(hit !== undefined && spared !== undefined);
  await c.program.do(`fill ${spared.here.id} 2`);
  const failing = a.program.ask(`repeat ${hit.request} 10000`);
  const going = c.program.ask(`repeat ${spared.request} 30`);
  await new Promise((resolve) => setTimeout(resolve, 200));
  await b.program.kill();
  const { status, text } = await failing;
  assert.equal(status, serviceStatus('ERR_PEER_LOST'), text);
  assert.equal((await going).status, 0);
  assert.equal(await d.program.do(`check ${spared.there.id} 2`), `same ${BIG}`);
  assert.equal(await a.program.do('alive'), 'alive');
  const before = descriptorsOf(service.pid);
  await a.program.kill();
  await until('its engine is closed', 10_000, () => descriptorsOf(service.pid) < before);
});

function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

test('service: clients come and go, and leave nothing behind', async () => {
  const service = await world.service();
  const stays = await world.end(service, 'stays');
  const before = descriptorsOf(service.pid);
  const program = world.program();
  for (let round = 0; round < 10; round++) {
    await program.do(`open ${service.folder} guest`);
    assert.ok(descriptorsOf(service.pid) > before);
    await program.do('memory 4096 alloc');
    await program.do('close');
  }
  await until('all are gone', 10_000, () => descriptorsOf(service.pid) <= before);
  assert.equal(await stays.program.do('alive'), 'alive');
});

test('service: is there within a second of work', async () => {
  const service = await world.service();
  // Not by the clock: on a machine with other work that measures the others.
  const stat = readFileSync(`/proc/${service.pid}/stat`, 'utf8');
  const words = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(words[11]) + Number(words[12]);
  assert.ok(ticks > 0 && ticks < TICKS_PER_SECOND, `${ticks} ticks`);
});

test('service: one that stops turning is a full ring, then gone; never a hang', async () => {
  const service = await world.service();
  const env = { NIXL_TCPX_SERVICE_ANSWER_MS: '2000' };
  const a = await world.end(service, 'alice', { env });
  const b = await world.end(service, 'bob', { env });
  const peer = await a.program.do(`peer bob ${b.info}`);
  const here = await addMemory(a, 4096, 'malloc');
  const { region } = await load(a, b, await addMemory(b, 4096, 'malloc'));
  await a.program.do(`connect ${peer} 20000`);
  service.child.kill('SIGSTOP');
  const message = 'x'.repeat(60_000);
  let sent = 0;
  let reply = await a.program.ask(`notify ${peer} ${message}`);
  for (; reply.status === 0; reply = await a.program.ask(`notify ${peer} ${message}`)) sent++;
  assert.equal(reply.status, serviceStatus('ERR_FULL'), reply.text);
  assert.ok(sent > 10 && sent < 20, `${sent} messages of 60,000 bytes in a ring of 1 MiB`);
  service.child.kill('SIGCONT');
  // What was in the ring is there, what was refused is not.
  let fetched = 0;
  await until('the messages', 10_000, async () => {
    if ((await b.program.ask('next')).status === 0) fetched++;
    return fetched === sent;
  });
  await a.program.do(`notify ${peer} goes on`);
  await until('the last one', 10_000, async () => {
    const { text } = await b.program.ask('next');
    return text === '7 alice goes on';
  });

  service.child.kill('SIGSTOP');
  // More than the socket takes: the question itself cannot be sent to its end.
  const wide = `prepare ${peer} ${here.id} ${region} 1 20000`;
  for (const [end, line] of [
    [a, wide],
    [b, 'memory 10 malloc'],
  ] as const) {
    const beginMs = performance.now();
    const { status, text } = await end.program.ask(line);
    assert.equal(status, serviceStatus('ERR_SERVICE_GONE'), text);
    const tookMs = performance.now() - beginMs;
    assert.ok(tookMs >= 1900 && tookMs < 15_000, `${line}: ${tookMs} ms`);
  }
  const late = await world.program({ env }).ask(`open ${service.folder} carol`);
  assert.equal(late.status, serviceStatus('ERR_SERVICE_GONE'), late.text);
  service.child.kill('SIGCONT');
});

test('service: every call in a fork gets an error at once, and its parent goes on', async () => {
  const service = await world.service();
  const a = await world.end(service, 'alice');
  const here = await addMemory(a, 4096, 'malloc');
  const { peer, region } = await load(a, a, here);
  const finished = await a.program.do(`write ${peer} ${here.id} ${region} 64`);
  assert.equal(await a.program.do(`fork ${finished}`), 'refused');
  const fresh = await a.program.do(`prepare ${peer} ${here.id} ${region} 64`);
  assert.equal(await a.program.do(`fork ${fresh}`), 'refused');
  assert.equal(await a.program.do('alive'), 'alive');
  await a.program.do(`write ${peer} ${here.id} ${region} 64`);
});

test('service: a client that ends while its child holds the socket is let go', async () => {
  const service = await world.service();
  const a = await world.end(service, 'alice');
  const before = descriptorsOf(service.pid);
  const child = Number(await a.program.do('orphan'));
  await a.program.kill();
  await until('its engine is closed', 10_000, () => descriptorsOf(service.pid) < before);
  assert.ok(!hasEnded(child), 'the child lives on');
  process.kill(child, 'SIGKILL');
});

test('service: another version and a missing service are typed errors', async () => {
  const service = await world.service();
  const a = await world.end(service, 'alice');
  const other = await a.program.ask(`break version ${service.folder}`);
  assert.equal(other.status, serviceStatus('ERR_VERSION'), other.text);
  const none = await a.program.ask('open /nonexistent/folder alice');
  assert.equal(none.status, serviceStatus('ERR_NO_SERVICE'), none.text);
  const long = await a.program.ask(`open /${'x'.repeat(200)} alice`);
  assert.equal(long.status, serviceStatus('ERR_ARGUMENT'), long.text);
});

test('service: a folder of somebody else, or open to others, is refused', async () => {
  const folder = world.newFolder();
  chmodSync(folder, 0o777);
  await assert.rejects(world.service({ folder }), /ERR_CAP_PERMISSION.*777/);
});

test('service: says once that it has no secret, however many clients it has', async () => {
  const service = await world.service();
  const told = (): number => service.stderr.split('no shared secret').length - 1;
  for (const name of ['alice', 'bob', 'carol']) await world.end(service, name);
  await until('it is told', 5000, () => told() > 0);
  await service.end('SIGTERM');
  assert.equal(told(), 1, service.stderr);
});

test('service: a misspelt setting of a client is refused with what was meant', async () => {
  const service = await world.service();
  const open = `open ${service.folder} alice`;
  const { status, text } = await world.program().ask(`${open} flow.chanels=4`);
  assert.equal(status, serviceStatus('ERR_ARGUMENT'), text);
  assert.match(text, /"flow\.chanels=4" is no setting .*; did you mean flow\.channels\?/);
  // Not one that only the service may choose.
  const other = await world.program().ask(`${open} service.clientMax=4`);
  assert.doesNotMatch(other.text, /did you mean/);
});
