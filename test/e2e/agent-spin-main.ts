// Asks for the status of a transfer without ever returning to the event loop, as programs written
// for NIXL do; a peer in a process of its own:
//   agent-spin-main.js PARAMS   prints one line of JSON: how each loop ended, and why

import { Agent } from '../../src/nixl/agent.js';
import { describeMemory } from '../../src/nixl/host-memory.js';
import { MemType } from '../../src/nixl/memory-type.js';
import { decodeMetadata } from '../../src/nixl/metadata.js';
import { NixlStatus, nixlStatusName } from '../../src/nixl/status.js';
import type { XferRequest } from '../../src/nixl/xfer-request.js';
import { startPeer } from './agent-peer.js';

const BYTES = 4 << 20;

function spin(agent: Agent, request: XferRequest) {
  agent.postXferReq(request);
  while (agent.getXferStatus(request) === NixlStatus.IN_PROG);
  const { error } = request;
  return { status: nixlStatusName(request.status), code: error?.code, text: error?.message };
}

const [params = '{}'] = process.argv.slice(2);
const peer = startPeer(['target', String(BYTES)]);
try {
  const agent = await Agent.create('initiator');
  await agent.createBackend('TCPX', JSON.parse(params) as Record<string, string>);
  const here = describeMemory(agent.allocateMem(BYTES).buffer);
  const local = { memType: MemType.DRAM, descs: [here] };
  await agent.registerMem(local);
  const blob = Buffer.from(await peer.line(), 'base64');
  agent.loadRemoteMD(blob);
  const addr = decodeMetadata(blob).sections[0]?.descs[0]?.addr ?? 0;
  const remote = { memType: MemType.DRAM, descs: [{ addr, len: BYTES, devId: 0 }] };
  const request = agent.createXferReq('WRITE', local, remote, 'target', { notif: 'spun' });
  const unconnected = spin(agent, request);
  await agent.makeConnection('target');
  const connected = spin(agent, request);
  const again = spin(agent, request);
  process.stdout.write(`${JSON.stringify({ unconnected, connected, again })}\n`);
} finally {
  peer.kill();
}
process.exit(0);
