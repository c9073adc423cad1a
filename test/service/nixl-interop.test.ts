// An agent in TypeScript and a program with the NIXL plugin: each loads the other's metadata, in
// NIXL's own format, and moves memory both ways.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { silentLog } from '../../src/base/log.js';
import { Agent } from '../../src/nixl/agent.js';
import { describeMemory } from '../../src/nixl/host-memory.js';
import { MemType, XferOp } from '../../src/nixl/memory-type.js';
import { until } from '../support/until.js';
import {
  blobOf,
  move,
  needsCxx,
  nixlEnd,
  nixlLoad,
  nixlMemory,
  notifs,
  partsOf,
} from './nixl-world.js';
import { ServiceWorld } from './service-world.js';

const BYTES = 300_007;
const world = new ServiceWorld();
after(() => world.close());

test('nixl plugin: an agent in TypeScript and the plugin move memory both ways', {
  skip: needsCxx,
}, async () => {
  const c = await nixlEnd(world, await world.service(), 'plugin');
  const there = await nixlMemory(c, BYTES, 'dram');
  const agent = await Agent.create('typescript', { log: silentLog });
  try {
    await agent.createBackend('TCPX');
    const bytes = Buffer.alloc(BYTES);
    const desc = describeMemory(bytes);
    const own = { memType: MemType.DRAM, descs: [desc] };
    await agent.registerMem(own);
    assert.equal(agent.loadRemoteMD(blobOf(c, there)), 'plugin');
    const parts = partsOf(agent.getLocalMD());
    assert.match(parts.end.info, /^\{?.*tcpx-conn\/1/);
    assert.match(c.info, /tcpx-conn\/1/);
    assert.match(there.key, /tcpx-region\/1/);
    assert.match(parts.memory.key, /tcpx-region\/1/);
    const target = await nixlLoad(c, parts.end, parts.memory);
    const far = { memType: MemType.DRAM, descs: [{ ...desc, addr: Number(there.addr) }] };

    await c.program.do(`fill ${there.id} 1`);
    const read = agent.createXferReq(XferOp.READ, own, far, 'plugin', { notif: 'read by ts' });
    agent.postXferReq(read);
    await agent.waitXferReq(read);
    assert.deepEqual(await notifs(c.program, 1), ['typescript:read by ts']);
    const seen = Buffer.from(bytes);

    await c.program.do(`fill ${there.id} 2`);
    const write = agent.createXferReq(XferOp.WRITE, own, far, 'plugin', { notif: 'written' });
    agent.postXferReq(write);
    await agent.waitXferReq(write);
    assert.deepEqual(await notifs(c.program, 1), ['typescript:written']);
    assert.equal(await c.program.do(`same ${there.id} 1`), `same ${BYTES}`, 'what was read');

    await c.program.do(`fill ${there.id} 3`);
    await move(c.program, `write typescript ${there.id} ${target} ${BYTES}`, 'from-plugin');
    let said: string[] = [];
    await until('the message', 5000, () => {
      said = [...agent.getNotifs()].flatMap(([name, messages]) =>
        messages.map((message) => `${name}: ${Buffer.from(message).toString()}`),
      );
      return said.length > 0;
    });
    assert.deepEqual(said, ['plugin: from-plugin']);
    assert.notDeepEqual(bytes, seen);
    bytes.set(seen);
    await move(c.program, `read typescript ${there.id} ${target} ${BYTES}`);
    assert.equal(await c.program.do(`same ${there.id} 1`), `same ${BYTES}`);
  } finally {
    await agent.close();
  }
});
