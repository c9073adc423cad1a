// Two programs in C on one service: memory of every kind moves both ways, notifications come once
// and after their data, refusals have their numbers.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { serviceStatus } from '../../src/base/service-status.js';
import { until } from '../support/until.js';
import { addMemory, type End, load, ServiceWorld } from './service-world.js';

const BYTES = 3 * 1024 * 1024 + 17;
const world = new ServiceWorld();
let a: End;
let b: End;

before(async () => {
  const service = await world.service();
  a = await world.end(service, 'alice');
  b = await world.end(service, 'bob');
});
after(() => world.close());

const WAYS = { alloc: 'shared', file: 'shared', malloc: 'copied' } as const;
for (const [kind, way] of Object.entries(WAYS)) {
  test(`service: ${kind} memory is ${way}; a write and a read land whole`, async () => {
    const here = await addMemory(a, BYTES, kind);
    const there = await addMemory(b, BYTES, kind);
    assert.equal(here.way, way);
    const { peer, region } = await load(a, b, there);
    await a.program.do(`fill ${here.id} 5`);
    const request = await a.program.do(`write ${peer} ${here.id} ${region} ${BYTES}`);
    assert.equal(await b.program.do(`check ${there.id} 5`), `same ${BYTES}`);
    const receipt = JSON.parse(await a.program.do(`receipt ${request}`)) as { path: string };
    assert.equal(receipt.path, way === 'copied' ? 'tcp staged' : 'tcp host');
    await b.program.do(`fill ${there.id} 6`);
    await a.program.do(`read ${peer} ${here.id} ${region} ${BYTES}`);
    assert.equal(await a.program.do(`check ${here.id} 6`), `same ${BYTES}`);
    await a.program.do(`deregister ${here.id}`);
    await b.program.do(`deregister ${there.id}`);
  });
}

test('service: shared and copied memory pair; many small blocks of one request land', async () => {
  const here = await addMemory(a, 1000 * 300, 'malloc');
  const there = await addMemory(b, 1000 * 300, 'alloc');
  const { peer, region } = await load(a, b, there);
  await a.program.do(`fill ${here.id} 8`);
  await a.program.do(`write ${peer} ${here.id} ${region} 300 1000`);
  assert.equal(await b.program.do(`check ${there.id} 8`), 'same 300000');
});

test('service: a notification comes once, after its data, with its sender’s name', async () => {
  const here = await addMemory(a, BYTES, 'malloc');
  const there = await addMemory(b, BYTES, 'malloc');
  const { peer, region } = await load(a, b, there);
  await a.program.do(`fill ${here.id} 9`);
  const request = await a.program.do(`prepare ${peer} ${here.id} ${region} ${BYTES}`);
  await a.program.do(`post ${request} 0 layer-3`);
  await until('the notification', 5000, async () => (await b.program.ask('next')).status === 0);
  assert.equal(await b.program.do(`check ${there.id} 9`), `same ${BYTES}`);
  assert.equal((await b.program.ask('next')).status, serviceStatus('IN_PROGRESS'));
  await a.program.do(`wait ${request} 5000`);
  await a.program.do(`notify ${peer} a message of its own`);
  let said = '';
  await until('the message', 5000, async () => {
    const { status, text } = await b.program.ask('next');
    said = text;
    return status === 0;
  });
  assert.equal(said, '20 alice a message of its own');
});

test('service: a request is posted again and again, and released', async () => {
  const here = await addMemory(a, 4096, 'alloc');
  const there = await addMemory(b, 4096, 'alloc');
  const { peer, region } = await load(a, b, there);
  const request = await a.program.do(`prepare ${peer} ${here.id} ${region} 4096`);
  assert.equal((await a.program.ask(`test ${request}`)).status, serviceStatus('ERR_STATE'));
  for (let round = 0; round < 3; round++) {
    await a.program.do(`fill ${here.id} ${round}`);
    await a.program.do(`post ${request}`);
    await a.program.do(`wait ${request} 5000`);
    assert.equal(await b.program.do(`check ${there.id} ${round}`), 'same 4096');
  }
  await a.program.do(`release ${request}`);
  await a.program.do(`deregister ${here.id}`);
  const gone = await a.program.ask(`deregister ${here.id}`);
  assert.equal(gone.status, serviceStatus('ERR_NOT_FOUND'));
});

test('service: to itself, a program is a peer like another', async () => {
  const here = await addMemory(a, BYTES, 'malloc');
  const there = await addMemory(a, BYTES, 'alloc');
  const { peer, region } = await load(a, a, there);
  await a.program.do(`fill ${here.id} 4`);
  await a.program.do(`write ${peer} ${here.id} ${region} ${BYTES}`);
  assert.equal(await a.program.do(`check ${there.id} 4`), `same ${BYTES}`);
});

test('service: refusals have their numbers and name what is wrong', async () => {
  const here = await addMemory(a, 4096, 'malloc');
  const there = await addMemory(b, 4096, 'alloc');
  const { peer, region } = await load(a, b, there);
  const cases: readonly (readonly [string, Parameters<typeof serviceStatus>[0], RegExp])[] = [
    ['memory 4096 unsealed', 'ERR_MEMORY', /F_SEAL_SHRINK/],
    [`write ${peer} ${here.id} ${region} 4097`, 'ERR_ARGUMENT', /not inside/],
    [`write ${peer} 9999 ${region} 16`, 'ERR_NOT_FOUND', /memory 9999/],
    [`write ${peer} ${here.id} 9999 16`, 'ERR_NOT_FOUND', /region 9999/],
    [`write 77 ${here.id} ${region} 16`, 'ERR_NOT_FOUND', /peer 77/],
    [`region ${peer} 4096 nonsense here`, 'ERR_ARGUMENT', /tcpx-region/],
    ['peer carol not connection info', 'ERR_ARGUMENT', /tcpx-conn/],
    ['accept nobody 50', 'ERR_TIMEOUT', /nobody/],
  ];
  for (const [line, status, text] of cases) {
    const reply = await a.program.ask(line);
    assert.equal(reply.status, serviceStatus(status), `${line}: ${reply.text}`);
    assert.match(reply.text, text, line);
  }
  await b.program.do('accept alice 5000');
});

test('service: rights of a region hold, and a stale one is refused by its owner', async () => {
  const here = await addMemory(a, 4096, 'malloc');
  const text = await b.program.do('memory 4096 malloc 1');
  const [id = '', , ...key] = text.split(' ');
  const memory = { id, way: '', key: key.join(' '), bytes: 4096 };
  const { peer, region } = await load(a, b, memory);
  const written = await a.program.ask(`write ${peer} ${here.id} ${region} 4096`);
  assert.equal(written.status, serviceStatus('ERR_ACCESS'), written.text);
  await a.program.do(`read ${peer} ${here.id} ${region} 4096`);
  await b.program.do(`deregister ${id}`);
  const read = await a.program.ask(`read ${peer} ${here.id} ${region} 4096`);
  assert.equal(read.status, serviceStatus('ERR_ACCESS'), read.text);
});

test('service: memory that is not mapped fails its own transfers alone', async () => {
  const nowhere = await addMemory(a, 1 << 20, 'nowhere');
  const there = await addMemory(b, 1 << 20, 'malloc');
  const { peer, region } = await load(a, b, there);
  const lost = await a.program.ask(`write ${peer} ${nowhere.id} ${region} ${1 << 20}`);
  assert.equal(lost.status, serviceStatus('ERR_MEMORY'), lost.text);
  const here = await addMemory(a, 1 << 20, 'malloc');
  await a.program.do(`fill ${here.id} 3`);
  await a.program.do(`write ${peer} ${here.id} ${region} ${1 << 20}`);
  assert.equal(await b.program.do(`check ${there.id} 3`), `same ${1 << 20}`);
});
