// Agents over TCPX as users run them: the peer is another process, and may be killed.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { checksumHost } from '../../src/gpu/checksum.js';
import { Agent } from '../../src/nixl/agent.js';
import type { AgentOptions } from '../../src/nixl/agent-parts.js';
import { describeMemory } from '../../src/nixl/host-memory.js';
import { MemType, XferOp } from '../../src/nixl/memory-type.js';
import { decodeMetadata } from '../../src/nixl/metadata.js';
import { NixlStatus } from '../../src/nixl/status.js';
import { TcpxSession } from '../../src/p2p/tcpx-session.js';
import { startPeer } from './agent-peer.js';

type Peer = ReturnType<typeof startPeer>;

/** An agent with memory here, and the peer's memory as a transfer list. */
async function openWith(t: TestContext, peer: Peer, bytes: number, options: AgentOptions = {}) {
  const agent = await Agent.create('initiator', options);
  t.after(() => agent.close());
  await agent.createBackend('TCPX');
  const memory = new Uint8Array(bytes).map((_, index) => index * 31 + (index >> 8));
  const here = describeMemory(memory);
  await agent.registerMem({ memType: MemType.DRAM, descs: [here] });
  const blob = Buffer.from(await peer.line(), 'base64');
  agent.loadRemoteMD(blob);
  const there = decodeMetadata(blob).sections[0]?.descs[0];
  assert.ok(there !== undefined);
  const local = { memType: MemType.DRAM, descs: [here] };
  const remote = { memType: MemType.DRAM, descs: [{ addr: there.addr, len: bytes, devId: 0 }] };
  return { agent, memory, local, remote };
}

test('agent: a write to another process lands, checksummed there, and is read back', async (t) => {
  const bytes = 8 << 20;
  const peer = startPeer(['target', String(bytes)]);
  t.after(() => peer.kill());
  const { agent, memory, local, remote } = await openWith(t, peer, bytes);
  const write = agent.createXferReq(XferOp.WRITE, local, remote, 'target', { notif: 'written' });
  agent.postXferReq(write);
  await agent.waitXferReq(write);
  const sum = checksumHost(memory).toString(16);
  assert.equal(await peer.line(), `seen written ${sum}`);
  memory.fill(0);
  const read = agent.createXferReq(XferOp.READ, local, remote, 'target');
  agent.postXferReq(read);
  await agent.waitXferReq(read);
  assert.equal(checksumHost(memory).toString(16), sum);
  await peer.stop();
});

test('agent: a killed peer is REMOTE_DISCONNECT, evicted, and its successor works', async (t) => {
  const peer = startPeer(['target', '4096']);
  t.after(() => peer.kill());
  const evicted: string[] = [];
  const onPeerEvicted = (name: string) => evicted.push(name);
  const { agent, local, remote } = await openWith(t, peer, 4096, { onPeerEvicted });
  const request = agent.createXferReq(XferOp.WRITE, local, remote, 'target');
  agent.postXferReq(request);
  await agent.waitXferReq(request);
  peer.kill();
  await peer.exited;
  let status = agent.postXferReq(request);
  while (status === NixlStatus.IN_PROG) {
    await new Promise((resolve) => setImmediate(resolve));
    status = agent.getXferStatus(request);
  }
  assert.equal(status, NixlStatus.ERR_REMOTE_DISCONNECT);
  assert.deepEqual(evicted, ['target']);
  assert.equal(agent.checkRemoteMD('target'), NixlStatus.ERR_NOT_FOUND);
  assert.equal(agent.postXferReq(request), NixlStatus.ERR_NOT_FOUND);
  assert.equal(agent.releaseXferReq(request), NixlStatus.SUCCESS);

  const successor = startPeer(['target', '4096']);
  t.after(() => successor.kill());
  const blob = Buffer.from(await successor.line(), 'base64');
  agent.loadRemoteMD(blob);
  const addr = decodeMetadata(blob).sections[0]?.descs[0]?.addr ?? 0;
  const target = { memType: MemType.DRAM, descs: [{ addr, len: 4096, devId: 0 }] };
  const again = agent.createXferReq(XferOp.WRITE, local, target, 'target', { notif: 'again' });
  agent.postXferReq(again);
  await agent.waitXferReq(again);
  assert.match(await successor.line(), /^seen again /);
  await successor.stop();
});

test('p2p: a client in another process shakes hands and exchanges 1 MiB', async (t) => {
  const server = await TcpxSession.open({ name: 'server' });
  t.after(() => server.close());
  const client = startPeer(['session', server.listen()]);
  t.after(() => client.kill());
  await server.accept('client');
  const source = new Uint8Array(1 << 20).map((_, index) => index * 7 + (index >> 9));
  const back = new Uint8Array(1 << 20);
  const transfer = server.createTransfer('client');
  transfer.postSend(server.registerMemory(source, 'send'), 0, source.length, 1);
  const receive = transfer.postRecv(server.registerMemory(back, 'receive'), 0, back.length, 2);
  await transfer.wait(20_000);
  assert.ok(Buffer.from(back).equals(source));
  await transfer.consume(receive);
  await transfer.release();
  assert.deepEqual(await client.exited, [0, null]);
});
