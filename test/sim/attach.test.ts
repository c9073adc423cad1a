// Two attempts to attach the same channel, in one turn of the server's main thread: whoever is
// admitted is taken, so that no ATTACH that was answered is good for a second time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachChannel } from '../../src/engine/handshake.js';
import type { LiveSession } from '../../src/engine/live-session.js';
import { NONCE_BYTES } from '../../src/wire/control-frame.js';
import { hostOf } from '../support/sim/sim-peer-network.js';
import { planOf } from '../support/sim/sim-plan.js';
import { SimWorld } from '../support/sim/sim-world.js';

const SEED = 5;
const LIMIT_MS = 10_000;
const PAUSE_US = 100_000;

test('attach: of two attempts in one turn each that is admitted is taken', async () => {
  const quiet = { machines: 2, isCalm: true, faults: 0, delayUs: 50, jitterUs: 0 };
  const world = new SimWorld(
    { ...planOf(SEED), ...quiet, plugin: undefined },
    undefined,
    undefined,
  );
  const [client, server] = world.machines;
  assert.ok(client !== undefined && server !== undefined);
  world.connect(client, server.name);
  const isReady = (): boolean => world.links.some(({ pair }) => pair.atServer.isReady);
  await world.until(isReady, LIMIT_MS, () => 'a session');
  const pair = world.links[0]?.pair;
  assert.ok(pair !== undefined);
  // Both lie there when it looks again.
  server.node.mainPausedUs = world.time.nowUs + PAUSE_US;
  const admitted: number[] = [];
  const attempts = [1, 2].map((epoch) =>
    attach(pair.atClient, epoch).then(
      () => admitted.push(epoch),
      () => undefined,
    ),
  );
  let isOver = false;
  void Promise.all(attempts).then(() => {
    isOver = true;
  });
  await world.until(
    () => isOver,
    LIMIT_MS,
    () => 'both attempts are answered',
  );
  assert.ok(admitted.length > 0);
  const used = pair.atServer.recovery.book.epoch(0);
  assert.ok(Math.max(...admitted) <= used, `admitted ${admitted.join(' ')}, used up to ${used}`);
  await world.destroy();

  async function attach(session: LiveSession, epoch: number): Promise<void> {
    const { peers } = client?.node ?? assert.fail('a client');
    const route = { host: hostOf(server?.name ?? '', 0), nic: '' };
    const connection = await peers.dial(route, 1, LIMIT_MS);
    const { id, key } = session.facts;
    const nonce = peers.randomBytes(NONCE_BYTES);
    const name = { sessionId: id, channelIndex: 0, epoch, nonce };
    await attachChannel(peers, connection, key.reveal(), name, LIMIT_MS);
  }
});
