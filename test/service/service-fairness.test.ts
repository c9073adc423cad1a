// Eight programs of one service over four NICs with a rate each: they share them, and nobody is
// refused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../../src/base/assert.js';
import { netLabObstacle, openNetLab } from '../support/net-lab.js';
import { addMemory, type End, load, type RunningService, ServiceWorld } from './service-world.js';

const CLIENTS = 8;
const LINK_MBIT = 80;
const BYTES = 128 * 1024;
const IN_FLIGHT = 4;
const WARM_MS = 200;
const WINDOW_MS = 1000;
/** Odd: a machine with other work is unfair for a while, a service in most windows. */
const WINDOWS = 5;
const FAIRNESS_MIN = 0.9;
/** Of what the four links carry together: that they were full is what makes sharing hard. */
const USE_MIN = 0.3;
const LINKS = 4;
const ROOM_BYTES = (LINKS * LINK_MBIT * 1e6 * WINDOW_MS) / 8000;

interface Writer {
  post(ms: number): Promise<number>;
}

async function makeWriter(
  world: ServiceWorld,
  service: RunningService,
  sink: End,
  index: number,
): Promise<Writer> {
  const writer = await world.end(service, `writer-${index}`);
  const here = await addMemory(writer, BYTES, 'alloc');
  const there = await addMemory(sink, BYTES, 'alloc');
  const { peer, region } = await load(writer, sink, there);
  await writer.program.do(`connect ${peer} 20000`);
  for (let count = 0; count < IN_FLIGHT; count++) {
    await writer.program.do(`prepare ${peer} ${here.id} ${region} ${BYTES}`);
  }
  // Throws where a post was refused or has failed.
  const post = async (ms: number) => {
    const said = await writer.program.do(`flood 1000000 ${ms}`);
    return Number(said.split(' ')[0]);
  };
  return { post };
}

const add = (sum: number, one: number): number => sum + one;

function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  return at(sorted, sorted.length >> 1);
}

/** 1 where all have the same, 1/n where one has all. */
function jain(shares: readonly number[]): number {
  const sum = shares.reduce(add, 0);
  const squares = shares.reduce((total, share) => total + share * share, 0);
  return (sum * sum) / (shares.length * squares);
}

test('service: eight clients share four NICs with fairness of 0.9 or more', async (t) => {
  const obstacle = netLabObstacle();
  if (obstacle !== undefined) {
    t.skip(obstacle);
    return;
  }
  const lab = openNetLab(Array.from({ length: LINKS }, () => LINK_MBIT));
  const world = new ServiceWorld();
  const start = (end: 'left' | 'right', nics: readonly string[]) =>
    world.service({
      env: {
        NIXL_TCPX_TRUST_SECRET: 'a secret for two services',
        NIXL_TCPX_SESSION_NICS: nics.join(','),
        NIXL_TCPX_FLOW_CHANNELS: '4',
        // The links are what is scarce here, not time of the processor.
        NIXL_TCPX_LANE_SPIN_US: '0',
        NIXL_TCPX_SERVICE_SPIN_US: '0',
      },
      inside: (words) => lab.inside(end, words),
    });
  try {
    const [left, right] = await Promise.all([
      start(
        'left',
        lab.links.map(({ leftNic }) => leftNic),
      ),
      start(
        'right',
        lab.links.map(({ rightNic }) => rightNic),
      ),
    ]);
    const sink = await world.end(right, 'sink');
    const writers = await Promise.all(
      Array.from({ length: CLIENTS }, (_, index) => makeWriter(world, left, sink, index)),
    );
    await Promise.all(writers.map((writer) => writer.post(WARM_MS)));
    const windows: number[][] = [];
    while (windows.length < WINDOWS) {
      windows.push(await Promise.all(writers.map((writer) => writer.post(WINDOW_MS))));
    }
    const fairness = median(windows.map(jain));
    const use = median(windows.map((shares) => (shares.reduce(add, 0) * BYTES) / ROOM_BYTES));
    const seen = windows.map((shares) => `${jain(shares).toFixed(3)}: ${shares.join(' ')}`);
    const figures = `fairness ${fairness.toFixed(3)}, ${use.toFixed(2)} of the links`;
    const text = `${figures}; ${seen.join('; ')}`;
    t.diagnostic(text);
    assert.ok(fairness >= FAIRNESS_MIN, text);
    assert.ok(use >= USE_MIN, text);
  } finally {
    await world.close();
    lab.close();
  }
});
