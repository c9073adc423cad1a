// The two initiators of the agent's benchmark: the same write, by the engine and by the agent.

import { parseConnInfo } from '../../src/engine/conn-info.js';
import { Engine } from '../../src/engine/engine.js';
import { parseRegion } from '../../src/engine/region-text.js';
import { Agent } from '../../src/nixl/agent.js';
import { describeMemory } from '../../src/nixl/host-memory.js';
import { MemType, XferOp } from '../../src/nixl/memory-type.js';
import { decodeMetadata } from '../../src/nixl/metadata.js';
import { NixlStatus } from '../../src/nixl/status.js';
import { XferDlist } from '../../src/nixl/xfer-dlist.js';
import { allocateRegionMemory } from '../../src/os/region-memory.js';

export interface Side {
  readonly bytes: number;
  /** Posts and polls until it has landed. */
  runOnce(): void;
}

export async function openSides(
  info: string,
  progress: 'lanes' | 'caller',
  blockCount: number,
  blockBytes: number,
) {
  const blob = Buffer.from(info, 'base64');
  const { buffer } = allocateRegionMemory(blockCount * blockBytes, 'normal');
  new Uint8Array(buffer).fill(7);
  const order = Array.from({ length: blockCount }, (_, index) => (index * 7919) % blockCount);
  const engine = await engineSide(blob, progress, buffer, order, blockBytes);
  const agent = await agentSide(blob, progress, buffer, order, blockBytes);
  const close = async () => {
    await engine.close();
    await agent.close();
  };
  return { engine: engine.side, agent: agent.side, close };
}

async function engineSide(
  blob: Uint8Array,
  progress: 'lanes' | 'caller',
  buffer: ArrayBuffer,
  order: readonly number[],
  bytes: number,
) {
  const { connections, sections } = decodeMetadata(blob);
  const desc = sections[0]?.descs[0];
  const conn = connections[0];
  if (desc === undefined || conn === undefined) throw new Error('the target offers no memory');
  const { hosts, port } = parseConnInfo(Buffer.from(conn.info).toString());
  const remote = parseRegion(Buffer.from(desc.metaInfo ?? []).toString(), desc.len);
  const engine = await Engine.open({
    name: 'engine',
    settings: { 'lane.progress': progress, 'session.local': 'tcp' },
  });
  const session = await engine.connect(hosts[0] ?? '', port);
  const local = engine.register(buffer);
  const blocks = order.map((far, near) => {
    return { local, localOffset: near * bytes, remote, remoteOffset: far * bytes, bytes };
  });
  const request = session.prepare('write', blocks);
  const runOnce = (): void => {
    const transfer = request.post();
    while (transfer.poll() === 'active');
    if (transfer.status !== 'done') throw new Error('the engine’s transfer failed');
  };
  return { side: { bytes: order.length * bytes, runOnce }, close: () => engine.close() };
}

async function agentSide(
  blob: Uint8Array,
  progress: 'lanes' | 'caller',
  buffer: ArrayBuffer,
  order: readonly number[],
  bytes: number,
) {
  const agent = await Agent.create('agent');
  await agent.createBackend('TCPX', { 'lane.progress': progress, 'session.local': 'tcp' });
  const here = describeMemory(buffer);
  await agent.registerMem({ memType: MemType.DRAM, descs: [here] });
  const target = agent.loadRemoteMD(blob);
  await agent.makeConnection(target);
  const base = decodeMetadata(blob).sections[0]?.descs[0]?.addr ?? 0;
  const local = new XferDlist(MemType.DRAM, order.length);
  const remote = new XferDlist(MemType.DRAM, order.length);
  for (const [near, far] of order.entries()) {
    local.add(here.addr + near * bytes, bytes);
    remote.add(base + far * bytes, bytes);
  }
  const request = agent.createXferReq(XferOp.WRITE, local, remote, target);
  const runOnce = (): void => {
    let status = agent.postXferReq(request);
    while (status === NixlStatus.IN_PROG) status = agent.getXferStatus(request);
    if (status !== NixlStatus.SUCCESS) throw new Error(`the agent’s transfer failed: ${status}`);
  };
  return { side: { bytes: order.length * bytes, runOnce }, close: () => agent.close() };
}
