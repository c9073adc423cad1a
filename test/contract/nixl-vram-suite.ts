// Agents and p2p sessions through the emulated plugin: host memory that it reaches and GPU memory,
// in all combinations. Runs on a GPU, or on a stand-in for libcuda that nixl-vram.test.ts puts in
// its place.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../src/base/log.js';
import type { SettingValues } from '../../src/base/settings.js';
import { liveSession } from '../../src/engine/session-face.js';
import type { RegionSource } from '../../src/memory/region.js';
import { Agent } from '../../src/nixl/agent.js';
import type { BackendHandle } from '../../src/nixl/backend-handle.js';
import { openBackendOf } from '../../src/nixl/backend-set.js';
import { MemType, XferOp } from '../../src/nixl/memory-type.js';
import { NixlStatus } from '../../src/nixl/status.js';
import { TcpxBackend } from '../../src/nixl/tcpx-backend.js';
import { TcpxSession } from '../../src/p2p/tcpx-session.js';
import type { ContractMemory } from './backend-world.js';
import { deviceMemory } from './device-world.js';
import { usePlugin } from './plugin-world.js';

const MIB = 1024 * 1024;
const BYTES = 2 * MIB + 5;
const WAIT_MS = 20_000;

const params = usePlugin({ TCPX_EMU_MEMORY: 'cuda' });
async function openAgent(t: TestContext, name: string) {
  const agent = await Agent.create(name);
  t.after(() => agent.close());
  const handle = await agent.createBackend('TCPX', params);
  return { agent, handle };
}

/** Messages that the plugin of this end has sent for its sessions. */
function sentByPlugin(handle: BackendHandle): number {
  const { backend } = openBackendOf(handle);
  assert.ok(backend instanceof TcpxBackend);
  const sets = backend.engine.sessions.flatMap((one) => liveSession(one).matched?.epochs.set ?? []);
  return sets.flatMap((set) => set.counters(0)).reduce((sum, { posted }) => sum + posted, 0);
}

test('agent: VRAM and DRAM move through the plugin, told after their data, reposted', async (t) => {
  const a = await openAgent(t, 'a');
  const b = await openAgent(t, 'b');
  const kinds = { [MemType.VRAM]: deviceMemory, [MemType.DRAM]: undefined };
  for (const memType of [MemType.VRAM, MemType.DRAM]) {
    const make = (end: typeof a): ContractMemory =>
      kinds[memType]?.(BYTES) ?? hostMemory(end.agent, BYTES);
    const [here, there] = [make(a), make(b)];
    await a.agent.registerMem({ memType, descs: [here] });
    await b.agent.registerMem({ memType, descs: [there] });
    a.agent.loadRemoteMD(b.agent.getLocalMD());
    await a.agent.makeConnection('b');
    const list = (memory: ContractMemory) => ({ memType, descs: [memory] });
    const request = a.agent.createXferReq(XferOp.WRITE, list(here), list(there), 'b', {
      notif: 'landed',
    });
    for (let post = 1; post <= 3; post++) {
      here.write(0, new Uint8Array(BYTES).fill(post));
      const before = sentByPlugin(a.handle);
      a.agent.postXferReq(request);
      const notifs = await b.agent.waitNotifs(WAIT_MS);
      const texts = notifs.get('a')?.map((message) => Buffer.from(message).toString());
      assert.deepEqual(texts, ['landed']);
      assert.ok(
        there.read(0, BYTES).every((byte) => byte === post),
        `post ${post}`,
      );
      await a.agent.waitXferReq(request);
      assert.ok(sentByPlugin(a.handle) > before, 'the plugin carried it');
    }
    const read = a.agent.createXferReq(XferOp.READ, list(here), list(there), 'b');
    there.write(0, new Uint8Array(BYTES).fill(77));
    a.agent.postXferReq(read);
    await a.agent.waitXferReq(read);
    assert.ok(here.read(0, BYTES).every((byte) => byte === 77));
    assert.equal(a.agent.releaseXferReq(request), NixlStatus.SUCCESS);
    assert.equal(a.agent.releaseXferReq(read), NixlStatus.SUCCESS);
    a.agent.invalidateRemoteMD('b');
  }
});

function hostMemory(agent: Agent, byteCount: number): ContractMemory {
  const { buffer, addr } = agent.allocateMem(byteCount);
  const bytes = new Uint8Array(buffer);
  return {
    memType: MemType.DRAM,
    addr,
    len: byteCount,
    devId: 0,
    write: (offset, source) => bytes.set(source, offset),
    read: (offset, len) => bytes.slice(offset, offset + len),
  };
}

test('p2p: VRAM and DRAM go through the plugin, in all combinations', async (t) => {
  const settings = params as unknown as Partial<SettingValues>;
  const open = async (name: string): Promise<TcpxSession> => {
    const session = await TcpxSession.open({ name, settings, log: silentLog });
    t.after(() => session.close());
    return session;
  };
  const [server, client] = [await open('server'), await open('client')];
  client.loadRemoteConnInfo('server', server.listen());
  await Promise.all([server.accept('client'), client.connect('server')]);
  const out = client.createTransfer('server');
  const inward = server.createTransfer('client');
  let tag = 0;
  for (const from of ['VRAM', 'DRAM', 'plain'] as const) {
    for (const to of ['VRAM', 'DRAM', 'plain'] as const) {
      tag++;
      const [source, target] = [p2pMemory(client, from), p2pMemory(server, to)];
      source.memory.write(0, new Uint8Array(BYTES).fill(tag));
      const receive = inward.postRecv(server.registerMemory(target.source), 0, BYTES, tag);
      const send = out.postSend(client.registerMemory(source.source), 0, BYTES, tag);
      await Promise.all([out.wait(WAIT_MS), inward.wait(WAIT_MS)]);
      assert.ok(
        target.memory.read(0, BYTES).every((byte) => byte === tag),
        `${from} to ${to}`,
      );
      const isWithin = from !== 'plain' && to !== 'plain';
      assert.equal(send.receipt?.provider, isWithin ? 'tcpx' : 'tcp', `${from} to ${to}`);
      await inward.consume(receive);
    }
  }
});

function p2pMemory(
  session: TcpxSession,
  kind: 'VRAM' | 'DRAM' | 'plain',
): { readonly memory: ContractMemory; readonly source: RegionSource } {
  if (kind === 'VRAM') {
    const memory = deviceMemory(BYTES);
    return { memory, source: { device: 0, addr: memory.addr, bytes: BYTES } };
  }
  const bytes =
    kind === 'DRAM' ? new Uint8Array(session.allocateMemory(BYTES).buffer) : new Uint8Array(BYTES);
  const memory: ContractMemory = {
    memType: MemType.DRAM,
    addr: 0,
    len: BYTES,
    devId: 0,
    write: (offset, source) => bytes.set(source, offset),
    read: (offset, len) => bytes.slice(offset, offset + len),
  };
  return { memory, source: bytes };
}
