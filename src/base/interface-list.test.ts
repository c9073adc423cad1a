import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isListed, parseInterfaceList, unansweredWords } from './interface-list.js';

const chosen = (text: string, isOurs: boolean): string[] =>
  ['eth0', 'eth1', 'eth10', 'lo'].filter((name) =>
    isListed(parseInterfaceList(text, isOurs), name),
  );

test('interface list: plain words are prefixes to a plugin and names to us', () => {
  assert.deepEqual(chosen('eth1', false), ['eth1', 'eth10']);
  assert.deepEqual(chosen('eth1', true), ['eth1']);
  assert.deepEqual(chosen('=eth1,lo', false), ['eth1', 'lo']);
});

test('interface list: exclusions, by prefix and exact', () => {
  assert.deepEqual(chosen('^eth1,lo', true), ['eth0']);
  assert.deepEqual(chosen('^=eth1,lo', true), ['eth0', 'eth10']);
});

test('interface list: words that nothing answers to are named', () => {
  const names = ['eth1', 'eth2'];
  const missing = (text: string) => unansweredWords(parseInterfaceList(text, true), names);
  assert.deepEqual(missing('eth1,eth7'), ['eth7']);
  assert.deepEqual(missing('^eth7'), []);
  assert.deepEqual(missing(' eth1 , '), []);
});
