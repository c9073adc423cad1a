// The agents’ suite over MOCK: transfers that end at the first poll, and slow ones.

import { Agent } from '../../src/nixl/agent.js';
import { PluginManager } from '../../src/nixl/plugin-manager.js';
import { mockPlugin } from '../support/mock-backend.js';
import { MockNetwork } from '../support/mock-network.js';
import { agentSuite } from './agent.js';
import { type AgentEnd, region } from './agent-world.js';

for (const polls of [1, 3]) {
  agentSuite({
    name: `agents over MOCK, ${polls} polls per transfer`,
    types: ['MOCK', 'OTHER'],
    openWorld: (t, types) => {
      const memories = new MockNetwork();
      const networks = new Map<string, MockNetwork>();
      // A network per backend's type; a name that is taken finds itself in another world.
      const networkOf = (type: string, name: string): MockNetwork => {
        const known = networks.get(type);
        if (known !== undefined && !known.agents.has(name)) return known;
        const network = new MockNetwork();
        network.pollsPerTransfer = polls;
        network.find = memories.find.bind(memories);
        if (known === undefined) networks.set(type, network);
        return network;
      };
      return {
        open: async (name, byteCount, options = {}): Promise<AgentEnd> => {
          const plugins = new PluginManager();
          for (const type of [...types, 'SECOND']) {
            plugins.register(mockPlugin(networkOf(type, name)), type);
          }
          const agent = await Agent.create(name, { plugins, ...options });
          t.after(() => agent.close());
          for (const type of types) await agent.createBackend(type);
          const memory = memories.allocate(byteCount);
          await agent.registerMem(region(memory));
          return { agent, memory, allocate: (bytes) => memories.allocate(bytes) };
        },
        kill: ({ agent }) => {
          for (const network of networks.values()) {
            if (network.agents.has(agent.name)) network.kill(agent.name);
          }
          return Promise.resolve();
        },
      };
    },
  });
}
