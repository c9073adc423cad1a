// Races between fetching metadata from etcd and watching for its withdrawal, made certain by a
// slow road to the server: between the agent and etcd stands a proxy that delays watches, or
// answers to reads.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { EtcdServer, etcdSkipReason } from '../../test/support/etcd-server.js';
import { openMockAgent } from '../../test/support/mock-agents.js';
import { MockNetwork } from '../../test/support/mock-network.js';
import { until } from '../../test/support/until.js';
import { sleepMs } from '../base/clock.js';
import { NixlStatus } from './status.js';

const skip = etcdSkipReason() ?? false;
const LIMIT_MS = 10_000;

interface WatchDelay {
  readonly requestMs: number;
  readonly answerMs: number;
  /** What a read is answered with, from now on. */
  readMs?: number;
}

async function startSlowProxy(t: TestContext, target: string, delay: WatchDelay): Promise<string> {
  const proxy: Server = createServer((incoming, answer) => {
    const isWatch = incoming.url === '/v3/watch';
    const readMs = incoming.url === '/v3/kv/range' ? (delay.readMs ?? 0) : 0;
    const answerMs = isWatch ? delay.answerMs : readMs;
    const onward = request(`${target}${incoming.url}`, { method: 'POST' }, (from) => {
      answer.writeHead(from.statusCode ?? 500);
      from.on('data', (chunk) => {
        setTimeout(() => answer.write(chunk), answerMs);
      });
      from.on('end', () => setTimeout(() => answer.end(), Math.max(1, answerMs)));
      from.on('error', () => answer.destroy());
    });
    onward.on('error', () => answer.destroy());
    answer.on('close', () => onward.destroy());
    setTimeout(() => incoming.pipe(onward), isWatch ? delay.requestMs : 0);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

async function openPair(t: TestContext, delay: WatchDelay) {
  const server = await EtcdServer.start(t);
  const slow = await startSlowProxy(t, server.url, delay);
  const network = new MockNetwork();
  const evicted: string[] = [];
  const onPeerEvicted = (name: string) => evicted.push(name);
  const fast = { 'nixl.etcdEndpoints': server.url };
  const a = await openMockAgent(t, network, 'a', { settings: fast });
  const settings = { 'nixl.etcdEndpoints': slow, 'nixl.etcdWatchTimeoutMs': 100 };
  const b = await openMockAgent(t, network, 'b', { settings, onPeerEvicted });
  return { a: a.agent, b: b.agent, evicted };
}

test('etcd: a withdrawal before the watch stands is not missed', { skip }, async (t) => {
  const { a, b, evicted } = await openPair(t, { requestMs: 400, answerMs: 0 });
  await a.sendLocalMD();
  await b.fetchRemoteMD('a');
  await sleepMs(100);
  await a.invalidateLocalMD();
  await until('b forgets a', LIMIT_MS, () => b.checkRemoteMD('a') === NixlStatus.ERR_NOT_FOUND);
  assert.deepEqual(evicted, ['a']);
});

test('etcd: late news of an old withdrawal does not evict who came back', { skip }, async (t) => {
  const { a, b, evicted } = await openPair(t, { requestMs: 0, answerMs: 700 });
  await a.sendLocalMD();
  await b.fetchRemoteMD('a');
  await sleepMs(100);
  await a.invalidateLocalMD();
  await a.sendLocalMD();
  await b.fetchRemoteMD('a');
  await sleepMs(1500);
  assert.deepEqual(evicted, []);
  assert.equal(b.checkRemoteMD('a'), NixlStatus.SUCCESS);
  await a.invalidateLocalMD();
  await until('the new withdrawal counts', LIMIT_MS, () => evicted.length === 1);
});

test('etcd: an answer from before a withdrawal that is known loads nobody', { skip }, async (t) => {
  const delay: WatchDelay = { requestMs: 0, answerMs: 0 };
  const { a, b, evicted } = await openPair(t, delay);
  await a.sendLocalMD();
  await b.fetchRemoteMD('a');
  await sleepMs(200);
  delay.readMs = 600;
  const late = b.fetchRemoteMD('a');
  await sleepMs(100);
  await a.invalidateLocalMD();
  await until('b forgets a', LIMIT_MS, () => evicted.length === 1);
  await assert.rejects(late);
  assert.deepEqual(evicted, ['a']);
  assert.equal(b.checkRemoteMD('a'), NixlStatus.ERR_NOT_FOUND);
});

test('etcd: a withdrawal that the standing watch has passed is found', { skip }, async (t) => {
  const { a, b, evicted } = await openPair(t, { requestMs: 0, answerMs: 0 });
  const [first, other] = [a, b];
  await first.sendLocalMD();
  await other.fetchRemoteMD('a');
  await sleepMs(200);
  // Withdrawn in the same turn as the fetch ends: the answer may hold what is gone already.
  for (let round = 1; round <= 20; round++) {
    await Promise.allSettled([other.fetchRemoteMD('a'), first.invalidateLocalMD()]);
    await until(
      `round ${round}`,
      LIMIT_MS,
      () => other.checkRemoteMD('a') === NixlStatus.ERR_NOT_FOUND,
    );
    assert.equal(evicted.length, round);
    await first.sendLocalMD();
    await other.fetchRemoteMD('a');
  }
});
