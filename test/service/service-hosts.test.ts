// Two services on two hosts, made of network namespaces: a program of one writes to and reads from
// the memory of a program of the other.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { netLabObstacle, openNetLab } from '../support/net-lab.js';
import { addMemory, load, ServiceWorld } from './service-world.js';

const BYTES = 8 * 1024 * 1024;

test('service: two services in two namespaces, memory of every kind, both ways', async (t) => {
  const obstacle = netLabObstacle();
  if (obstacle !== undefined) {
    t.skip(obstacle);
    return;
  }
  const lab = openNetLab([0]);
  const world = new ServiceWorld();
  try {
    const env = { NIXL_TCPX_TRUST_SECRET: 'a secret for two services' };
    const left = await world.service({ env, inside: (words) => lab.inside('left', words) });
    const right = await world.service({ env, inside: (words) => lab.inside('right', words) });
    const a = await world.end(left, 'alice');
    const b = await world.end(right, 'bob');
    for (const kind of ['alloc', 'malloc']) {
      const here = await addMemory(a, BYTES, kind);
      const there = await addMemory(b, BYTES, kind);
      const { peer, region } = await load(a, b, there);
      await a.program.do(`fill ${here.id} 5`);
      await a.program.do(`write ${peer} ${here.id} ${region} ${BYTES}`);
      assert.equal(await b.program.do(`check ${there.id} 5`), `same ${BYTES}`);
      await b.program.do(`fill ${there.id} 6`);
      await a.program.do(`read ${peer} ${here.id} ${region} ${BYTES}`);
      assert.equal(await a.program.do(`check ${here.id} 6`), `same ${BYTES}`);
    }
  } finally {
    await world.close();
    lab.close();
  }
});
