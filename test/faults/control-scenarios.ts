// What can befall the control connection alone, or every connection at one end alone.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { FAULT_PORT, type Fact, type FaultPeer } from './fault-run.js';
import {
  assertInTime,
  assertWhole,
  inMid,
  LINKS,
  type Scenario,
  setLink,
  started,
} from './scenario.js';

/** Only this link is cut, and it carries the control connection alone. */
const CONTROL_LINK = LINKS;

function loggedAt(peer: FaultPeer, text: string): Promise<Fact> {
  return peer.next(text, (fact) => fact.log?.includes(text) === true, 10_000);
}

function silentControl(when: 'mid-transfer' | 'idle'): Scenario {
  const then = when === 'idle' ? 'while idle, then a transfer' : 'in mid-transfer';
  return {
    name: `link of the control connection alone set down ${then}`,
    promise:
      'all bytes land, no failover; another control connection, over another link, within 6 s',
    links: LINKS + 1,
    run: (lab, bytes) =>
      started(
        lab,
        bytes,
        'write',
        async (run) => {
          if (when !== 'idle') {
            run.order('post');
            await inMid(run, bytes);
          }
          const cutMs = Date.now();
          setLink(lab, CONTROL_LINK, 'down');
          const lost = await loggedAt(run.initiator, 'control connection lost');
          const back = await loggedAt(run.initiator, 'control connection is back');
          if (when === 'idle') run.order('post');
          await assertWhole(run, bytes);
          const alarms = [run.initiator, run.target].flatMap((peer) => peer.logged('channel down'));
          assert.deepEqual(alarms, [], 'a channel was given up');
          run.order('close');
          await loggedAt(run.target, 'said goodbye');
          const recoveredMs = back.atMs - cutMs;
          assertInTime(recoveredMs <= 6000, `another control connection after ${recoveredMs} ms`);
          return { noticedMs: lost.atMs - cutMs, recoveredMs };
        },
        { controlLink: CONTROL_LINK, isLed: true },
      ),
  };
}

// The links are down for a moment, so that the initiator does not hear of it.
const lostAtTarget: Scenario = {
  name: 'every connection lost at the target alone, the initiator idle',
  promise: 'attached anew within 3 s; then a transfer: all bytes land',
  run: (lab, bytes) =>
    started(
      lab,
      bytes,
      'write',
      async (run) => {
        await sleep(300);
        for (const index of lab.links.keys()) setLink(lab, index, 'down');
        const words = ['ss', '-K', 'state', 'established', 'sport', '=', `:${FAULT_PORT}`];
        spawnSync('ip', ['netns', 'exec', lab.right, ...words]);
        const lostMs = Date.now();
        await loggedAt(run.target, 'control connection lost');
        for (const index of lab.links.keys()) setLink(lab, index, 'up');
        await run.initiator.next('channels', () => {
          return run.initiator.logged('channel is back').length === LINKS;
        });
        const recoveredMs = Date.now() - lostMs;
        run.order('post');
        await assertWhole(run, bytes);
        run.order('close');
        assertInTime(recoveredMs <= 3000, `every channel is back after ${recoveredMs} ms`);
        return { recoveredMs };
      },
      { isLed: true },
    ),
};

export const CONTROL_SCENARIOS: readonly Scenario[] = [
  silentControl('mid-transfer'),
  silentControl('idle'),
  lostAtTarget,
];
