// The agents' suite: NIXL's semantics and traps, by name, over whatever backend the harness gives.

import { test } from 'node:test';
import { semanticsSuite } from './agent-semantics.js';
import { trapSuite } from './agent-traps.js';
import type { AgentHarness, AgentTest } from './agent-world.js';

export function agentSuite(harness: AgentHarness): void {
  const agentTest: AgentTest = (item, body, types = [harness.types[0]]) => {
    test(`${harness.name}: ${item}`, async (t) => {
      await body(harness.openWorld(t, types), t);
    });
  };
  semanticsSuite(agentTest);
  trapSuite(agentTest, harness.types);
}
