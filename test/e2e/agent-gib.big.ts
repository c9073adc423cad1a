// `npm run test:big`: 1 GiB from agent to agent, two processes, checksummed on both ends.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checksumHost } from '../../src/gpu/checksum.js';
import { Agent } from '../../src/nixl/agent.js';
import { describeMemory } from '../../src/nixl/host-memory.js';
import { MemType, XferOp } from '../../src/nixl/memory-type.js';
import { decodeMetadata } from '../../src/nixl/metadata.js';
import { allocateRegionMemory } from '../../src/os/region-memory.js';
import { startPeer } from './agent-peer.js';

const BYTES = 2 ** 30;

test('agent: 1 GiB in one transfer, checksummed on both ends', async (t) => {
  const peer = startPeer(['target', String(BYTES)]);
  t.after(() => peer.kill());
  const agent = await Agent.create('initiator');
  t.after(() => agent.close());
  await agent.createBackend('TCPX');
  const { buffer } = allocateRegionMemory(BYTES, 'prefer-huge');
  const words = new Uint32Array(buffer);
  for (let index = 0; index < words.length; index++) words[index] = Math.imul(index, 0x9e3779b1);
  const here = describeMemory(buffer);
  await agent.registerMem({ memType: MemType.DRAM, descs: [here] });
  const blob = Buffer.from(await peer.line(), 'base64');
  agent.loadRemoteMD(blob);
  const addr = decodeMetadata(blob).sections[0]?.descs[0]?.addr ?? 0;
  const local = { memType: MemType.DRAM, descs: [here] };
  const remote = { memType: MemType.DRAM, descs: [{ addr, len: BYTES, devId: 0 }] };
  const request = agent.createXferReq(XferOp.WRITE, local, remote, 'target', { notif: 'all' });
  const startMs = performance.now();
  agent.postXferReq(request);
  await agent.waitXferReq(request);
  const seconds = (performance.now() - startMs) / 1000;
  const sum = checksumHost(new Uint8Array(buffer)).toString(16);
  assert.equal(await peer.line(), `seen all ${sum}`);
  t.diagnostic(`1 GiB in ${seconds.toFixed(2)} s, ${(BYTES / seconds / 1e9).toFixed(2)} GB/s`);
  await peer.stop();
});
