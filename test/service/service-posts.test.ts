// A hundred thousand posts through the ring: nothing grows, nothing is lost.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { at } from '../../src/base/assert.js';
import { addMemory, load, ServiceWorld } from './service-world.js';

const POSTS = 100_000;
const WARM_POSTS = 20_000;
const IN_FLIGHT = 64;
/** Twenty bytes of a post that stayed would be as much. What the heap does now and then is more. */
const GROWN_KIB_MAX = 2048;
/** Requests grow old in 64 posts, and the collector of old objects comes after some 400,000. */
const ROUNDS_MAX = 10;
const world = new ServiceWorld();
after(() => world.close());

test('service: 100,000 posts leave the service as large as it was', async (t) => {
  const service = await world.service();
  const a = await world.end(service, 'alice');
  const b = await world.end(service, 'bob');
  const here = await addMemory(a, 4096, 'malloc');
  const there = await addMemory(b, 4096, 'alloc');
  const { peer, region } = await load(a, b, there);
  await a.program.do(`connect ${peer} 20000`);
  const requests: string[] = [];
  for (let count = 0; count < IN_FLIGHT; count++) {
    requests.push(await a.program.do(`prepare ${peer} ${here.id} ${region} 4096`));
  }
  assert.match(await a.program.do(`flood ${WARM_POSTS}`), new RegExp(`^${WARM_POSTS} `));
  await a.program.do(`fill ${here.id} 3`);
  const grown: number[] = [];
  // A leak grows in every round, a heap that has found its size in none.
  do {
    const before = service.residentKiB();
    assert.match(await a.program.do(`flood ${POSTS}`), new RegExp(`^${POSTS} `));
    grown.push(service.residentKiB() - before);
  } while (at(grown, grown.length - 1) > GROWN_KIB_MAX && grown.length < ROUNDS_MAX);
  t.diagnostic(`grown by ${grown.join(', ')} KiB`);
  assert.ok(at(grown, grown.length - 1) <= GROWN_KIB_MAX, `grown by ${grown.join(', ')} KiB`);
  assert.equal(await b.program.do(`check ${there.id} 3`), 'same 4096');
  for (const request of requests) await a.program.do(`release ${request}`);
  for (let round = 0; round < 2000; round++) {
    const one = await a.program.do(`prepare ${peer} ${here.id} ${region} 64`);
    await a.program.do(`release ${one}`);
  }
});
