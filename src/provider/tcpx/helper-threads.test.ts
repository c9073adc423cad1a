import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type HelperThread,
  judgePlacement,
  readHelperThreads,
  threadIds,
} from './helper-threads.js';

const BINDINGS = { tx: 'eth1:8-9,12-12;eth2:40-41', rx: 'eth1:20-23;eth2:50-51' };

function thread(cpus: string): HelperThread {
  return { tid: 7, name: 'node', cpus };
}

function verdictOf(cpus: readonly string[], bindings = BINDINGS, nics = ['eth1']): string {
  return judgePlacement(cpus.map(thread), bindings, nics).verdict;
}

test('helper threads: on the cores of a binding, whole or pinned to a part, is bound', () => {
  assert.equal(verdictOf(['8-9,12', '20-23']), 'bound');
  assert.equal(verdictOf(['12', '21']), 'bound', 'pinned');
  assert.equal(verdictOf(['8-9,12', '50'], BINDINGS, ['eth1', 'eth2']), 'bound');
});

test('helper threads: one on other cores differs, and is named', () => {
  assert.equal(verdictOf(['8-9,12', '40-41']), 'differs', 'cores of another NIC');
  assert.equal(verdictOf(['9-20']), 'differs', 'of two bindings at once');
  const { verdict, reason } = judgePlacement([thread('0-3')], BINDINGS, ['eth1']);
  assert.equal(verdict, 'differs');
  assert.match(reason, /thread 7 may run on 0-3; bound are TX eth1:8-9,12-12/);
});

test('helper threads: without bindings or threads nothing is claimed', () => {
  assert.equal(verdictOf(['0-3'], { tx: '', rx: '' }), 'none');
  assert.equal(verdictOf(['0-3'], BINDINGS, ['eth9']), 'none');
  assert.equal(verdictOf([]), 'unseen');
});

test('helper threads: a direction without a binding excuses its own threads only', () => {
  const sendOnly = { tx: 'eth1:8-9', rx: '' };
  assert.equal(verdictOf(['8-9', '0-3'], sendOnly), 'bound');
  assert.equal(verdictOf(['0-3'], sendOnly), 'differs');
});

test('helper threads: those of before are left out', () => {
  const all = readHelperThreads(new Set());
  assert.ok(all.some(({ tid, cpus }) => tid === process.pid && cpus !== ''));
  const others = readHelperThreads(threadIds());
  assert.ok(others.every(({ tid }) => tid !== process.pid));
});
