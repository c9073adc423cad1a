import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTcpxError } from './errors.js';
import { parseProfile, readProfile } from './profile.js';

test('profile: names of variables and their values; comments are passed over', () => {
  const text = '# 9 GB/s\nNIXL_TCPX_FLOW_CHANNELS=4\n\n  NIXL_TCPX_SESSION_NICS=eth1,eth2 \n';
  const { path, texts } = parseProfile('best.env', text);
  assert.equal(path, 'best.env');
  assert.deepEqual(texts, { 'flow.channels': '4', 'session.nics': 'eth1,eth2' });
});

test('profile: what is wrong is named with its line', () => {
  const failures: [string, string, RegExp][] = [
    ['NIXL_TCPX_FLOW_CHANELS=4', 'ERR_CONFIG_UNKNOWN', /line 1: .*FLOW_CHANELS.*FLOW_CHANNELS/],
    ['#\nexport X', 'ERR_CONFIG_VALUE', /best.env, line 2: not NAME=VALUE/],
    ['NIXL_TCPX_TRUST_MODE=network', 'ERR_CONFIG_VALUE', /trust.mode is not for profiles/],
    ['NIXL_TCPX_ENGINE_PROFILE=b', 'ERR_CONFIG_VALUE', /engine.profile is not for profiles/],
  ];
  for (const [text, code, message] of failures) {
    const isRight = (error: unknown) => {
      return isTcpxError(error) && error.code === code && message.test(error.message);
    };
    assert.throws(() => parseProfile('best.env', text), isRight, text);
  }
  assert.throws(() => readProfile('/nowhere/best.env'), /nowhere\/best.env: ENOENT/);
  for (const endless of ['/dev/zero', '/proc']) {
    assert.throws(() => readProfile(endless), /not a file of at most 65536 bytes/, endless);
  }
});
