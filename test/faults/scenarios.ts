// Faults that a machine can really have, each with what is promised. A scenario runs once,
// measures, and throws when a promise is broken. `npm run faults` repeats them and prints the
// table.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NetLab } from '../support/net-lab.js';
import { CONTROL_SCENARIOS } from './control-scenarios.js';
import { FAULT_PORT, type Fact, type FaultPeer, type FaultRun } from './fault-run.js';
import {
  assertInTime,
  assertWhole,
  FULL_SHARE,
  inMid,
  LINKS,
  linkBytesPerMs,
  type Scenario,
  setLink,
  started,
} from './scenario.js';

/** Not the first: that one carries the control connection. */
const CUT_LINK = 2;
/** Buffers have filled up by then, and no channel has been found to stand still. */
const FULL_AFTER_MS = 500;

/** Time after `fromMs` until the given NICs together moved at `bytesPerMs` over 100 ms. */
function rateBackMs(
  peer: FaultPeer,
  nics: readonly string[],
  fromMs: number,
  bytesPerMs: number,
): number {
  const back = ratesOf(peer, nics, fromMs).find(({ rate }) => rate >= bytesPerMs);
  return back === undefined ? Number.POSITIVE_INFINITY : back.atMs - fromMs;
}

/** What the NICs together moved in each stretch of 100 ms, in bytes per millisecond. */
function ratesOf(
  peer: FaultPeer,
  nics: readonly string[],
  fromMs: number,
  toMs = Number.POSITIVE_INFINITY,
): { readonly atMs: number; readonly rate: number }[] {
  const total = (fact: Fact): number => nics.reduce((sum, nic) => sum + (fact.nics?.[nic] ?? 0), 0);
  const samples = peer.facts.filter(
    ({ nics: seen, atMs }) => seen !== undefined && atMs >= fromMs && atMs <= toMs,
  );
  return samples.flatMap((first, index) => {
    const last = samples.slice(index).find((fact) => fact.atMs - first.atMs >= 100);
    if (last === undefined) return [];
    return [{ atMs: first.atMs, rate: (total(last) - total(first)) / (last.atMs - first.atMs) }];
  });
}

/**
 * Full rate of these NICs: that of the wire, or what they moved before the fault where the machine
 * has no time for more.
 */
function fullRate(run: FaultRun, nics: readonly string[], faultMs: number): number {
  const rates = ratesOf(run.initiator, nics, 0, faultMs).map(({ rate }) => rate);
  const moving = rates.filter((rate) => rate > 0).sort((a, b) => a - b);
  const median = moving[moving.length >> 1] ?? 0;
  assert.ok(median > 0, 'the links moved before the fault');
  return Math.min(nics.length * linkBytesPerMs(run.lab), median);
}

/** The typed error that the transfer ends with, and how long after the fault it came. */
async function endsWith(
  run: FaultRun,
  code: string,
  faultMs: number,
  limitMs: number,
): Promise<{ readonly fact: Fact; readonly recoveredMs: number }> {
  const fact = await run.initiator.next('error', (one) => one.code !== undefined);
  assert.equal(fact.code, code, fact.message);
  const recoveredMs = fact.atMs - faultMs;
  assertInTime(recoveredMs < limitMs, `error after ${recoveredMs} ms`);
  return { fact, recoveredMs };
}

/** A machine that has other things to do meanwhile is late itself. */
function withinMs(limitMs: number, fullShare: number): number {
  return fullShare < FULL_SHARE ? 4 * limitMs : limitMs;
}

interface Cut {
  readonly name: string;
  /** What the log says when it is known. */
  readonly known: string;
  readonly noticedMs: number;
  readonly cut: (lab: NetLab) => void;
  readonly mend: (lab: NetLab) => void;
}

const LINK_DOWN: Cut = {
  name: 'set down',
  known: 'channel given up',
  noticedMs: 50,
  cut: (lab) => setLink(lab, CUT_LINK, 'down'),
  mend: (lab) => setLink(lab, CUT_LINK, 'up'),
};

/** The link stays up and carries nothing: frames go to an address that nobody has. */
const LINK_SILENT: Cut = {
  name: 'silent, and up',
  known: 'channel down',
  noticedMs: 500,
  cut: (lab) => blackhole(lab, ['lladdr', '02:00:00:00:00:01', 'nud', 'permanent']),
  mend: (lab) => blackhole(lab, undefined),
};

function blackhole(lab: NetLab, address: readonly string[] | undefined): void {
  const link = lab.links[CUT_LINK];
  if (link === undefined) throw new Error('no link to cut');
  const { leftNic, leftHost, rightNic, rightHost } = link;
  for (const [space, nic, host] of [
    [lab.left, leftNic, rightHost],
    [lab.right, rightNic, leftHost],
  ] as const) {
    const verb = address === undefined ? 'del' : 'replace';
    execFileSync('ip', ['-n', space, 'neigh', verb, host, ...(address ?? []), 'dev', nic]);
  }
}

function cutOne(operation: 'write' | 'read', one: Cut): Scenario {
  const { name, noticedMs, known } = one;
  return {
    name: `one of four links ${name}, ${operation}`,
    promise:
      `all bytes land; noticed within ${noticedMs} ms; ` +
      'full rate on the rest within 100 ms after',
    isLong: true,
    isTight: true,
    run: (lab, bytes, fullShare) =>
      started(lab, bytes, operation, async (run) => {
        await inMid(run, bytes);
        const beforeMs = Date.now();
        one.cut(lab);
        // The program that cuts has to start and to end; the link goes in between.
        const cutMs = Date.now();
        try {
          const over = await run.initiator.next(
            'failover',
            (fact) => fact.log?.includes('channel failed over') === true,
          );
          await assertWhole(run, bytes);
          const [first] = run.initiator.logged(known);
          const tookMs = Math.max(0, (first ?? over).atMs - cutMs);
          const limitMs = withinMs(noticedMs, fullShare);
          assertInTime(tookMs <= limitMs, `noticed after ${tookMs} ms`);
          const rest = lab.links
            .filter((_, index) => index !== CUT_LINK)
            .map((link) => link.leftNic);
          const wanted = fullShare * fullRate(run, rest, beforeMs);
          const recoveredMs = rateBackMs(run.initiator, rest, over.atMs, wanted);
          const backMs = withinMs(100, fullShare);
          assertInTime(recoveredMs <= backMs, `full rate on the rest after ${recoveredMs} ms`);
          return { noticedMs: tookMs, recoveredMs };
        } finally {
          one.mend(lab);
        }
      }),
  };
}

function cutAll(operation: 'write' | 'read', downMs: number): Scenario {
  return {
    name: `all four links down for ${downMs} ms, ${operation}`,
    promise: 'all bytes land; the session goes on when a link is back within 5 s',
    run: (lab, bytes) =>
      started(lab, bytes, operation, async (run) => {
        await inMid(run, bytes);
        for (const index of lab.links.keys()) setLink(lab, index, 'down');
        await sleep(downMs);
        for (const index of lab.links.keys()) setLink(lab, index, 'up');
        const upMs = Date.now();
        await assertWhole(run, bytes);
        const nics = lab.links.map((link) => link.leftNic);
        return { recoveredMs: rateBackMs(run.initiator, nics, upMs, linkBytesPerMs(lab)) };
      }),
  };
}

const cutForGood: Scenario = {
  name: 'all four links down for good',
  promise: 'a typed error with the bytes confirmed, within 7 s',
  run: (lab, bytes) =>
    started(lab, bytes, 'write', async (run) => {
      await inMid(run, bytes);
      const cutMs = Date.now();
      for (const index of lab.links.keys()) setLink(lab, index, 'down');
      const { fact, recoveredMs } = await endsWith(run, 'ERR_XFER_FAILED', cutMs, 7000);
      assert.ok(Number(fact.facts?.['bytesConfirmed']) < bytes);
      return { recoveredMs };
    }),
};

function pause(who: 'target' | 'initiator', pauseMs: number): Scenario {
  const isShort = pauseMs < 500;
  return {
    name: `${who} stopped for ${pauseMs} ms`,
    promise: isShort ? 'no failover, all bytes land' : 'all bytes land',
    isTight: isShort,
    run: (lab, bytes) =>
      started(lab, bytes, 'write', async (run) => {
        await inMid(run, bytes);
        run[who].child.kill('SIGSTOP');
        await sleep(pauseMs);
        run[who].child.kill('SIGCONT');
        const onMs = Date.now();
        await assertWhole(run, bytes);
        const alarms = [run.initiator, run.target].flatMap((peer) => peer.logged('channel down'));
        if (isShort) assertInTime(alarms.length === 0, `given up: ${JSON.stringify(alarms)}`);
        const nics = lab.links.map((link) => link.leftNic);
        return { recoveredMs: rateBackMs(run.initiator, nics, onMs, linkBytesPerMs(lab)) };
      }),
  };
}

// Bytes that wait in the buffers of the data connections, at both ends; the control connection
// has none.
function queued(lab: NetLab): { readonly received: number[]; readonly unsent: number[] } {
  const columns = (space: string, filter: string, column: number): number[] => {
    const words = ['netns', 'exec', space, 'ss', '-Htn', filter, '=', `:${FAULT_PORT}`];
    const text = execFileSync('ip', words, { encoding: 'utf8' }).trim();
    return text.split('\n').map((line) => Number(line.split(/\s+/)[column]));
  };
  const busy = (sizes: number[]): number[] => sizes.filter((size) => size > 0);
  return {
    received: busy(columns(lab.right, 'sport', 1)),
    unsent: busy(columns(lab.left, 'dport', 2)),
  };
}

/** The process runs, but nobody reads: receive and send buffers fill up, windows close. */
function fullBuffers(holdMs: number): Scenario {
  return {
    name: `socket buffers full for ${holdMs} ms, the target does not read`,
    promise: holdMs < 2000 ? 'no failover, all bytes land' : 'all bytes land',
    isTight: holdMs < 2000,
    run: (lab, bytes) =>
      started(
        lab,
        bytes,
        'write',
        async (run) => {
          await inMid(run, bytes);
          run.target.child.stdin?.write(`hold ${holdMs}\n`);
          const onMs = Date.now() + holdMs;
          await sleep(FULL_AFTER_MS);
          let { received, unsent } = queued(lab);
          while (Math.min(received.length, unsent.length) < LINKS && Date.now() < onMs) {
            ({ received, unsent } = queued(lab));
          }
          await sleep(Math.max(0, onMs - Date.now()));
          assert.equal(received.length, LINKS, 'every receive buffer has bytes');
          assert.equal(unsent.length, LINKS, 'every send buffer has bytes');
          await assertWhole(run, bytes);
          const alarms = [run.initiator, run.target].flatMap((peer) => peer.logged('channel down'));
          if (holdMs < 2000) {
            assertInTime(alarms.length === 0, `given up: ${JSON.stringify(alarms)}`);
          }
          const nics = lab.links.map((link) => link.leftNic);
          return { recoveredMs: rateBackMs(run.initiator, nics, onMs, linkBytesPerMs(lab)) };
        },
        {
          settings: { 'socket.bufferBytes': 65536 },
          targetSettings: { 'lane.progress': 'caller' },
        },
      ),
  };
}

const stoppedForGood: Scenario = {
  name: 'target stopped for good, transfer with a deadline of 1 s',
  promise: 'ERR_XFER_DEADLINE at the deadline, though nobody confirms anything',
  isTight: true,
  run: (lab, bytes) =>
    started(
      lab,
      bytes,
      'write',
      async (run) => {
        await run.initiator.next('samples', (fact) => fact.nics !== undefined);
        const stopMs = Date.now();
        run.target.child.kill('SIGSTOP');
        const { recoveredMs } = await endsWith(run, 'ERR_XFER_DEADLINE', stopMs, 1200);
        return { recoveredMs };
      },
      { deadlineMs: 1000 },
    ),
};

const killTarget: Scenario = {
  name: 'kill -9 of the target',
  promise: 'a typed error at once: the peer is lost',
  isTight: true,
  run: (lab, bytes) =>
    started(lab, bytes, 'write', async (run) => {
      await inMid(run, bytes);
      const killMs = Date.now();
      run.target.child.kill('SIGKILL');
      const { fact, recoveredMs } = await endsWith(run, 'ERR_XFER_FAILED', killMs, 1000);
      assert.match(fact.message ?? '', /ERR_PEER_/);
      return { recoveredMs };
    }),
};

const killInitiator: Scenario = {
  name: 'kill -9 of the initiator',
  promise: 'the target closes the session within 1 s and goes on',
  isTight: true,
  run: (lab, bytes) =>
    started(lab, bytes, 'read', async (run) => {
      await inMid(run, bytes);
      const killMs = Date.now();
      run.initiator.child.kill('SIGKILL');
      const fact = await run.target.next(
        'end of the session',
        (one) => one.log?.includes('session closing') === true,
      );
      assert.ok(!run.target.hasExited);
      assertInTime(fact.atMs - killMs <= 1000, `closed after ${fact.atMs - killMs} ms`);
      return { recoveredMs: fact.atMs - killMs };
    }),
};

// Connections to the target by the client's address; the control connection is on the first link.
function connections(lab: NetLab): { readonly host: string; readonly port: string }[] {
  const words = ['netns', 'exec', lab.left, 'ss', '-Htn', 'dport', '=', `:${FAULT_PORT}`];
  const text = execFileSync('ip', words, { encoding: 'utf8' });
  return text
    .trim()
    .split('\n')
    .map((line) => line.split(/\s+/)[3]?.split(':') ?? [])
    .map(([host = '', port = '']) => ({ host: host.split('%')[0] ?? '', port }));
}

function reset(how: 'one' | 'all', operation: 'write' | 'read'): Scenario {
  return {
    name: `reset of ${how === 'one' ? 'one connection' : 'all connections'}, ${operation}`,
    promise: 'all bytes land; the session reconnects',
    run: (lab, bytes) =>
      started(lab, bytes, operation, async (run) => {
        await inMid(run, bytes);
        const all = connections(lab);
        const one = all.filter(({ host }) => host === lab.links[CUT_LINK]?.leftHost);
        const resetMs = Date.now();
        for (const { port } of how === 'one' ? one : all) {
          spawnSync('ip', ['netns', 'exec', lab.left, 'ss', '-K', 'sport', '=', `:${port}`]);
        }
        await assertWhole(run, bytes);
        const back = run.initiator.logged('channel is back');
        const last = back.at(-1);
        assert.ok(last !== undefined, 'a channel came back');
        const control = run.initiator.logged('control connection is back');
        assert.equal(control.length, how === 'all' ? 1 : 0, 'control connections attached anew');
        return { recoveredMs: last.atMs - resetMs };
      }),
  };
}

export const SCENARIOS: readonly Scenario[] = [
  cutOne('write', LINK_DOWN),
  cutOne('read', LINK_DOWN),
  cutOne('write', LINK_SILENT),
  cutOne('read', LINK_SILENT),
  cutAll('write', 2000),
  cutAll('read', 3500),
  cutForGood,
  pause('target', 400),
  pause('initiator', 400),
  pause('target', 2000),
  pause('initiator', 2000),
  fullBuffers(1500),
  fullBuffers(3500),
  stoppedForGood,
  killTarget,
  killInitiator,
  reset('one', 'write'),
  reset('one', 'read'),
  reset('all', 'write'),
  reset('all', 'read'),
  ...CONTROL_SCENARIOS,
];
