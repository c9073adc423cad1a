// The NIXL plugin when something ends: transfers that are released in flight, peers that go and
// come back, a service that dies. And what a check costs.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { sleepMs } from '../../src/base/clock.js';
import { NixlStatus } from '../../src/nixl/status.js';
import { until } from '../support/until.js';
import {
  CHECK_PLUGIN,
  CHECK_PROGRAM,
  move,
  needsCxx,
  nixlEnd,
  nixlLoad,
  nixlMemory,
  notifs,
  posted,
} from './nixl-world.js';
import { ServiceWorld } from './service-world.js';

const S = NixlStatus;
const BYTES = 100_003;
const BIG = 256 * 1024 * 1024;
/** From the end of the service to the error in a client; more where everything is slow. */
const NOTICED_MS_MAX = 1000;
const options = { skip: needsCxx };
const hasStrace = spawnSync('strace', ['-V']).status === 0;
let world = new ServiceWorld();

afterEach(async () => {
  await world.close();
  world = new ServiceWorld();
});

/** Two services, so that the far one can be stopped; a pair with memory and a target. */
async function openPair(bytes: number, env: Readonly<Record<string, string>> = {}) {
  const near = await world.service({ env });
  const far = await world.service();
  const a = await nixlEnd(world, near, 'alice', { params: 'log=none' });
  const b = await nixlEnd(world, far, 'bob');
  const here = await nixlMemory(a, bytes, 'dram');
  const there = await nixlMemory(b, bytes, 'dram');
  const target = await nixlLoad(a, b, there);
  await a.program.do('connect bob');
  return { near, far, a, b, here, there, target };
}

test('nixl plugin: released in flight, nothing moves after the abort', options, async () => {
  const env = { NIXL_TCPX_SERVICE_REQUESTS_MAX: '1' };
  const { a, b, here, there, target, far } = await openPair(BIG, env);
  const words = `read bob ${here.id} ${target} ${BIG}`;
  await b.program.do(`fill ${there.id} 1`);
  far.child.kill('SIGSTOP');
  // A peer that does not answer may still send, so the abort cannot be through; the agent asks a
  // second time, and forgets the handle whatever it hears. Released before the service has sent
  // anything, it is free at once: a slow machine needs more time in between.
  let transfer = '';
  let status: number = S.SUCCESS;
  for (let tries = 1; status === S.SUCCESS && tries <= 6; tries++) {
    transfer = await a.program.do(words);
    await posted(a.program, `post ${transfer} never`);
    assert.equal((await a.program.ask(`post ${transfer} twice`)).status, S.ERR_REPOST_ACTIVE);
    await sleepMs(tries * tries * 50);
    status = (await a.program.ask(`release ${transfer}`)).status;
  }
  assert.equal(status, S.ERR_REPOST_ACTIVE);
  await a.program.do(`release ${transfer}`);
  assert.equal((await a.program.ask(words)).status, S.ERR_NOT_ALLOWED, 'it is not free yet');
  far.child.kill('SIGCONT');
  await until('the place is free', 10_000, async () => (await a.program.ask(words)).status === 0);
  await a.program.do(`fill ${here.id} 3`);
  assert.equal(await a.program.do(`same ${here.id} 3`), `same ${BIG}`);
  assert.equal(await b.program.do('notifs'), '0');
  await a.program.do(`deregister ${here.id}`);
});

test(
  'nixl plugin: a peer that is gone is REMOTE_DISCONNECT; one of its name works',
  options,
  async () => {
    const { near, far, a, b, here, target } = await openPair(BYTES);
    const transfer = await move(a.program, `write bob ${here.id} ${target} ${BYTES}`);
    await b.program.do('destroy');
    const { status } = await a.program.ask(`post ${transfer} lost`);
    const outcome =
      status === S.IN_PROG ? (await a.program.ask(`wait ${transfer} 20000`)).status : status;
    assert.equal(outcome, S.ERR_REMOTE_DISCONNECT);
    // As an agent evicts a peer: its memory first, then the peer, the handles whenever they go.
    await a.program.do(`unload ${target}`);
    await a.program.do('disconnect bob');
    await a.program.do(`release ${transfer}`);
    const info = await b.program.do(`create bob service_folder=${far.folder}`);
    const again = { ...b, info };
    const there = await nixlMemory(again, BYTES, 'dram');
    const newTarget = await nixlLoad(a, again, there);
    await a.program.do(`fill ${here.id} 4`);
    await move(a.program, `write bob ${here.id} ${newTarget} ${BYTES}`, 'back');
    assert.deepEqual(await notifs(b.program, 1), ['alice:back']);
    assert.equal(await b.program.do(`same ${there.id} 4`), `same ${BYTES}`);
    assert.equal(near.child.exitCode, null);
  },
);

test('nixl plugin: refused by a peer that is ending is a peer that is gone', options, async () => {
  const { a, b, here, there, target } = await openPair(BYTES);
  const transfer = await move(a.program, `write bob ${here.id} ${target} ${BYTES}`);
  // The order in which an agent ends: its memory, then its backend.
  await b.program.do(`deregister ${there.id}`);
  await posted(a.program, `post ${transfer}`);
  const waiting = a.program.ask(`wait ${transfer} 20000`);
  await sleepMs(50);
  await b.program.do('destroy');
  assert.equal((await waiting).status, S.ERR_REMOTE_DISCONNECT);
});

test('nixl plugin: disconnected and connected again, by the same info', options, async () => {
  const { a, b, here, there, target } = await openPair(BYTES);
  await a.program.do(`unload ${target}`);
  await a.program.do('disconnect bob');
  assert.equal((await a.program.ask('notify bob hello')).status, S.ERR_NOT_FOUND);
  const newTarget = await nixlLoad(a, b, there);
  await a.program.do(`fill ${here.id} 5`);
  await move(a.program, `write bob ${here.id} ${newTarget} ${BYTES}`, 'again');
  assert.deepEqual(await notifs(b.program, 1), ['alice:again']);
});

test('nixl plugin: the service is killed under a check; a new engine works', options, async () => {
  const { near, far, a, b, here, target } = await openPair(BIG);
  const transfer = await a.program.do(`write bob ${here.id} ${target} ${BIG}`);
  far.child.kill('SIGSTOP');
  await posted(a.program, `post ${transfer}`);
  const waiting = a.program.ask(`wait ${transfer} 20000`);
  await until('the wait', 5000, () => near.child.exitCode === null);
  const killedMs = performance.now();
  await near.end('SIGKILL');
  // Not the peer's fault: the agent must not evict it.
  assert.equal((await waiting).status, S.ERR_BACKEND);
  const noticedMs = performance.now() - killedMs;
  assert.ok(noticedMs < NOTICED_MS_MAX, `${noticedMs} ms`);
  for (const line of ['notifs', 'notify bob hello', 'memory 10 dram', `post ${transfer}`]) {
    assert.equal((await a.program.ask(line)).status, S.ERR_BACKEND, line);
  }
  await a.program.do(`release ${transfer}`);
  await a.program.do('destroy');
  far.child.kill('SIGCONT');
  const next = await world.service({ folder: near.folder });
  const info = await a.program.do(`create alice service_folder=${next.folder}`);
  const fresh = { ...a, info };
  const memory = await nixlMemory(fresh, BYTES, 'dram');
  const there = await nixlMemory(b, BYTES, 'dram');
  await move(a.program, `write bob ${memory.id} ${await nixlLoad(fresh, b, there)} ${BYTES}`);
});

test('nixl plugin: a check makes no system call', options, async (t) => {
  if (!hasStrace) {
    t.skip('needs strace');
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-strace-'));
  try {
    const trace = join(folder, 'trace');
    const near = await world.service();
    const far = await world.service();
    const b = await nixlEnd(world, far, 'bob');
    const there = await nixlMemory(b, BYTES, 'dram');
    const a = await nixlEnd(world, near, 'alice', {
      program: ['strace', '-ff', '-o', trace, CHECK_PROGRAM, CHECK_PLUGIN],
    });
    const here = await nixlMemory(a, BYTES, 'dram');
    const target = await nixlLoad(a, b, there);
    await a.program.do('connect bob');
    const transfer = await a.program.do(`write bob ${here.id} ${target} ${BYTES}`);
    far.child.kill('SIGSTOP');
    await posted(a.program, `post ${transfer}`);
    // Longer than the time after which the C library's own test asks the kernel.
    const count = 20_000_000;
    assert.equal(await a.program.do(`look ${transfer} ${count}`), String(count));
    far.child.kill('SIGCONT');
    await a.program.do(`wait ${transfer} 20000`);
    a.program.child.stdin?.end();
    await until('the trace', 10_000, () => a.program.child.exitCode !== null);
    const { stdout } = spawnSync('grep', ['-l', 'getppid()', '-r', folder], { encoding: 'utf8' });
    const lines = readFileSync(stdout.trim(), 'utf8').split('\n');
    const marks = lines.flatMap((line, at) => (line.startsWith('getppid()') ? [at] : []));
    assert.equal(marks.length, 2);
    const [first = 0, last = 0] = marks;
    assert.deepEqual(lines.slice(first + 1, last), []);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
