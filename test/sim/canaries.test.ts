// A simulation that finds nothing proves nothing: the engine is broken on purpose, and some seed
// must notice.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MUTATIONS } from '../support/sim/mutations.js';
import { runSeed } from '../support/sim/run-seed.js';
import { type SimPlan, withPlugin } from '../support/sim/sim-plan.js';

const SEEDS_MAX = 400;

interface Canary {
  readonly name: string;
  readonly mutate: (typeof MUTATIONS)[keyof typeof MUTATIONS];
  readonly seen: RegExp;
  /** The first of the seeds that are tried: near one that notices, where few do. */
  readonly from?: number;
  readonly plan: (plan: SimPlan) => SimPlan;
}

const CANARIES: readonly Canary[] = [
  {
    name: 'chunks sent again without a fence land in memory that is used again',
    mutate: MUTATIONS.resendUnfenced,
    seen: /although no transfer owns it/,
    plan: (plan: SimPlan): SimPlan => ({
      ...plan,
      isCalm: false,
      channels: Math.max(2, plan.channels),
      paths: 3,
      transfers: 40,
      faults: 6,
      faultRounds: 60,
    }),
  },
  {
    name: 'a notification sent again although it had landed comes twice',
    mutate: MUTATIONS.resendLanded,
    seen: /its notification came twice/,
    from: 60,
    plan: (plan: SimPlan): SimPlan => plan,
  },
  {
    name: 'a refusal that dies with its channel leaves a transfer done that is not',
    mutate: MUTATIONS.loseRefusals,
    seen: /done, but it is not allowed/,
    plan: (plan: SimPlan): SimPlan => ({ ...plan, work: { ...plan.work, badChance: 0.5 } }),
  },
  {
    name: 'a server that asks for no new connection loses a session without need',
    mutate: MUTATIONS.askNobody,
    seen: /was lost without need/,
    from: 25,
    plan: (plan: SimPlan): SimPlan => ({ ...plain(plan), channels: 1, faults: 2 }),
  },
  {
    name: 'a control connection that nobody asks for a sign of life stays dead',
    mutate: MUTATIONS.trustSilence,
    seen: /every connection of session \d+ is back/,
    from: 90,
    plan: (plan: SimPlan): SimPlan => ({ ...plan, isCalm: false }),
  },
  {
    name: 'a client that never looks does not learn that its server has lost every connection',
    mutate: MUTATIONS.trustSilence,
    seen: /was lost without need/,
    // One in a thousand: most losses are noticed otherwise meanwhile.
    from: 605,
    plan: (plan: SimPlan): SimPlan => ({ ...plain(plan), activeMax: 1, faults: 1 }),
  },
  {
    name: 'a server that challenges with the same nonce again takes what was recorded',
    mutate: MUTATIONS.reuseNonces,
    seen: /a recorded PROPOSE was taken/,
    plan: (plan: SimPlan): SimPlan => ({ ...plan, faults: 9, faultRounds: 15 }),
  },
  {
    name: 'a server that forgets epochs takes a recorded ATTACH',
    mutate: MUTATIONS.forgetEpochs,
    seen: /a recorded ATTACH was taken/,
    plan: (plan: SimPlan): SimPlan => ({ ...plan, faults: 9, faultRounds: 15 }),
  },
  {
    name: 'a server that does not keep to what it has accepted differs from its client',
    mutate: MUTATIONS.agreeOtherwise,
    seen: /differ in settings/,
    plan: (plan: SimPlan): SimPlan => plan,
  },
];

const MATCHED_CANARIES: readonly Canary[] = [
  {
    name: 'signs of life that are taken for progress leave transfers open for ever',
    mutate: MUTATIONS.believeLife,
    seen: /has not ended within/,
    plan: (plan: SimPlan): SimPlan => ({ ...plan, isCalm: false, isMean: true, faults: 4 }),
  },
  {
    name: 'a deadline that waits for a peer is late',
    mutate: MUTATIONS.softDeadlines,
    seen: /after its deadline/,
    plan: (plan: SimPlan): SimPlan => ({
      ...plan,
      isCalm: false,
      isMean: true,
      work: { ...plan.work, deadlineChance: 0.5 },
    }),
  },
  {
    name: 'a matched transfer that is confirmed before its bytes are there has wrong bytes',
    mutate: MUTATIONS.confirmEarly,
    seen: /wrong byte \d+ of cell \d+ when it was done/,
    plan: withPlugin,
  },
  {
    name: 'an epoch that is called fenced before its channels are closed lands late',
    mutate: MUTATIONS.fenceEarly,
    seen: /is of nobody|although no transfer owns it/,
    from: 155,
    plan: (plan: SimPlan): SimPlan => ({ ...busy(withPlugin(plan)), activeMax: 6 }),
  },
  {
    name: 'a late frame of an epoch that is over breaks the next',
    mutate: MUTATIONS.mixEpochs,
    seen: /ERR_WIRE_STATE/,
    plan: (plan: SimPlan): SimPlan => ({ ...busy(withPlugin(plan)), machines: 2 }),
  },
  {
    name: 'a server that forgets match epochs takes a recorded ATTACH',
    mutate: MUTATIONS.forgetMatchEpochs,
    seen: /a recorded ATTACH was taken/,
    from: 46,
    plan: (plan: SimPlan): SimPlan => busy(withPlugin(plan)),
  },
  {
    name: 'a match that is answered twice breaks a rule',
    mutate: MUTATIONS.answerTwice,
    seen: /ERR_WIRE_STATE.*(nothing to land|does not wait for a GO)/,
    plan: withPlugin,
  },
  {
    name: 'a region that is free while a plugin uses it is touched without a mapping',
    mutate: MUTATIONS.leaveEarly,
    seen: /which has no memory|although no transfer owns it/,
    plan: (plan: SimPlan): SimPlan => ({ ...busy(withPlugin(plan)), variety: VARIETY }),
  },
  {
    name: 'a matched notification that is told before its data comes too early',
    mutate: MUTATIONS.notifyEarly,
    seen: /wrong byte \d+ of cell \d+ when its notification came/,
    plan: withPlugin,
  },
  {
    name: 'a flight that is never let go of is left at the end',
    mutate: MUTATIONS.keepFlights,
    seen: /plugin channels of session \d+ are back|has flights \d+/,
    plan: withPlugin,
  },
];

const VARIETY = { plain: undefined };

/** Accidents alone: no damage, and no peers that let nothing go, which cover them up. */
function plain(plan: SimPlan): SimPlan {
  const work = { ...plan.work, hasDamage: false };
  return { ...plan, isCalm: false, isMean: false, isChecked: false, flipChance: 0, work };
}

function busy(plan: SimPlan): SimPlan {
  return { ...plan, isCalm: false, transfers: 40, faults: 9, faultRounds: 15 };
}

// Runs of lanes alone find what is wrong with lanes sooner.
function ofLanes(plan: SimPlan): SimPlan {
  return { ...plan, plugin: undefined, work: { ...plan.work, againChance: 0 } };
}

const ALL = [
  ...CANARIES.map((one) => ({ ...one, plan: (plan: SimPlan) => one.plan(ofLanes(plan)) })),
  ...MATCHED_CANARIES,
];

for (const { name, mutate, seen, plan, from = 1 } of ALL) {
  test(`simulation: ${name}`, async (t) => {
    for (let seed = from; seed < from + SEEDS_MAX; seed++) {
      const reason = await violationOf(() => runSeed(seed, { mutate, plan }));
      if (!seen.test(reason)) continue;
      t.diagnostic(`seen by seed ${seed}: ${reason}`);
      assert.equal(await violationOf(() => runSeed(seed, { mutate, plan })), reason, 'replays');
      assert.equal(await violationOf(() => runSeed(seed, { plan })), '', 'good without it');
      return;
    }
    assert.fail(`not noticed by ${SEEDS_MAX} seeds`);
  });
}

async function violationOf(run: () => Promise<unknown>): Promise<string> {
  try {
    await run();
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
