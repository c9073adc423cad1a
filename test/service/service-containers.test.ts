// A service and a client that do not see each other's processes, as in two containers: a file in
// memory is shared all the same, other memory is refused with the reason. A service that sees the
// client, as a host does its containers, reaches all.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { release } from 'node:os';
import { after, before, test } from 'node:test';
import { serviceStatus } from '../../src/base/service-status.js';
import { until } from '../support/until.js';
import { addMemory, type End, load, type RunningService, ServiceWorld } from './service-world.js';

const BYTES = 1_000_003;
/** A PID namespace of its own, that ends with the program that opened it. */
const UNSHARE = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'];
const contained = { inside: (words: readonly string[]) => [...UNSHARE, ...words] };
const [tool = '', ...flags] = UNSHARE;
const canUnshare = spawnSync(tool, [...flags, 'true']).status === 0;
const options = { skip: canUnshare ? false : 'needs PID namespaces: root, and unshare' };
const world = new ServiceWorld();
let outside: RunningService;
let inside: RunningService;

before(async () => {
  if (!canUnshare) return;
  [outside, inside] = await Promise.all([world.service(), world.service(contained)]);
});
after(() => world.close());

async function assertMoves(a: End, b: End, kind: string, way: string): Promise<void> {
  const here = await addMemory(a, BYTES, kind);
  const there = await addMemory(b, BYTES, kind);
  assert.deepEqual([here.way, there.way], [way, way]);
  const { peer, region } = await load(a, b, there);
  await a.program.do(`fill ${here.id} 5`);
  await a.program.do(`write ${peer} ${here.id} ${region} ${BYTES}`);
  assert.equal(await b.program.do(`check ${there.id} 5`), `same ${BYTES}`);
  await b.program.do(`fill ${there.id} 6`);
  await a.program.do(`read ${peer} ${here.id} ${region} ${BYTES}`);
  assert.equal(await a.program.do(`check ${here.id} 6`), `same ${BYTES}`);
}

for (const [name, client] of [
  ['outside', {}],
  ['in a PID namespace of its own', contained],
] as const) {
  test(`containers: a client ${name} of a service in one shares files alone`, options, async () => {
    const a = await world.end(inside, 'alice', client);
    const b = await world.end(inside, 'bob', client);
    const refused = await a.program.ask(`memory ${BYTES} malloc`);
    assert.equal(refused.status, serviceStatus('ERR_MEMORY'));
    assert.match(refused.text, /register: the client is in another PID namespace/);
    for (const kind of ['alloc', 'file']) await assertMoves(a, b, kind, 'shared');
  });
}

test('containers: a service outside reaches all memory of a client inside', options, async () => {
  const a = await world.end(outside, 'alice', contained);
  const b = await world.end(outside, 'bob', contained);
  await assertMoves(a, b, 'malloc', 'copied');
  await assertMoves(a, b, 'alloc', 'shared');
});

// Of a process that it does not see, a kernel from 6.5 on tells the end all the same.
const [major = 0, minor = 0] = release().split('.').map(Number);
const tellsEnd = major > 6 || (major === 6 && minor >= 5);
const endOptions = tellsEnd ? options : { skip: 'needs Linux 6.5 (SO_PEERPIDFD)' };

test('containers: a client that ends is let go, whoever holds its socket', endOptions, async () => {
  const a = await world.end(inside, 'alice');
  const b = await world.end(inside, 'bob');
  const here = await addMemory(a, 4096, 'alloc');
  const there = await addMemory(b, 4096, 'alloc');
  const { peer, region } = await load(a, b, there);
  const write = `write ${peer} ${here.id} ${region} 4096`;
  await a.program.do(write);
  const holder = Number(await b.program.do('orphan'));
  try {
    await b.program.kill();
    const lost = serviceStatus('ERR_PEER_LOST');
    await until('the peer is lost', 5000, async () => (await a.program.ask(write)).status === lost);
  } finally {
    process.kill(holder, 'SIGKILL');
  }
});
