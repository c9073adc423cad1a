// The two initiators of the agent's benchmark: the same write, by the engine and by the agent.

import { at } from '../../src/base/assert.js';
import { parseConnInfo } from '../../src/engine/conn-info.js';
import { Engine } from '../../src/engine/engine.js';
import { parseRegion } from '../../src/engine/region-text.js';
import { Agent } from '../../src/nixl/agent.js';
import { describeMemory } from '../../src/nixl/host-memory.js';
import { MemType, XferOp } from '../../src/nixl/memory-type.js';
import { decodeMetadata } from '../../src/nixl/metadata.js';
import { NixlStatus } from '../../src/nixl/status.js';
import { XferDlist } from '../../src/nixl/xfer-dlist.js';
import type { XferRequest } from '../../src/nixl/xfer-request.js';
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
  const order = shuffled(blockCount);
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
  const { agent, target, lists } = await openAgent(blob, progress, buffer, order, bytes);
  const { local, remote } = lists();
  const request = agent.createXferReq(XferOp.WRITE, local, remote, target);
  const runOnce = (): void => move(agent, request);
  return { side: { bytes: order.length * bytes, runOnce }, close: () => agent.close() };
}

/**
 * The same blocks in requests made for one post each: from lists written out every time, and from
 * lists that were prepared once, by indices.
 */
export async function openListSides(info: string, blockCount: number, blockBytes: number) {
  const { buffer } = allocateRegionMemory(blockCount * blockBytes, 'normal');
  const order = shuffled(blockCount);
  const blob = Buffer.from(info, 'base64');
  const opened = await openAgent(blob, 'lanes', buffer, order, blockBytes);
  const { agent, target, lists } = opened;
  const whole = lists();
  const prepared = {
    local: agent.prepXferDlist('', whole.local),
    remote: agent.prepXferDlist(target, whole.remote),
  };
  const indices = shuffled(blockCount);
  const runOnce = (request: XferRequest): void => {
    move(agent, request);
    agent.releaseXferReq(request);
  };
  const bytes = blockCount * blockBytes;
  const written: Side = {
    bytes,
    runOnce() {
      const { local, remote } = lists(indices);
      runOnce(agent.createXferReq(XferOp.WRITE, local, remote, target));
    },
  };
  const byIndex: Side = {
    bytes,
    runOnce() {
      const { local, remote } = prepared;
      runOnce(agent.makeXferReq(XferOp.WRITE, local, indices, remote, indices));
    },
  };
  return { written, byIndex, close: () => agent.close() };
}

async function openAgent(
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
  const near = [...order.keys()];
  /** The pairs in this order, by their places. */
  const lists = (places: readonly number[] = near) => {
    const local = new XferDlist(MemType.DRAM, order.length);
    const remote = new XferDlist(MemType.DRAM, order.length);
    for (const place of places) {
      local.add(here.addr + place * bytes, bytes);
      remote.add(base + at(order, place) * bytes, bytes);
    }
    return { local, remote };
  };
  return { agent, target, lists };
}

function move(agent: Agent, request: XferRequest): void {
  let status = agent.postXferReq(request);
  while (status === NixlStatus.IN_PROG) status = agent.getXferStatus(request);
  if (status !== NixlStatus.SUCCESS) throw new Error(`the agent’s transfer failed: ${status}`);
}

function shuffled(count: number): number[] {
  return Array.from({ length: count }, (_, index) => (index * 7919) % count);
}
