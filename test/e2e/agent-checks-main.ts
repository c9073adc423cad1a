// Looks at a transfer that stands still, in a process whose main thread is traced:
//   agent-checks-main.js COUNT PARAMS   posts a WRITE to a frozen peer, then asks COUNT times
// The looks stand between two calls that nobody else makes, so that a trace shows where they are.

import { existsSync } from 'node:fs';
import { Agent } from '../../src/nixl/agent.js';
import { describeMemory } from '../../src/nixl/host-memory.js';
import { MemType, XferOp } from '../../src/nixl/memory-type.js';
import { decodeMetadata } from '../../src/nixl/metadata.js';
import { NixlStatus } from '../../src/nixl/status.js';
import { startPeer } from './agent-peer.js';

const BYTES = 64 << 20;
const WARM_UP = 100;

const [count = '', params = ''] = process.argv.slice(2);
const peer = startPeer(['target', String(BYTES)]);
try {
  const agent = await Agent.create('initiator');
  await agent.createBackend('TCPX', JSON.parse(params) as Record<string, string>);
  const here = describeMemory(agent.allocateMem(BYTES).buffer);
  await agent.registerMem({ memType: MemType.DRAM, descs: [here] });
  const blob = Buffer.from(await peer.line(), 'base64');
  agent.loadRemoteMD(blob);
  await agent.makeConnection('target');
  const addr = decodeMetadata(blob).sections[0]?.descs[0]?.addr ?? 0;
  const local = { memType: MemType.DRAM, descs: [here] };
  const remote = { memType: MemType.DRAM, descs: [{ addr, len: BYTES, devId: 0 }] };
  const request = agent.createXferReq(XferOp.WRITE, local, remote, 'target');
  const look = (times: number): void => {
    for (let index = 0; index < times; index++) {
      if (agent.getXferStatus(request) !== NixlStatus.IN_PROG) throw new Error('it has ended');
    }
  };
  peer.freeze();
  agent.postXferReq(request);
  // What the peer's kernel and plugin take without it has been taken, and the code is warm.
  await new Promise((resolve) => setTimeout(resolve, 500));
  look(WARM_UP);
  existsSync('/looks-begin');
  look(Number(count));
  existsSync('/looks-end');
} finally {
  peer.kill();
}
process.exit(0);
