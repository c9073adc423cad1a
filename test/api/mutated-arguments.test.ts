// Every call of every door, right but for one thing: it answers, or fails by a typed error, never
// by one from inside.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeEngines, type EnginePair, openPair } from '../support/engine-pair.js';
import type { AgentWorld } from './agent-calls.js';
import { tryMutations } from './mutated-calls.js';
import {
  agentRightCalls,
  engineRightCalls,
  functionRightCalls,
  openingCalls,
  p2pRightCalls,
} from './right-calls.js';
import { CALLER, type EndsWorld, engineWorld, openAgent, openEnds } from './worlds.js';

/** For what goes on after a wrong argument was taken. */
const WAIT_MS = 200;
/** Many calls register and post what they were given. */
const ROOM = { ...CALLER, 'memory.regionsMax': 8192, 'memory.transfersMax': 8192 };
let pair: EnginePair;
let agents: AgentWorld;
let ends: EndsWorld;

before(async () => {
  pair = await openPair(ROOM);
  agents = await openAgent();
  ends = await openEnds();
});
after(async () => {
  await Promise.all([agents.agent.close(), ends.p2p.close(), ends.client.close(), closeEngines()]);
});

test('wrong arguments: no call of any door ends in an error that is none of ours', async () => {
  const world = engineWorld(pair);
  // One that is active would be waited for.
  await pair.drive(world.transfer.done);
  const calls = [
    ...openingCalls(),
    ...engineRightCalls(world),
    ...agentRightCalls(agents),
    ...p2pRightCalls(ends),
    ...functionRightCalls(agents),
  ];
  const campaign = await tryMutations(calls, WAIT_MS);
  assert.ok(campaign.calls > 25_000, `${campaign.calls} calls`);
  const { raw } = campaign;
  assert.ok(raw.length === 0, `${raw.length} raw errors\n${raw.slice(0, 40).join('\n')}`);
});
