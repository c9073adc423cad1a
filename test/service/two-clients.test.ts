// Two programs in C on one service: memory of every kind moves both ways, notifications come once
// and after their data, refusals have their numbers.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { serviceStatus } from '../../src/base/service-status.js';
import { until } from '../support/until.js';
import { addMemory, type End, load, type RunningService, ServiceWorld } from './service-world.js';

const MIB = 1024 * 1024;
const BYTES = 3 * MIB + 17;
const world = new ServiceWorld();
let service: RunningService;
let a: End;
let b: End;

before(async () => {
  service = await world.service();
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
    assert.equal(receipt.path, way === 'copied' ? 'shm staged' : 'shm');
    await b.program.do(`fill ${there.id} 6`);
    await a.program.do(`read ${peer} ${here.id} ${region} ${BYTES}`);
    assert.equal(await a.program.do(`check ${here.id} 6`), `same ${BYTES}`);
    await a.program.do(`deregister ${here.id}`);
    await b.program.do(`deregister ${there.id}`);
  });
}

/** Of the files in memory of a process, what lies on huge pages. */
function hugeKiB(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps`, 'utf8');
  const found = [...text.matchAll(/^ShmemPmdMapped: +(\d+) kB$/gm)];
  return found.reduce((sum, [, kib]) => sum + Number(kib), 0);
}

test('service: memory of tcpx_alloc lies on huge pages, in the service too', async (t) => {
  const bytes = 8 * MIB;
  const pid = a.program.child.pid ?? 0;
  const others = hugeKiB(pid);
  const here = await addMemory(a, bytes, 'alloc');
  const there = await addMemory(b, bytes, 'alloc');
  assert.equal(Number(await a.program.do(`where ${here.id}`)) % (2 * MIB), 0);
  // None where the kernel makes none.
  const ownKiB = hugeKiB(pid) - others;
  t.diagnostic(`${ownKiB} KiB on huge pages`);
  assert.ok([0, 8192].includes(ownKiB), 'all or nothing');
  const before = hugeKiB(service.pid);
  const { peer, region } = await load(a, b, there);
  await a.program.do(`fill ${here.id} 5`);
  await a.program.do(`write ${peer} ${here.id} ${region} ${bytes}`);
  assert.equal(await b.program.do(`check ${there.id} 5`), `same ${bytes}`);
  assert.equal(hugeKiB(service.pid) - before, 2 * ownKiB, 'both ends’ in the service');
  await a.program.do(`deregister ${here.id}`);
  await b.program.do(`deregister ${there.id}`);
});

test('service: memory that is copied travels in smaller pieces', async () => {
  const piecesOf = async (kind: string, from: End, to: End): Promise<number> => {
    const here = await addMemory(from, MIB, kind);
    const there = await addMemory(to, MIB, kind);
    const { peer, region } = await load(from, to, there);
    const request = await from.program.do(`write ${peer} ${here.id} ${region} ${MIB}`);
    const text = await from.program.do(`receipt ${request}`);
    return (JSON.parse(text) as { chunks: number }).chunks;
  };
  const [shared, copied] = [await piecesOf('alloc', a, b), await piecesOf('malloc', a, b)];
  assert.ok(copied >= 8 && copied > 2 * shared, `${copied} pieces, ${shared} of shared memory`);
  // Unless larger ones are asked for.
  const other = await world.service({ env: { NIXL_TCPX_FLOW_CHUNK_BYTES: `${MIB}` } });
  const [carol, dave] = [await world.end(other, 'carol'), await world.end(other, 'dave')];
  assert.ok((await piecesOf('malloc', carol, dave)) <= shared);
});

for (const [ownLane, lane] of [
  ['on', 'the thread that reads its rings'],
  ['off', 'a lane'],
] as const) {
  test(`service: own lane ${ownLane}: small transfers go by ${lane}`, async () => {
    const env = { NIXL_TCPX_LANE_OWN: ownLane, NIXL_TCPX_LANE_COUNT: '2' };
    const other = await world.service({ env });
    const [carol, dave] = [await world.end(other, 'carol'), await world.end(other, 'dave')];
    const here = await addMemory(carol, BYTES, 'malloc');
    const there = await addMemory(dave, BYTES, 'malloc');
    const { peer, region } = await load(carol, dave, there);
    const channelsOf = async (bytes: number): Promise<number[]> => {
      await carol.program.do(`fill ${here.id} 4`);
      await dave.program.do(`fill ${there.id} 3`);
      const request = await carol.program.do(`write ${peer} ${here.id} ${region} ${bytes}`);
      const seen = `${bytes === BYTES ? 'same' : 'differs'} ${bytes}`;
      assert.equal(await dave.program.do(`check ${there.id} 4`), seen);
      const text = await carol.program.do(`receipt ${request}`);
      const { channels } = JSON.parse(text) as { channels: { channel: number }[] };
      return channels.map(({ channel }) => channel);
    };
    const own = 2;
    // The first of them has the channel made.
    let hasOwn = false;
    for (let posts = 0; posts < 50 && !hasOwn; posts++) {
      hasOwn = (await channelsOf(4096)).includes(own);
    }
    assert.equal(hasOwn, ownLane === 'on');
    assert.ok(!(await channelsOf(BYTES)).includes(own), 'a large one keeps no ring waiting');
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

test('service: waits end in time; cancelled and late transfers say so', async () => {
  const far = await world.service();
  const c = await world.end(far, 'carol');
  const bytes = 64 * 1024 * 1024;
  const here = await addMemory(a, bytes, 'alloc');
  const { peer, region } = await load(a, c, await addMemory(c, bytes, 'alloc'));
  await a.program.do(`connect ${peer} 20000`);
  const request = await a.program.do(`prepare ${peer} ${here.id} ${region} ${bytes}`);
  far.child.kill('SIGSTOP');
  await a.program.do(`post ${request}`);
  const asked = await a.program.ask(`wait ${request} 50`);
  assert.equal(asked.status, serviceStatus('ERR_TIMEOUT'), asked.text);
  assert.equal((await a.program.ask(`test ${request}`)).status, serviceStatus('IN_PROGRESS'));
  await a.program.do(`cancel ${request}`);
  far.child.kill('SIGCONT');
  assert.equal(
    (await a.program.ask(`wait ${request} 20000`)).status,
    serviceStatus('ERR_CANCELLED'),
  );
  far.child.kill('SIGSTOP');
  await a.program.do(`post ${request} 50`);
  await a.program.ask(`wait ${request} 100`);
  far.child.kill('SIGCONT');
  assert.equal(
    (await a.program.ask(`wait ${request} 20000`)).status,
    serviceStatus('ERR_DEADLINE'),
  );
  await a.program.do(`post ${request}`);
  await a.program.do(`wait ${request} 20000`);
});

test('service: once a session is closed its memory is its owner’s alone', async () => {
  const near = await world.service();
  const far = await world.service();
  const from = await world.end(near, 'erin');
  const bytes = 64 * 1024 * 1024;
  const here = await addMemory(from, bytes, 'malloc');
  await from.program.do(`fill ${here.id} 1`);
  for (let round = 0; round < 4; round++) {
    const closing = await world.end(far, `frank-${round}`);
    const memory = await addMemory(closing, bytes, 'malloc');
    const { peer, region } = await load(from, closing, memory);
    await from.program.do(`connect ${peer} 20000`);
    const request = await from.program.do(`prepare ${peer} ${here.id} ${region} ${bytes}`);
    await from.program.do(`post ${request}`);
    await closing.program.do('close');
    await closing.program.do(`fill ${memory.id} 2`);
    await from.program.ask(`wait ${request} 20000`);
    assert.equal(await closing.program.do(`check ${memory.id} 2`), `same ${bytes}`);
    const late = await from.program.ask(`post ${request}`);
    const outcome = late.status === 0 ? await from.program.ask(`wait ${request} 20000`) : late;
    assert.equal(outcome.status, serviceStatus('ERR_PEER_LOST'), outcome.text);
    await from.program.do(`release ${request}`);
  }
});

test('service: a session that its service ends is closed with its memory left alone', async () => {
  const near = await world.service();
  const from = await world.end(near, 'hugo');
  const bytes = 64 * 1024 * 1024;
  const here = await addMemory(from, bytes, 'malloc');
  for (let round = 0; round < 3; round++) {
    const far = await world.service();
    const closing = await world.end(far, `ivan-${round}`);
    const memory = await addMemory(closing, bytes, 'malloc');
    const { peer, region } = await load(from, closing, memory);
    await from.program.do(`connect ${peer} 20000`);
    const request = await from.program.do(`prepare ${peer} ${here.id} ${region} ${bytes}`);
    await from.program.do(`post ${request}`);
    far.child.kill('SIGTERM');
    await closing.program.do('close');
    await closing.program.do(`fill ${memory.id} 2`);
    await from.program.ask(`wait ${request} 20000`);
    assert.equal(await closing.program.do(`check ${memory.id} 2`), `same ${bytes}`);
  }
});

test('service: to itself, a program is a peer like another', async () => {
  const here = await addMemory(a, BYTES, 'malloc');
  const there = await addMemory(a, BYTES, 'alloc');
  const { peer, region } = await load(a, a, there);
  await a.program.do(`fill ${here.id} 4`);
  await a.program.do(`write ${peer} ${here.id} ${region} ${BYTES}`);
  assert.equal(await a.program.do(`check ${there.id} 4`), `same ${BYTES}`);
});

test('service: threads of one session do everything at once', async () => {
  const c = await world.end(service, 'carol');
  const peer = await c.program.do(`peer carol ${c.info}`);
  assert.equal(await c.program.do(`threads ${peer} 6 50`), '300 300');
  await c.program.kill();
});

test('service: refusals have their numbers and name what is wrong', async () => {
  const here = await addMemory(a, 4096, 'malloc');
  const there = await addMemory(b, 4096, 'alloc');
  const { peer, region } = await load(a, b, there);
  const cases: readonly (readonly [string, Parameters<typeof serviceStatus>[0], RegExp])[] = [
    ['memory 4096 unsealed', 'ERR_MEMORY', /F_SEAL_SHRINK/],
    // A touch of the first page would end the service where the host has none.
    ['memory 2097152 huge', 'ERR_MEMORY', /huge pages/],
    [`write ${peer} ${here.id} ${region} 4097`, 'ERR_ARGUMENT', /not inside/],
    [`write ${peer} 9999 ${region} 16`, 'ERR_NOT_FOUND', /memory 9999/],
    [`write ${peer} ${here.id} 9999 16`, 'ERR_NOT_FOUND', /region 9999/],
    [`write 77 ${here.id} ${region} 16`, 'ERR_NOT_FOUND', /peer 77/],
    [`region ${peer} 4096 nonsense here`, 'ERR_ARGUMENT', /tcpx-region/],
    ['peer dave not connection info', 'ERR_ARGUMENT', /tcpx-conn/],
    ['accept nobody 50', 'ERR_TIMEOUT', /nobody/],
  ];
  for (const [line, status, text] of cases) {
    const reply = await a.program.ask(line);
    assert.equal(reply.status, serviceStatus(status), `${line}: ${reply.text}`);
    assert.match(reply.text, text, line);
  }
  await b.program.do('accept alice 5000');
});

test('service: a number that none can be is refused, and the session lives on', async () => {
  const here = await addMemory(a, 4096, 'malloc');
  const there = await addMemory(b, 4096, 'alloc');
  const { peer, region } = await load(a, b, there);
  const block = `${peer} ${here.id} ${region}`;
  // −1 as 64 bits without a sign, and the first number that is none of JavaScript's.
  for (const wrong of ['18446744073709551615', '9007199254740992']) {
    for (const line of [
      `block 1 ${block} ${wrong} 0 16`,
      `block 2 ${block} 0 ${wrong} 16`,
      `block 1 ${block} 0 0 ${wrong}`,
      `region ${peer} ${wrong} ${there.key}`,
      `lend 65536 ${wrong}`,
      `lend ${wrong} 4096`,
      `lend-file ${wrong} 0`,
      `lend-file 4096 ${wrong}`,
    ]) {
      const { status, text } = await a.program.ask(line);
      assert.equal(status, serviceStatus('ERR_ARGUMENT'), `${line}: ${text}`);
    }
  }
  const operation = await a.program.ask(`block 3 ${block} 0 0 16`);
  assert.equal(operation.status, serviceStatus('ERR_ARGUMENT'), operation.text);
  assert.match(operation.text, /operation 3/);
  const offset = await a.program.ask(`block 1 ${block} 18446744073709551615 0 16`);
  assert.match(offset.text, /block 0: offset 18446744073709551615/);
  await a.program.do(`block 1 ${block} 0 0 16`);
  await a.program.do(`write ${block} 4096`);
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
