import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeThreads, pluginStanding } from './plugin-receipt.js';

const plugin = (version: string) => ({
  name: 'GPUDirectTCPX_v7',
  version,
  tableVersion: 7,
  isEmulated: false,
  pointerType: 'cuda',
});

test('plugin receipt: 3.1.9 is known; 3.1.6 and whatever else is untested, at either end', () => {
  assert.equal(pluginStanding(plugin('3.1.9.'), plugin('3.1.9.emulator')), 'known');
  for (const version of ['3.1.6', '3.1.90', '13.1.9', '4.0.0', 'unknown', '']) {
    assert.equal(pluginStanding(plugin('3.1.9.'), plugin(version)), 'untested', version);
    assert.equal(pluginStanding(plugin(version), plugin('3.1.9.')), 'untested', version);
  }
});

test('plugin receipt: one verdict for the threads of all processes', () => {
  const placed = (verdict: 'bound' | 'differs' | 'none', reason = '') => ({
    verdict,
    nics: ['eth1'],
    bindings: { tx: '', rx: '' },
    threads: [],
    reason,
  });
  assert.equal(describeThreads([]), 'unseen');
  assert.equal(describeThreads([placed('bound'), placed('bound')]), 'bound');
  assert.equal(describeThreads([placed('bound'), placed('differs', 'why')]), 'differs: why');
  assert.equal(describeThreads([placed('bound'), placed('none')]), 'bound, none');
});
