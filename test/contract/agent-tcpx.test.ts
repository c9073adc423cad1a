// The agents' suite over TCPX on loopback, with lanes and driven by the caller. Agents live in one
// process, so one that is "killed" closes; agents killed in mid-transfer are in test/e2e.

import { Agent } from '../../src/nixl/agent.js';
import { PluginManager } from '../../src/nixl/plugin-manager.js';
import { tcpxPlugin } from '../../src/nixl/tcpx-backend.js';
import { allocateRegionMemory } from '../../src/os/region-memory.js';
import { agentSuite } from './agent.js';
import { type AgentEnd, type AgentMemory, region } from './agent-world.js';

function allocate(byteCount: number): AgentMemory {
  const { addr, buffer } = allocateRegionMemory(byteCount, 'normal');
  return { addr, bytes: new Uint8Array(buffer) };
}

/** With a secret: without one, every start warns that loopback alone is accepted. */
const SAFE = { 'trust.secret': 'the secret of this suite alone', 'session.bind': '127.0.0.1' };
/** No address space and no threads that no row needs. */
const SMALL = { 'memory.arenaBytes': String(4 * 1024 * 1024), 'lane.count': '1' };

for (const progress of ['lanes', 'caller']) {
  agentSuite({
    name: `agents over TCPX, ${progress}`,
    types: ['TCPX', 'OTHER'],
    openWorld: (t, types) => ({
      open: async (name, byteCount, options = {}): Promise<AgentEnd> => {
        const plugins = new PluginManager();
        for (const type of [...types, 'SECOND']) plugins.register(tcpxPlugin, type);
        const agent = await Agent.create(name, { plugins, ...options });
        t.after(() => agent.close());
        const params = { ...SAFE, ...SMALL, 'lane.progress': progress };
        for (const type of types) await agent.createBackend(type, params);
        const memory = allocate(byteCount);
        await agent.registerMem(region(memory));
        return { agent, memory, allocate };
      },
      kill: ({ agent }) => agent.close(),
    }),
  });
}
