// The contract suite on MOCK, once with transfers that end inside the post and once with slow ones.

import { silentLog } from '../../src/base/log.js';
import { MemType } from '../../src/nixl/memory-type.js';
import { MockBackend } from '../support/mock-backend.js';
import { MockNetwork } from '../support/mock-network.js';
import { backendContract } from './backend.js';
import type { ContractMemory, ContractPeer, ContractWorld } from './backend-world.js';

function mockWorld(pollsPerTransfer: number): ContractWorld {
  const network = new MockNetwork();
  network.pollsPerTransfer = pollsPerTransfer;
  return {
    memTypes: [MemType.DRAM, MemType.VRAM],
    openPeer: (agent) => Promise.resolve(mockPeer(network, agent)),
    killPeer: ({ agent }) => {
      network.kill(agent);
      return Promise.resolve();
    },
    close: () => Promise.resolve(),
  };
}

function mockPeer(network: MockNetwork, agent: string): ContractPeer {
  const init = { localAgent: agent, type: 'MOCK', params: {}, log: silentLog };
  return {
    agent,
    backend: new MockBackend(network, init),
    allocate: (memType, byteCount) => mockMemory(network, memType, byteCount),
  };
}

function mockMemory(network: MockNetwork, memType: MemType, byteCount: number): ContractMemory {
  const { addr, bytes } = network.allocate(byteCount);
  return {
    memType,
    addr,
    len: byteCount,
    devId: 0,
    write: (offset, source) => bytes.set(source, offset),
    read: (offset, len) => bytes.slice(offset, offset + len),
  };
}

for (const polls of [0, 3]) {
  const name = `MOCK, ${polls} polls per transfer`;
  backendContract({ name, openWorld: () => Promise.resolve(mockWorld(polls)) });
}
