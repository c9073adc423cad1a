// Posts through the ring by the thousand: nothing grows, neither in the service nor in its
// client, and nothing is lost.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { at } from '../../src/base/assert.js';
import { residentBytes } from '../support/process-resources.js';
import { until } from '../support/until.js';
import { addMemory, load, type RunningService, ServiceWorld } from './service-world.js';

const POSTS = 60_000;
const WARM_POSTS = 40_000;
const ROUNDS = 4;
const IN_FLIGHT = 64;
/** What a post may leave behind: in the heap of the service's main thread, around it, … */
const HEAP_PER_POST_MAX = 8;
const OWN_PER_POST_MAX = 40;
/** With the engines’ shared memory, whose rings take 32 bytes for each post at first. */
const PROCESS_PER_POST_MAX = 128;
const CLIENT_PER_POST_MAX = 8;
/** It holds the room for lists of descriptors, `memory.arenaBytes`. */
const SHARED_BYTES_MIN = 256 * 1024 * 1024;
const COLLECTOR = new URL('../support/collector-main.js', import.meta.url).href;
const world = new ServiceWorld();
after(() => world.close());

/** Of the main thread, after its garbage was collected: it serves the rings and small transfers. */
async function heapBytes(service: RunningService): Promise<number> {
  const heard = service.stderr.length;
  const told = () => /^kept (\d+)$/m.exec(service.stderr.slice(heard))?.[1];
  service.child.kill('SIGUSR2');
  await until('the service has told what it keeps', 10_000, () => told() !== undefined);
  return Number(told());
}

/**
 * Resident memory but for that which an engine shares with its lanes: rings there are touched from
 * front to back, 32 bytes for each post until they are full once.
 */
function ownBytes(pid: number): number {
  let bytes = 0;
  let isShared = false;
  for (const line of readFileSync(`/proc/${pid}/smaps`, 'utf8').split('\n')) {
    const [, from, to] = /^([\da-f]+)-([\da-f]+) /.exec(line) ?? [];
    if (from !== undefined && to !== undefined) {
      isShared = Number.parseInt(to, 16) - Number.parseInt(from, 16) >= SHARED_BYTES_MIN;
    }
    if (!isShared) bytes += 1024 * Number(/^Rss: +(\d+) kB$/.exec(line)?.[1] ?? 0);
  }
  return bytes;
}

/** A rise in one round may be a heap that takes a page more; a leak is in most of them. */
function perPost(samples: readonly number[]): number {
  const grown = samples.slice(1).map((bytes, index) => (bytes - at(samples, index)) / POSTS);
  grown.sort((left, right) => left - right);
  return at(grown, ROUNDS / 2 - 1);
}

test('service: 240,000 posts leave service and client as large as they were', async (t) => {
  const flags = ['--max-semi-space-size=1', '--import', COLLECTOR];
  const service = await world.service({
    inside: ([node = '', ...words]) => [node, ...flags, ...words],
  });
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
  await a.program.do(`fill ${here.id} 3`);
  const program = a.program.child.pid ?? 0;
  const places = {
    heap: { most: HEAP_PER_POST_MAX, bytes: () => heapBytes(service) },
    own: { most: OWN_PER_POST_MAX, bytes: () => ownBytes(service.pid) },
    process: { most: PROCESS_PER_POST_MAX, bytes: () => residentBytes(service.pid) },
    client: { most: CLIENT_PER_POST_MAX, bytes: () => residentBytes(program) },
  };
  const samples = Object.values(places).map((): number[] => []);
  const flood = async (posts: number): Promise<void> => {
    assert.match(await a.program.do(`flood ${posts}`), new RegExp(`^${posts} `));
    // The heap first: garbage is collected with it.
    for (const [index, { bytes }] of Object.values(places).entries()) {
      at(samples, index).push(await bytes());
    }
  };
  await flood(WARM_POSTS);
  for (let round = 0; round < ROUNDS; round++) await flood(POSTS);
  const left = Object.entries(places).map(([name, { most }], index) => {
    return { name, most, bytes: perPost(at(samples, index)) };
  });
  const text = left.map(({ name, bytes }) => `${name} ${bytes.toFixed(1)}`).join(', ');
  t.diagnostic(`bytes for each post: ${text}`);
  assert.ok(
    left.every(({ most, bytes }) => bytes <= most),
    text,
  );
  assert.equal(await b.program.do(`check ${there.id} 3`), 'same 4096');
  for (const request of requests) await a.program.do(`release ${request}`);
  for (let round = 0; round < 2000; round++) {
    const one = await a.program.do(`prepare ${peer} ${here.id} ${region} 64`);
    await a.program.do(`release ${one}`);
  }
});
