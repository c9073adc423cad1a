// Two services on two hosts, made of network namespaces: programs of either, in C and in Python,
// move memory to the other's.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { packageRoot } from '../e2e/child.js';
import { type NetLab, netLabObstacle, openNetLab } from '../support/net-lab.js';
import { until } from '../support/until.js';
import { addMemory, type End, load, type RunningService, ServiceWorld } from './service-world.js';

const BYTES = 8 * 1024 * 1024;
/** The module's test fixture makes its pattern byte by byte. */
const PYTHON_BYTES = 300_007;
const PYTHON = ['python3', join(packageRoot, 'test/fixtures/python/line_program.py')];
const hasPython = spawnSync('python3', ['--version']).status === 0;
const obstacle = netLabObstacle();
const world = new ServiceWorld();
let lab: NetLab | undefined;
let left: RunningService;
let right: RunningService;

before(async () => {
  if (obstacle !== undefined) return;
  const links = openNetLab([0]);
  lab = links;
  const env = { NIXL_TCPX_TRUST_SECRET: 'a secret for two services' };
  const start = (end: 'left' | 'right') =>
    world.service({ env, inside: (words) => links.inside(end, words) });
  [left, right] = await Promise.all([start('left'), start('right')]);
});
after(async () => {
  await world.close();
  lab?.close();
});

/** A write and a read, each of bytes of its own. */
async function moveBothWays(a: End, b: End, kind: string, bytes: number): Promise<void> {
  const here = await addMemory(a, bytes, kind);
  const there = await addMemory(b, bytes, kind);
  const { peer, region } = await load(a, b, there);
  await a.program.do(`fill ${here.id} 5`);
  await a.program.do(`write ${peer} ${here.id} ${region} ${bytes}`);
  assert.equal(await b.program.do(`check ${there.id} 5`), `same ${bytes}`);
  await b.program.do(`fill ${there.id} 6`);
  await a.program.do(`read ${peer} ${here.id} ${region} ${bytes}`);
  assert.equal(await a.program.do(`check ${here.id} 6`), `same ${bytes}`);
}

const options = { skip: obstacle ?? false };
test('service: two services in two namespaces, memory of every kind', options, async () => {
  const a = await world.end(left, 'alice');
  const b = await world.end(right, 'bob');
  for (const kind of ['alloc', 'malloc']) await moveBothWays(a, b, kind, BYTES);
});

const pythonOptions = { skip: obstacle ?? (hasPython ? false : 'needs python3') };
for (const [name, other] of [
  ['python', PYTHON],
  ['C', undefined],
] as const) {
  test(`python module: to a ${name} program of another host’s service`, pythonOptions, async () => {
    const program = other === undefined ? {} : { program: other };
    const a = await world.end(left, `python-to-${name}`, { program: PYTHON });
    const b = await world.end(right, `${name}-of-python`, program);
    for (const kind of ['alloc', 'malloc']) {
      await moveBothWays(a, b, kind, PYTHON_BYTES);
      // The write's own message is behind its data.
      await until('the message', 5000, async () => {
        const { status, text } = await b.program.ask('next');
        return status === 0 && text === `11 python-to-${name} from python`;
      });
    }
  });
}
