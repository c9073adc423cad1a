// An engine of a node service: it begins with one thread and one channel of each session, and has
// the others when something is worth them.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { until } from '../../test/support/until.js';
import { silentLog } from '../base/log.js';
import { Engine } from './engine.js';

const LANES = 3;
const LARGE = 8 * 1024 * 1024;
const START_MS = 5000;

async function openPair(t: TestContext) {
  const settings = { 'session.local': 'tcp', 'lane.count': LANES, 'lane.own': 'off' } as const;
  const open = (name: string) => Engine.open({ name, settings, log: silentLog, isServed: true });
  const [near, far] = await Promise.all([open('near'), open('far')]);
  t.after(() => Promise.all([near.close(), far.close()]));
  const memory = new Uint8Array(LARGE);
  far.register(memory, { name: 'there' });
  const session = await near.connect('127.0.0.1', far.listen('127.0.0.1:0'));
  return { near, far, session, memory, remote: await session.lookup('there') };
}

const running = (engine: Engine): number =>
  engine.laneStats().filter(({ pauses }) => pauses !== undefined).length;

test('late lanes: small transfers need one thread; a large one has the others start', async (t) => {
  const { near, far, session, memory, remote } = await openPair(t);
  for (let posts = 0; posts < 20; posts++) {
    await session.write({ local: new Uint8Array(4096), remote });
  }
  assert.deepEqual([running(near), running(far)], [1, 1]);
  const local = new Uint8Array(LARGE).fill(7);
  await session.write({ local, remote });
  await until('all threads run', START_MS, () => running(near) + running(far) === 2 * LANES);
  const lanes = new Set<number>();
  await until('all channels carry', START_MS, async () => {
    memory.fill(0);
    const { channels } = await session.write({ local, remote });
    for (const { channel } of channels) lanes.add(channel);
    assert.ok(memory.every((byte) => byte === 7));
    return lanes.size === LANES;
  });
});

test('late lanes: an engine ends whose threads have not started, or are about to', async (t) => {
  const { near, session, remote } = await openPair(t);
  const transfer = session.write({ local: new Uint8Array(LARGE), remote });
  transfer.done.catch(() => undefined);
  await near.close();
  assert.notEqual(transfer.status, 'active');
});
