// Agents over MOCK, ready for a test: registered memory, metadata exchanged, closed at the end.

import type { TestContext } from 'node:test';
import { Agent } from '../../src/nixl/agent.js';
import type { AgentOptions } from '../../src/nixl/agent-parts.js';
import { MemType } from '../../src/nixl/memory-type.js';
import { PluginManager } from '../../src/nixl/plugin-manager.js';
import { mockPlugin } from './mock-backend.js';
import { type MockBlock, MockNetwork } from './mock-network.js';

export interface MockAgent {
  readonly agent: Agent;
  readonly network: MockNetwork;
  readonly memory: MockBlock;
}

export interface MockPair {
  readonly network: MockNetwork;
  readonly a: MockAgent;
  readonly b: MockAgent;
}

export async function openMockAgent(
  t: TestContext,
  network: MockNetwork,
  name: string,
  options: AgentOptions = {},
  byteCount = 4096,
): Promise<MockAgent> {
  const plugins = new PluginManager();
  plugins.register(mockPlugin(network));
  const agent = await Agent.create(name, { plugins, ...options });
  t.after(() => agent.close());
  await agent.createBackend('MOCK');
  const memory = network.allocate(byteCount);
  await agent.registerMem(regionOf(memory));
  return { agent, network, memory };
}

/** Two agents that know each other, one registered block each. */
export async function openMockPair(
  t: TestContext,
  options: AgentOptions = {},
  byteCount = 4096,
): Promise<MockPair> {
  const network = new MockNetwork();
  const a = await openMockAgent(t, network, 'a', options, byteCount);
  const b = await openMockAgent(t, network, 'b', options, byteCount);
  a.agent.loadRemoteMD(b.agent.getLocalMD());
  b.agent.loadRemoteMD(a.agent.getLocalMD());
  return { network, a, b };
}

/** A whole block as a registration list. */
export function regionOf(block: MockBlock, memType: MemType = MemType.DRAM) {
  return { memType, descs: [{ addr: block.addr, len: block.bytes.length, devId: 0 }] };
}

/** Pieces of a block as a transfer list: `[offset, len]` each. */
export function piecesOf(block: MockBlock, ...pieces: (readonly [number, number])[]) {
  const descs = pieces.map(([offset, len]) => [block.addr + offset, len, 0] as const);
  return { memType: MemType.DRAM, descs };
}

export function fill(block: MockBlock, seed: number): void {
  for (let index = 0; index < block.bytes.length; index++) {
    block.bytes[index] = (index * 31 + seed) & 0xff;
  }
}
