// Trust beyond loopback, between two network namespaces joined by a veth pair.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import type { SettingValues } from '../../src/base/settings.js';
import { EnginePeer, type PeerFact } from './engine-peer.js';

const NAMES = { a: `tcpxa${process.pid}`, b: `tcpxb${process.pid}` };
const LINK = `tx${process.pid}`;
const HOST = '10.77.0.1';
const HOST_SIX = 'fd77::1';
const SECRET: Partial<SettingValues> = { 'trust.secret': 'a secret for two namespaces' };
const NETWORK: Partial<SettingValues> = { 'trust.mode': 'network' };
const children: EnginePeer[] = [];
let obstacle = '';

function ip(...words: readonly string[]): void {
  execFileSync('ip', words, { stdio: ['ignore', 'ignore', 'pipe'] });
}

before(() => {
  try {
    ip('netns', 'add', NAMES.a);
    ip('netns', 'add', NAMES.b);
    ip('link', 'add', `${LINK}a`, 'netns', NAMES.a, 'type', 'veth', 'peer', 'name', `${LINK}b`);
    ip('link', 'set', `${LINK}b`, 'netns', NAMES.b);
    for (const [end, address] of [
      ['a', 1],
      ['b', 2],
    ] as const) {
      const inside = ['-n', NAMES[end]];
      ip(...inside, 'addr', 'add', `10.77.0.${address}/24`, 'dev', `${LINK}${end}`);
      ip(...inside, 'addr', 'add', `fd77::${address}/64`, 'dev', `${LINK}${end}`, 'nodad');
      ip(...inside, 'link', 'set', `${LINK}${end}`, 'up');
      ip(...inside, 'link', 'set', 'lo', 'up');
    }
  } catch (error) {
    obstacle = error instanceof Error ? (error.message.split('\n')[1] ?? error.message) : '';
  }
});

after(() => {
  for (const child of children) child.kill();
  for (const name of Object.values(NAMES)) {
    try {
      ip('netns', 'del', name);
    } catch {
      // It was never made.
    }
  }
});

async function attempt(
  target: Partial<SettingValues>,
  initiator: Partial<SettingValues>,
  host = HOST,
): Promise<PeerFact> {
  const bytes = 100_000;
  const server = new EnginePeer('target', { netns: NAMES.a, settings: target, host, bytes });
  children.push(server);
  const { port = 0, descriptor } = await server.fact('descriptor');
  assert.ok(descriptor !== undefined);
  const client = new EnginePeer('once', {
    netns: NAMES.b,
    settings: initiator,
    host,
    port,
    bytes,
    descriptor,
  });
  children.push(client);
  const fact = await client.fact('trust', 'message');
  await client.end();
  await server.end();
  return fact;
}

const CASES: readonly [
  string,
  Partial<SettingValues>,
  Partial<SettingValues>,
  PeerFact,
  string?,
][] = [
  ['a secret on both ends', SECRET, SECRET, { trust: 'secret' }],
  ['a secret on both ends, over IPv6', SECRET, SECRET, { trust: 'secret' }, HOST_SIX],
  ['--trust network on both ends', NETWORK, NETWORK, { trust: 'network' }],
  ['no secret at all', {}, {}, { code: 'ERR_PEER_UNTRUSTED' }],
  ['no secret at the server', {}, NETWORK, { code: 'ERR_PEER_REFUSED' }],
  ['a secret at the server alone', SECRET, NETWORK, { code: 'ERR_WIRE_AUTH' }],
];

for (const [name, target, initiator, expected, host] of CASES) {
  test(`beyond loopback: ${name} gives ${expected.trust ?? expected.code}`, async (t) => {
    if (obstacle !== '') {
      t.skip(`needs network namespaces: ${obstacle}`);
      return;
    }
    const fact = await attempt(target, initiator, host);
    assert.equal(fact.code, expected.code, fact.message);
    assert.equal(fact.trust, expected.trust, fact.message);
    if (expected.code === 'ERR_PEER_REFUSED')
      assert.match(fact.message ?? '', /ERR_PEER_UNTRUSTED/);
    if (expected.code !== undefined) assert.match(fact.message ?? '', /10\.77\.0\.1/);
  });
}

test('two network namespaces of one host: TCP by name, or nothing by demand', async (t) => {
  if (obstacle !== '') {
    t.skip(`needs network namespaces: ${obstacle}`);
    return;
  }
  const { path, pathReason } = await attempt(SECRET, SECRET);
  assert.equal(path, 'tcp host');
  assert.match(pathReason ?? '', /^one host, but no shared memory/);
  const demanding = { ...SECRET, 'session.local': 'shm' } as const;
  const { code, message } = await attempt(SECRET, demanding);
  assert.equal(code, 'ERR_PEER_REFUSED');
  assert.match(message ?? '', /ERR_CAP_SHARED_MEMORY.*another network namespace/);
});
