// The Python module, in a process of its own, against a program in C and with its own errors.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { serviceStatus } from '../../src/base/service-status.js';
import { packageRoot } from '../e2e/child.js';
import { until } from '../support/until.js';
import { addMemory, type End, load, ServiceWorld } from './service-world.js';

const SCRIPT = join(packageRoot, 'test/fixtures/python/line_program.py');
const BYTES = 100_003;
const hasPython = spawnSync('python3', ['--version']).status === 0;
const world = new ServiceWorld();
let python: End;
let c: End;

before(async () => {
  if (!hasPython) return;
  const service = await world.service();
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
