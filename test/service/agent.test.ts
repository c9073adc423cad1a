// A program in C on a service and an agent's backend in TypeScript: the same texts, the same
// messages, memory both ways.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { silentLog } from '../../src/base/log.js';
import { describeMemory } from '../../src/nixl/host-memory.js';
import { MemType, XferOp } from '../../src/nixl/memory-type.js';
import { NixlStatus } from '../../src/nixl/status.js';
import { TcpxBackend } from '../../src/nixl/tcpx-backend.js';
import { until } from '../support/until.js';
import { addMemory, load, ServiceWorld } from './service-world.js';

const BYTES = 1_000_003;
const world = new ServiceWorld();
after(() => world.close());

function listOf(addr: number, md: unknown) {
  return {
    memType: MemType.DRAM,
    count: 1,
    addrs: Float64Array.of(addr),
    lens: Float64Array.of(BYTES),
    devIds: Float64Array.of(0),
    mds: [md],
  };
}

test('service: an agent’s backend writes to a program in C, which writes back', async () => {
  const service = await world.service();
  const c = await world.end(service, 'c');
  const there = await addMemory(c, BYTES, 'malloc');
  const init = { localAgent: 'ts', type: 'TCPX', params: {}, log: silentLog };
  const backend = await TcpxBackend.open(init);
  try {
    const memory = Buffer.alloc(BYTES, 7);
    const desc = describeMemory(memory);
    const local = backend.registerMem(desc, MemType.DRAM);
    backend.loadRemoteConnInfo('c', Buffer.from(c.info));
    const blob = { addr: 4096, len: BYTES, devId: 0, metaInfo: Buffer.from(there.key) };
    const remote = backend.loadRemoteMD(blob, MemType.DRAM, 'c');
    const handle = backend.prepXfer({
      op: XferOp.READ,
      local: listOf(desc.addr, local),
      remote: listOf(4096, remote),
      agent: 'c',
    });
    await c.program.do(`fill ${there.id} 3`);
    backend.postXfer(handle, Buffer.from('read by ts'));
    await until('the read', 10_000, () => backend.checkXfer(handle) === NixlStatus.SUCCESS);
    await until('its message', 5000, async () => (await c.program.ask('next')).status === 0);
    const own = { id: '', way: '', bytes: BYTES, key: '' };
    const key = Buffer.from(backend.getPublicData(local)).toString();
    const end = { name: 'ts', info: Buffer.from(backend.getConnInfo()).toString() };
    const { peer, region } = await load(c, end, { ...own, key });
    memory.fill(0);
    await c.program.do(`write ${peer} ${there.id} ${region} ${BYTES}`);
    assert.notEqual(memory[BYTES - 1] ?? 0, memory[0] ?? 0);
    await c.program.do(`notify ${peer} hello ts`);
    const said: string[] = [];
    await until('the message', 5000, () => {
      for (const { agent, message } of backend.getNotifs()) {
        said.push(`${agent}: ${Buffer.from(message).toString()}`);
      }
      return said.length > 0;
    });
    assert.deepEqual(said, ['c: hello ts']);
  } finally {
    await backend.close();
  }
});
