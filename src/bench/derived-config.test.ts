// Settings with some of them changed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../base/config.js';
import { deriveConfig } from './derived-config.js';

test('derived settings: changed ones with their origin, all else as it was', () => {
  const environment = { NIXL_TCPX_TRUST_SECRET: 'x'.repeat(20), NIXL_TCPX_FLOW_CHANNELS: '3' };
  const config = loadConfig({ environment });
  const derived = deriveConfig(config, { 'bench.sizeBytes': 4096 }, 'sweep');
  assert.equal(derived.values['bench.sizeBytes'], 4096);
  assert.equal(derived.values['trust.secret'], 'x'.repeat(20));
  assert.equal(JSON.stringify(derived).includes('xxx'), false, 'and is in nothing that prints');
  const origin = (name: string) => derived.effective.find((one) => one.name === name)?.origin;
  assert.equal(origin('bench.sizeBytes'), 'sweep');
  assert.equal(origin('flow.channels'), 'environment NIXL_TCPX_FLOW_CHANNELS');
  assert.equal(origin('flow.chunkBytes'), 'default');
});

test('derived settings: texts are read as flags are, and checked', () => {
  const derived = deriveConfig(loadConfig(), { 'bench.sizeBytes': '4KiB' }, 'sweep');
  assert.equal(derived.values['bench.sizeBytes'], 4096);
  assert.throws(() => deriveConfig(loadConfig(), { 'flow.channels': '99' }, 'sweep'), /99/);
});
