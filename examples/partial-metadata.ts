// A target tells of its buffers one by one: connection first, then only what it wants to share.
//   node dist/examples/partial-metadata.js

import { Agent, describeMemory, MemType, NixlStatus, XferOp } from 'nixl-tcpx';

const target = await Agent.create('target');
await target.createBackend('TCPX');
const memories = [new Uint8Array(256).fill(1), new Uint8Array(256).fill(2)];
const [open, hidden] = memories.map((memory) => describeMemory(memory));
if (open === undefined || hidden === undefined) throw new Error('two buffers were described');
await target.registerMem({ memType: MemType.DRAM, descs: [open, hidden] });

const initiator = await Agent.create('initiator');
await initiator.createBackend('TCPX');
const memory = new Uint8Array(256);
const here = describeMemory(memory);
await initiator.registerMem({ memType: MemType.DRAM, descs: [here] });

const list = (desc: typeof open) => ({ memType: MemType.DRAM, descs: [desc] });
const knows = (desc: typeof open) =>
  initiator.checkRemoteMD('target', list(desc)) === NixlStatus.SUCCESS;

initiator.loadRemoteMD(target.getLocalPartialMD({ memType: MemType.DRAM, descs: [] }));
console.log(`connection alone: open ${knows(open)}, hidden ${knows(hidden)}`);
initiator.loadRemoteMD(target.getLocalPartialMD(list(open)));
console.log(`first buffer: open ${knows(open)}, hidden ${knows(hidden)}`);

const request = initiator.createXferReq(XferOp.READ, list(here), list(open), 'target');
initiator.postXferReq(request);
await initiator.waitXferReq(request);
console.log(`read ${memory[0]} from the open buffer`);
initiator.releaseXferReq(request);

initiator.loadRemoteMD(target.getLocalPartialMD(list(hidden)));
console.log(`second buffer: open ${knows(open)}, hidden ${knows(hidden)}`);
await Promise.all([initiator.close(), target.close()]);
