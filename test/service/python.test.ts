// The Python module, in a process of its own, against a program in C and with its own errors.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { serviceStatus } from '../../src/base/service-status.js';
import { packageRoot } from '../e2e/child.js';
import { until } from '../support/until.js';
import { addMemory, type End, load, type RunningService, ServiceWorld } from './service-world.js';

const SCRIPT = join(packageRoot, 'test/fixtures/python/line_program.py');
const CLOSED = join(packageRoot, 'test/fixtures/python/closed_session.py');
const BYTES = 100_003;
const hasPython = spawnSync('python3', ['--version']).status === 0;
const world = new ServiceWorld();
let service: RunningService;
let python: End;
let c: End;

before(async () => {
  if (!hasPython) return;
  service = await world.service();
  python = await world.end(service, 'python', { program: ['python3', SCRIPT] });
  c = await world.end(service, 'c');
});
after(() => world.close());

for (const kind of ['malloc', 'alloc']) {
  test(`python module: ${kind} memory to a program in C and back, and messages`, async (t) => {
    if (!hasPython) {
      t.skip('needs python3');
      return;
    }
    const here = await addMemory(python, BYTES, kind);
    const there = await addMemory(c, BYTES, kind);
    assert.equal(here.way, kind === 'alloc' ? 'shared' : 'copied');
    const { peer, region } = await load(python, c, there);
    await python.program.do(`fill ${here.id} 5`);
    await python.program.do(`write ${peer} ${here.id} ${region} ${BYTES}`);
    assert.equal(await c.program.do(`check ${there.id} 5`), `same ${BYTES}`);
    await until('the notification', 5000, async () => (await c.program.ask('next')).status === 0);
    await c.program.do(`fill ${there.id} 6`);
    await python.program.do(`read ${peer} ${here.id} ${region} ${BYTES}`);
    assert.equal(await python.program.do(`check ${here.id} 6`), `same ${BYTES}`);
    const back = await load(c, python, here);
    await c.program.do(`notify ${back.peer} to python`);
    let said = '';
    await until('the message', 5000, async () => {
      const { status, text } = await python.program.ask('next');
      said = text;
      return status === 0;
    });
    assert.equal(said, '9 c to python');
  });
}

test('python module: a failure is an exception with its status and name', async (t) => {
  if (!hasPython) {
    t.skip('needs python3');
    return;
  }
  const reply = await python.program.ask('peer nobody nonsense');
  assert.equal(reply.status, serviceStatus('ERR_ARGUMENT'));
  assert.match(reply.text, /^TCPX_ERR_ARGUMENT: .*tcpx-conn/);
});

const CLOSED_TEXT = 'TCPX_ERR_STATE: the session is closed';
const RELEASED_TEXT = 'TCPX_ERR_STATE: the request is released';
const UNPOSTED_TEXT = 'TCPX_ERR_STATE: test: the request was not posted';

test('python module: what is closed, released or forked is an error, never a crash', (t) => {
  if (!hasPython) {
    t.skip('needs python3');
    return;
  }
  const { status, signal, stdout, stderr } = spawnSync('python3', [CLOSED, service.folder], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.equal(status, 0, `${signal ?? ''} ${stderr}`);
  const told = JSON.parse(stdout) as Record<string, unknown>;
  const { receipt, offset, gaps, deregistered, keyInChild, infoInChild, doneInChild } = told;
  const { freedTwice, ...rest } = told;
  const patterns: readonly (readonly [unknown, RegExp])[] = [
    [receipt, /^TCPX_ERR_STATE: request \d+: no post of it has finished$/],
    [offset, /^TCPX_ERR_ARGUMENT: prepare: block 0: offset 18446744073709551615/],
    [gaps, /^TCPX_ERR_ARGUMENT: .*not contiguous/],
    [deregistered, /^TCPX_ERR_NOT_FOUND: memory \d+ is not registered$/],
    [keyInChild, /^TCPX_ERR_FORKED: the session belongs to/],
    [infoInChild, /^TCPX_ERR_FORKED: the session belongs to/],
    [doneInChild, /^TCPX_ERR_FORKED: the session belongs to/],
    [freedTwice, /^TCPX_ERR_NOT_FOUND: free/],
  ];
  for (const [text, pattern] of patterns) assert.match(String(text), pattern);
  const exact = {
    way: 'shared',
    part: 'shared',
    address: 'shared',
    unposted: UNPOSTED_TEXT,
    unpostedWait: UNPOSTED_TEXT,
    alive: null,
    tensor: [4096, 'copied'],
    short: [4096, 'copied'],
    freed: null,
    freedView: 'xx',
    releasedTwice: null,
    released: RELEASED_TEXT,
    view: [7, 7, 0],
    done: CLOSED_TEXT,
    post: CLOSED_TEXT,
    cancel: CLOSED_TEXT,
    release: null,
    key: CLOSED_TEXT,
    info: CLOSED_TEXT,
    allocate: CLOSED_TEXT,
    free: CLOSED_TEXT,
    notify: CLOSED_TEXT,
    next: CLOSED_TEXT,
  };
  for (const [name, value] of Object.entries(exact)) assert.deepEqual(rest[name], value, name);
});
