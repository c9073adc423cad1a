// Several buffers, prepared lists, a request posted again and again with another notification, and
// messages without data in both directions.
//   node dist/examples/expanded-two-peers.js

import { Agent, describeMemory, MemType, NixlStatus, XferOp } from 'nixl-tcpx';

const BLOCK = 1024;
const buffers = (fill: (index: number) => number) =>
  Array.from({ length: 4 }, (_, index) => new Uint8Array(4 * BLOCK).fill(fill(index)));

async function open(name: string, memories: readonly Uint8Array[]) {
  const agent = await Agent.create(name);
  await agent.createBackend('TCPX', { 'flow.channels': '2' });
  const descs = memories.map((memory) => describeMemory(memory));
  await agent.registerMem({ memType: MemType.DRAM, descs });
  return { agent, descs };
}

const sources = buffers((index) => index + 1);
const targets = buffers(() => 0);
const a = await open('initiator', sources);
const b = await open('target', targets);
a.agent.loadRemoteMD(b.agent.getLocalMD());
b.agent.loadRemoteMD(a.agent.getLocalMD());

// Every block of every buffer, prepared once; requests pick blocks by index.
const blocks = (descs: readonly { addr: number }[]) => ({
  memType: MemType.DRAM,
  descs: descs.flatMap(({ addr }) =>
    [0, 1, 2, 3].map((n) => [addr + n * BLOCK, BLOCK, 0] as const),
  ),
});
const local = a.agent.prepXferDlist('', blocks(a.descs));
const remote = a.agent.prepXferDlist('target', blocks(b.descs));
const indices = Array.from({ length: 16 }, (_, index) => index);
const request = a.agent.makeXferReq(XferOp.WRITE, local, indices, remote, [...indices].reverse());

for (let round = 1; round <= 3; round++) {
  for (const [index, source] of sources.entries()) source.fill(round * 10 + index);
  a.agent.postXferReq(request, { notif: `round ${round}` });
  await a.agent.waitXferReq(request);
  const notifs = await b.agent.waitNotifs(5000);
  const text = Buffer.from(notifs.get('initiator')?.[0] ?? []).toString();
  console.log(`${text}: buffers now hold ${targets.map((target) => target[0]).join(' ')}`);
}

b.agent.genNotif('initiator', 'thank you');
const answer = await a.agent.waitNotifs(5000);
console.log(`target says: ${Buffer.from(answer.get('target')?.[0] ?? []).toString()}`);
console.log(`released: ${a.agent.releaseXferReq(request) === NixlStatus.SUCCESS}`);
a.agent.releasedDlistH(local);
a.agent.releasedDlistH(remote);
await Promise.all([a.agent.close(), b.agent.close()]);
