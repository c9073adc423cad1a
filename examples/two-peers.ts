// Two agents move one buffer: the initiator reads what the target has, by its metadata alone.
//   node dist/examples/two-peers.js

import { Agent, describeMemory, MemType, XferOp } from 'nixl-tcpx';

const target = await Agent.create('target');
await target.createBackend('TCPX');
const offered = describeMemory(new Uint8Array(4096).fill(42));
await target.registerMem({ memType: MemType.DRAM, descs: [offered] });

const initiator = await Agent.create('initiator');
await initiator.createBackend('TCPX');
const memory = new Uint8Array(4096);
const wanted = describeMemory(memory);
await initiator.registerMem({ memType: MemType.DRAM, descs: [wanted] });

// Any way of carrying bytes will do: a file, a socket, etcd, or a variable as here.
const peer = initiator.loadRemoteMD(target.getLocalMD());
const local = { memType: MemType.DRAM, descs: [wanted] };
const remote = { memType: MemType.DRAM, descs: [offered] };
const request = initiator.createXferReq(XferOp.READ, local, remote, peer, { notif: 'read' });
initiator.postXferReq(request);
await initiator.waitXferReq(request);
const notifs = await target.waitNotifs(5000);
console.log(`${memory.filter((byte) => byte === 42).length} bytes read from ${peer}`);
console.log(`target was told: ${Buffer.from(notifs.get('initiator')?.[0] ?? []).toString()}`);
initiator.releaseXferReq(request);
await Promise.all([initiator.close(), target.close()]);
