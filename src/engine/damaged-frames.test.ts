// Engines over a link that changes bits of heads and tables: with flow.checksum at one end alone
// every byte lands where it belongs, the receipt counts the damage, and both logs name it.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { CuttingProxy } from '../../test/support/cutting-proxy.js';
import { closeEngines, KeptLog, openEngine } from '../../test/support/engine-pair.js';
import { until } from '../../test/support/until.js';
import type { Engine } from './engine.js';

after(closeEngines);

const BYTES = 4096;
const BLOCK = 1000;

interface World {
  readonly server: Engine;
  readonly client: Engine;
  readonly proxy: CuttingProxy;
  readonly serverLog: KeptLog;
  readonly clientLog: KeptLog;
}

async function openWorld(isServerWish: boolean): Promise<World> {
  const [serverLog, clientLog] = [new KeptLog(), new KeptLog()];
  const server = await openEngine(
    { 'flow.checksum': isServerWish },
    { name: 'server', log: serverLog.log },
  );
  const proxy = await CuttingProxy.open(server.listen({ host: '127.0.0.1', port: 0 }));
  const client = await openEngine(
    { 'flow.checksum': !isServerWish, 'flow.channels': 1 },
    { name: 'client', log: clientLog.log },
  );
  return { server, client, proxy, serverLog, clientLog };
}

// Of a WRITE of two blocks: kind, entries, length, acknowledgement, sequence, check, slot, key,
// payload's check; then offsets, a length and the reserved bytes of the table.
const HEAD_AND_TABLE_BITS = [0, 17, 33, 64, 96, 195, 224, 300, 420, 512 + 9, 512 + 64, 512 + 100];

test('damaged frames: a changed bit of head or table moves no byte elsewhere', async () => {
  for (const isServerWish of [false, true]) {
    const world = await openWorld(isServerWish);
    const { server, client, proxy } = world;
    const [source, target] = [new Uint8Array(BYTES), new Uint8Array(BYTES)];
    const local = client.register(source, { read: false, write: false });
    const remote = server.register(target, { read: true, write: true }).descriptor;
    const expected = new Uint8Array(BYTES);
    for (const [round, bit] of HEAD_AND_TABLE_BITS.entries()) {
      source.fill(round + 1);
      const blocks = [0, 2000].map((at) => ({
        local,
        localOffset: at,
        remote,
        remoteOffset: at,
        bytes: BLOCK,
      }));
      for (const at of [0, 2000]) expected.fill(round + 1, at, at + BLOCK);
      // A new one each time: where connections die young the waits between them grow.
      const session = await client.connect('127.0.0.1', proxy.port);
      proxy.flips.toServer = bit;
      const { damaged, retries } = await session.write(blocks).done;
      assert.deepEqual([damaged, retries], [1, 1], `bit ${bit}`);
      assert.deepEqual(target, expected, `bit ${bit}`);
      await session.close();
    }
    assert.ok(world.serverLog.has(/a frame came damaged, in its head/));
    assert.ok(world.serverLog.has(/a frame came damaged, in its table/));
    assert.ok(world.clientLog.has(/the peer received a damaged frame/));
    await Promise.all([client.close(), server.close()]);
    proxy.close();
  }
});

test('damaged frames: an answer with a changed head is asked for again', async () => {
  const { server, client, proxy, clientLog } = await openWorld(false);
  const session = await client.connect('127.0.0.1', proxy.port);
  const [source, target] = [new Uint8Array(BYTES).fill(7), new Uint8Array(BYTES)];
  const remote = server.register(source, { read: true, write: false }).descriptor;
  const local = client.register(target, { read: false, write: false });
  proxy.flips.toClient = 40;
  const block = { local, localOffset: 0, remote, remoteOffset: 0, bytes: BYTES };
  assert.equal((await session.read([block]).done).damaged, 1);
  assert.deepEqual(target, source);
  await until('the log names it', 2000, () => clientLog.has(/a frame came damaged, in its head/));
  await Promise.all([client.close(), server.close()]);
  proxy.close();
});
