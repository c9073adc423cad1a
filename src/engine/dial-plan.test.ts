import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AssertionFailure } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import { controlWays, DialPlan, type DialStep } from './dial-plan.js';

const refused = new TcpxError('ERR_PEER_UNREACHABLE', 'refused', { facts: { isRefused: true } });
const silent = new TcpxError('ERR_PEER_TIMEOUT', 'silent');
const way = (host: string) => ({ nic: '', host });
const first = (hosts: readonly string[], isPatient: boolean) =>
  DialPlan.first(hosts, '', { nowUs: 0, timeoutMs: 1000, isPatient });

/** What a plan does while every attempt takes so long and ends so. */
function play(plan: DialPlan, error: TcpxError, tookUs: number) {
  const hosts: string[] = [];
  let nowUs = 0;
  for (let step: DialStep = plan.next(nowUs); step.kind !== 'give up'; step = plan.next(nowUs)) {
    if (step.kind === 'rest') {
      nowUs = step.untilUs;
      continue;
    }
    hosts.push(step.way.host);
    nowUs += Math.min(tookUs, step.timeoutMs * 1000);
    plan.onFailed(error, nowUs);
  }
  return { hosts, nowUs, step: plan.next(nowUs) };
}

test('dial plan: every address of a name is tried once, where nobody has patience', () => {
  const { hosts, nowUs, step } = play(first(['a', 'b', 'c'], false), refused, 100);
  assert.deepEqual(hosts, ['a', 'b', 'c']);
  assert.equal(nowUs, 300, 'without a rest');
  assert.deepEqual(step, { kind: 'give up', error: refused });
});

test('dial plan: with patience all are tried again, with rests, until the time is over', () => {
  const { hosts, nowUs } = play(first(['a', 'b'], true), refused, 1000);
  assert.deepEqual(hosts.slice(0, 4), ['a', 'b', 'a', 'b']);
  assert.ok(hosts.length > 20 && hosts.length <= 42, `${hosts.length} attempts`);
  assert.ok(nowUs <= 1_000_000 && nowUs > 900_000, `${nowUs}`);
});

test('dial plan: a peer that does not refuse but says nothing is not tried again', () => {
  const { hosts, nowUs } = play(first(['a', 'b'], true), silent, 1e9);
  assert.deepEqual(hosts, ['a']);
  assert.equal(nowUs, 1_000_000, 'all the time went into it');
});

test('dial plan: an attempt gets what is left of the time', () => {
  const plan = first(['a'], true);
  assert.deepEqual(plan.next(0), { kind: 'dial', way: way('a'), timeoutMs: 1000 });
  plan.onFailed(refused, 700_000);
  assert.deepEqual(plan.next(700_000), { kind: 'rest', untilUs: 750_000 });
  assert.deepEqual(plan.next(750_000), { kind: 'dial', way: way('a'), timeoutMs: 250 });
});

test('dial plan: a channel has one way, and one attempt', () => {
  const plan = DialPlan.channel(way('a'));
  assert.deepEqual(plan.next(0), { kind: 'dial', way: way('a'), timeoutMs: 1000 });
  plan.onFailed(silent, 1e6);
  assert.deepEqual(plan.next(1e6), { kind: 'give up', error: silent });
});

test('dial plan: of several ways each gets little time, the last more, whatever fails', () => {
  const plan = DialPlan.alternatives([way('a'), way('b')]);
  assert.deepEqual(plan.next(0), { kind: 'dial', way: way('a'), timeoutMs: 300 });
  plan.onFailed(silent, 300_000);
  assert.deepEqual(plan.next(300_000), { kind: 'dial', way: way('b'), timeoutMs: 1000 });
  plan.onFailed(refused, 300_000);
  assert.deepEqual(plan.next(300_000), { kind: 'give up', error: refused });
});

test('dial plan: no attempt while another is under way, none fails that was not made', () => {
  const plan = DialPlan.channel(way('a'));
  assert.throws(() => plan.onFailed(silent, 0), AssertionFailure);
  plan.next(0);
  assert.throws(() => plan.next(0), AssertionFailure);
  assert.throws(() => DialPlan.alternatives([]), AssertionFailure);
});

test('control ways: where it was, then by channels that live, each way once', () => {
  const own = { nic: 'eth0', host: 'a' };
  const channels = [{ nic: 'eth1', host: 'b' }, { nic: 'eth2', host: 'c' }, own];
  assert.deepEqual(controlWays(own, channels, [1, 2]), [own, channels[1]]);
});
