import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatEndpoint, parseEndpoint } from './endpoint.js';

test('endpoint: names, addresses and ports as people write them', () => {
  assert.deepEqual(parseEndpoint('node-7'), { host: 'node-7' });
  assert.deepEqual(parseEndpoint('node-7.cluster.local:20000'), {
    host: 'node-7.cluster.local',
    port: 20_000,
  });
  assert.deepEqual(parseEndpoint('10.0.0.7:20000'), { host: '10.0.0.7', port: 20_000 });
  assert.deepEqual(parseEndpoint('fd00::7'), { host: 'fd00::7' });
  assert.deepEqual(parseEndpoint('[fd00::7]'), { host: 'fd00::7' });
  assert.deepEqual(parseEndpoint('[fd00::7]:20000'), { host: 'fd00::7', port: 20_000 });
  assert.deepEqual(parseEndpoint('[::1]:0'), { host: '::1', port: 0 });
});

test('endpoint: what is printed is read again', () => {
  for (const [host, port] of [
    ['10.0.0.7', 1],
    ['fd00::7', 65_535],
    ['localhost', 20_000],
  ] as const) {
    assert.deepEqual(parseEndpoint(formatEndpoint(host, port)), { host, port });
  }
});

test('endpoint: anything else is refused with the three forms', () => {
  const bad = [
    '',
    ':20000',
    'a b',
    'host:',
    'host:x',
    'host:70000',
    '[::1',
    '[10.0.0.7]:1',
    '::1:x',
  ];
  for (const text of [...bad, 'fd00::7:20000:z', 'host:1:2', 'x'.repeat(300), 'a\u001b[2J']) {
    assert.throws(() => parseEndpoint(text), /host:port or \[v6\]:port/, text);
  }
});
