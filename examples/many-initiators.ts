// One target, many initiators: each writes its share into the target's buffer and says so.
//   node dist/examples/many-initiators.js

import { Agent, describeMemory, MemType, XferOp } from 'nixl-tcpx';

const COUNT = 6;
const SHARE = 64 * 1024;

const target = await Agent.create('target');
await target.createBackend('TCPX');
const memory = new Uint8Array(COUNT * SHARE);
const whole = describeMemory(memory);
await target.registerMem({ memType: MemType.DRAM, descs: [whole] });
const blob = target.getLocalMD();

async function contribute(index: number): Promise<void> {
  const agent = await Agent.create(`initiator-${index}`);
  await agent.createBackend('TCPX');
  const mine = describeMemory(new Uint8Array(SHARE).fill(index + 1));
  await agent.registerMem({ memType: MemType.DRAM, descs: [mine] });
  agent.loadRemoteMD(blob);
  const local = { memType: MemType.DRAM, descs: [mine] };
  const remote = {
    memType: MemType.DRAM,
    descs: [[whole.addr + index * SHARE, SHARE, 0] as const],
  };
  const request = agent.createXferReq(XferOp.WRITE, local, remote, 'target', { notif: 'done' });
  agent.postXferReq(request);
  await agent.waitXferReq(request);
  agent.releaseXferReq(request);
  await agent.close();
}

const senders = new Set<string>();
await Promise.all(Array.from({ length: COUNT }, (_, index) => contribute(index)));
while (senders.size < COUNT) {
  const notifs = await target.waitNotifs(10_000);
  if (notifs.size === 0) throw new Error('an initiator is missing');
  for (const sender of notifs.keys()) senders.add(sender);
}
const isRight = memory.every((byte, at) => byte === Math.floor(at / SHARE) + 1);
console.log(`${senders.size} initiators, ${memory.length} bytes ${isRight ? 'in place' : 'WRONG'}`);
await target.close();
