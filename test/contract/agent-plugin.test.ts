// The agents' suite over TCPX with the emulated plugin, in host memory that the plugin reaches.

import { Agent } from '../../src/nixl/agent.js';
import { PluginManager } from '../../src/nixl/plugin-manager.js';
import { tcpxPlugin } from '../../src/nixl/tcpx-backend.js';
import { agentSuite } from './agent.js';
import { type AgentEnd, type AgentMemory, region } from './agent-world.js';
import { usePlugin } from './plugin-world.js';

const params = {
  ...usePlugin(),
  'trust.secret': 'the secret of this suite alone',
  'session.bind': '127.0.0.1',
  // Two backends of three agents hold more sockets than a NIC has.
  'tcpx.socketBudget': 'off',
};

agentSuite({
  name: 'agents over TCPX through the plugin',
  types: ['TCPX', 'OTHER'],
  openWorld: (t, types) => ({
    open: async (name, byteCount, options = {}): Promise<AgentEnd> => {
      const plugins = new PluginManager();
      for (const type of [...types, 'SECOND']) plugins.register(tcpxPlugin, type);
      const agent = await Agent.create(name, { plugins, ...options });
      t.after(() => agent.close());
      for (const type of types) await agent.createBackend(type, params);
      const allocate = (bytes: number): AgentMemory => {
        const { addr, buffer } = agent.allocateMem(bytes);
        return { addr, bytes: new Uint8Array(buffer) };
      };
      const memory = allocate(byteCount);
      await agent.registerMem(region(memory));
      return { agent, memory, allocate };
    },
    kill: ({ agent }) => agent.close(),
  }),
});
