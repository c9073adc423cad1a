// The contract suite on TCPX over loopback, once with lanes and once driven by the caller. Peers
// live in one process; ending one says goodbye. A peer that is killed is in test/e2e. GPUs are
// simulated; real ones are in test/gpu.

import { silentLog } from '../../src/base/log.js';
import { MemType } from '../../src/nixl/memory-type.js';
import { TcpxBackend } from '../../src/nixl/tcpx-backend.js';
import { allocateRegionMemory } from '../../src/os/region-memory.js';
import { SIMULATED_GPU_MODULE, toDeviceAddr } from '../support/simulated-gpu.js';
import { backendContract } from './backend.js';
import type { ContractMemory, ContractPeer, ContractWorld } from './backend-world.js';

function tcpxWorld(params: Readonly<Record<string, string>>): ContractWorld {
  const open = new Set<TcpxBackend>();
  const backends = new Map<ContractPeer, TcpxBackend>();
  return {
    memTypes: [MemType.DRAM, MemType.VRAM],
    openPeer: async (agent) => {
      const init = { localAgent: agent, type: 'TCPX', params, log: silentLog };
      const backend = await TcpxBackend.open(init, { gpuModule: SIMULATED_GPU_MODULE });
      open.add(backend);
      const peer = { agent, backend, allocate };
      backends.set(peer, backend);
      return peer;
    },
    killPeer: async (peer) => {
      const backend = backends.get(peer);
      if (backend === undefined) return;
      open.delete(backend);
      await backend.close();
    },
    close: async () => {
      await Promise.all([...open].map((backend) => backend.close()));
    },
  };
}

/** What stands for GPU memory lies out of reach of everything but device copies. */
function allocate(memType: MemType, byteCount: number): ContractMemory {
  const { addr, buffer } = allocateRegionMemory(byteCount, 'normal');
  const bytes = new Uint8Array(buffer);
  return {
    memType,
    addr: memType === MemType.VRAM ? toDeviceAddr(addr) : addr,
    len: byteCount,
    devId: 0,
    write: (offset, source) => bytes.set(source, offset),
    read: (offset, len) => bytes.slice(offset, offset + len),
  };
}

/** No address space that no row needs, and threads only where a world is about them. */
const SMALL = { 'memory.arenaBytes': String(4 * 1024 * 1024), 'lane.count': '1' };
const WORLDS: readonly Readonly<Record<string, string>>[] = [
  { 'session.local': 'tcp', 'lane.progress': 'lanes' },
  { 'session.local': 'tcp', 'lane.progress': 'caller' },
  { 'session.local': 'tcp', 'lane.progress': 'lanes', 'lane.count': '2', 'flow.channels': '4' },
  { 'session.local': 'shm' },
  // By itself: the two agents are on one host.
  { 'session.local': 'auto', 'lane.progress': 'caller', 'flow.channels': '2' },
];

for (const params of WORLDS) {
  const name = `TCPX, ${Object.values(params).join(' ')}`;
  backendContract({ name, openWorld: () => Promise.resolve(tcpxWorld({ ...SMALL, ...params })) });
}
