// Two engines in two processes: bytes proved at the target, and either process killed.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sleepMs } from '../../src/base/clock.js';
import type { TcpxError } from '../../src/base/errors.js';
import { fillPattern, findMismatch } from '../../src/base/pattern.js';
import type { SettingValues } from '../../src/base/settings.js';
import { closeEngines, openEngine } from '../support/engine-pair.js';
import { withCode } from '../support/expect-error.js';
import { EnginePeer } from './engine-peer.js';

const children: EnginePeer[] = [];
after(async () => {
  for (const child of children) child.kill();
  await closeEngines();
});

function start(...words: ConstructorParameters<typeof EnginePeer>): EnginePeer {
  const peer = new EnginePeer(...words);
  children.push(peer);
  return peer;
}

const MODES: Record<string, Partial<SettingValues>> = {
  lanes: { 'session.local': 'tcp', 'lane.count': 2, 'flow.channels': 2 },
  caller: { 'session.local': 'tcp', 'lane.progress': 'caller' },
  'shm, lanes': { 'session.local': 'shm', 'lane.count': 2, 'flow.channels': 2 },
  'shm, caller': { 'session.local': 'shm', 'lane.progress': 'caller' },
};

for (const [name, settings] of Object.entries(MODES)) {
  test(`two processes, ${name}: every byte is proved there and read back`, async () => {
    const answers: string[] = [];
    const engine = await openEngine(settings, {
      onNotification: ({ bytes }) => answers.push(new TextDecoder().decode(bytes)),
    });
    const sizes = [1, 23, 4096, 100_000_007];
    const target = start('target', { settings, host: '127.0.0.1', bytes: Math.max(...sizes) });
    const { port, descriptor } = await target.fact('descriptor');
    for (const bytes of sizes) {
      const session = await engine.connect('127.0.0.1', port);
      const memory = new Uint8Array(bytes);
      fillPattern(memory, bytes);
      const local = engine.register(memory);
      const blocks = [{ local, localOffset: 0, remote: descriptor!, remoteOffset: 0, bytes }];
      const count = answers.length;
      await session.write(blocks, { notify: `check ${bytes} ${bytes}` }).done;
      while (answers.length === count) await engine.drive(sleepMs(1));
      assert.equal(answers.at(-1), 'mismatch -1');
      memory.fill(0);
      const receipt = await session.read(blocks).done;
      assert.equal(findMismatch(memory, bytes), -1, 'read back');
      assert.equal(receipt.bytesConfirmed, bytes);
      await engine.deregister(local, 1000);
      await session.close();
    }
    assert.equal(await target.end(), 0);
    await engine.close();
  });

  test(`two processes, ${name}: a killed target fails the transfer in time`, async () => {
    const bytes = 64 * 1024 * 1024;
    const target = start('target', { settings, host: '127.0.0.1', bytes });
    const { port, descriptor } = await target.fact('descriptor');
    const engine = await openEngine(settings);
    const session = await engine.connect('127.0.0.1', port);
    const local = engine.register(new Uint8Array(bytes));
    const blocks = [{ local, localOffset: 0, remote: descriptor!, remoteOffset: 0, bytes }];
    const write = session.prepare('write', blocks);
    const read = session.prepare('read', blocks);
    await write.post().done;
    const transfers = [write.post(), read.post(), write.post({ notify: 'never' })];
    const outcomes = Promise.allSettled(transfers.map((transfer) => transfer.done));
    await engine.drive(sleepMs(10));
    const startMs = performance.now();
    target.kill();
    const settled = await outcomes;
    assert.ok(performance.now() - startMs < 5000, 'in time');
    const failed = settled.filter((outcome) => outcome.status === 'rejected');
    assert.ok(failed.length > 0, 'it was in mid-transfer');
    for (const { reason } of failed) {
      assert.ok(
        withCode('ERR_XFER_FAILED', new RegExp(`target process.*127.0.0.1:${port}`))(reason),
      );
    }
    await engine.drive(session.closed);
    assert.equal(session.error?.code, 'ERR_PEER_LOST');
    // What is posted on a session that died rejects like what was in flight, and names the loss.
    const late = [session.write(blocks), session.read(blocks), write.post(), session.notify('x')];
    for (const { done } of late) {
      await assert.rejects(done, (error: TcpxError) => {
        assert.equal(error.cause, session.error);
        return withCode('ERR_XFER_FAILED', /ERR_PEER_LOST/)(error);
      });
    }
    await engine.deregister(local);
    write.release();
    read.release();
    await engine.close();
  });

  test(`two processes, ${name}: a killed initiator leaves the target whole`, async () => {
    const bytes = 8 * 1024 * 1024;
    const engine = await openEngine(settings);
    const region = engine.register(new Uint8Array(bytes));
    const port = engine.listen({ host: '127.0.0.1', port: 0 });
    const { descriptor } = region;
    for (let round = 0; round < 2; round++) {
      const child = start('initiator', { settings, host: '127.0.0.1', port, bytes, descriptor });
      await engine.drive(child.fact('writing'));
      const [session] = engine.sessions;
      assert.equal(session?.state, 'ready');
      await assert.doesNotReject(engine.drive(sleepMs(20)));
      child.kill();
      await engine.drive(session.closed);
      assert.ok(session.error?.code === 'ERR_PEER_LOST', session.error?.message);
    }
    await engine.drive(engine.deregister(region));
    await engine.close();
  });
}
