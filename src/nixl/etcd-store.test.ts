// Metadata through a real etcd server on loopback, started by the test.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { EtcdServer, etcdSkipReason } from '../../test/support/etcd-server.js';
import { openMockAgent, piecesOf, regionOf } from '../../test/support/mock-agents.js';
import { MockNetwork } from '../../test/support/mock-network.js';
import { until } from '../../test/support/until.js';
import { sleepMs } from '../base/clock.js';
import { type ErrorCode, isTcpxError } from '../base/errors.js';
import { silentLog } from '../base/log.js';
import { EtcdClient, prefixEnd } from './etcd-client.js';
import { EtcdWatch } from './etcd-watch.js';
import { NixlStatus } from './status.js';

const S = NixlStatus;
const skip = etcdSkipReason() ?? false;
const LIMIT_MS = 20_000;

interface StoreSettings {
  readonly leaseSeconds?: number;
  readonly watchTimeoutMs?: number;
}

function using(
  server: EtcdServer,
  { leaseSeconds = 30, watchTimeoutMs = 300 }: StoreSettings = {},
) {
  return {
    settings: {
      'nixl.etcdEndpoints': server.url,
      'nixl.etcdLeaseSeconds': leaseSeconds,
      'nixl.etcdWatchTimeoutMs': watchTimeoutMs,
    },
  };
}

async function openWorld(t: TestContext) {
  const server = await EtcdServer.start(t);
  return { server, network: new MockNetwork(), client: new EtcdClient([server.url], 5000) };
}

async function rejectsCode(promise: Promise<unknown>, code: ErrorCode): Promise<void> {
  await assert.rejects(promise, (error) => isTcpxError(error, code), code);
}

test('etcd: NIXL’s keys, raw blobs, fetch by label', { skip }, async (t) => {
  const { server, network, client } = await openWorld(t);
  const a = await openMockAgent(t, network, 'agentA', using(server));
  const b = await openMockAgent(t, network, 'agentB', using(server));
  await a.agent.sendLocalMD();
  await a.agent.sendLocalPartialMD(regionOf(a.memory), { metadataLabel: 'part1' });
  assert.deepEqual(await client.keys('/nixl/agents//agentA/'), [
    '/nixl/agents//agentA/',
    '/nixl/agents//agentA/metadata',
    '/nixl/agents//agentA/part1',
  ]);
  const stored = await client.get('/nixl/agents//agentA/metadata');
  assert.deepEqual(stored.value, Buffer.from(a.agent.getLocalMD()));
  assert.equal((await client.get('/nixl/agents//agentA/')).value?.length, 0);
  await b.agent.fetchRemoteMD('agentA');
  assert.equal(b.agent.checkRemoteMD('agentA', piecesOf(a.memory, [0, 8])), S.SUCCESS);
  await b.agent.fetchRemoteMD('agentA', { metadataLabel: 'part1' });
});

test('etcd: a fetch waits for a key that comes later, and gives up in time', {
  skip,
}, async (t) => {
  const { server, network } = await openWorld(t);
  const a = await openMockAgent(t, network, 'a', using(server));
  const b = await openMockAgent(t, network, 'b', using(server, { watchTimeoutMs: 5000 }));
  const fetching = b.agent.fetchRemoteMD('a');
  await sleepMs(200);
  const startMs = performance.now();
  await a.agent.sendLocalMD();
  await fetching;
  assert.ok(performance.now() - startMs < 2000, 'by watching, not by waiting out the time');
  const impatient = await openMockAgent(t, network, 'c', using(server, { watchTimeoutMs: 100 }));
  await rejectsCode(impatient.agent.fetchRemoteMD('nobody'), 'ERR_USAGE_NOT_FOUND');
});

test('etcd: metadata stored under another agent’s name is refused', { skip }, async (t) => {
  const { server, network, client } = await openWorld(t);
  const a = await openMockAgent(t, network, 'a', using(server));
  const b = await openMockAgent(t, network, 'b', using(server));
  await client.put('/nixl/agents//victim/metadata', a.agent.getLocalMD(), undefined);
  await rejectsCode(b.agent.fetchRemoteMD('victim'), 'ERR_WIRE_METADATA');
  assert.equal(b.agent.checkRemoteMD('a'), S.ERR_NOT_FOUND);
  await rejectsCode(openMockAgent(t, network, 'a/b', using(server)), 'ERR_USAGE_ARGUMENT');
});

test('etcd: withdrawing removes the keys and peers forget the agent', { skip }, async (t) => {
  const { server, network, client } = await openWorld(t);
  const evicted: string[] = [];
  const a = await openMockAgent(t, network, 'a', using(server));
  const options = { ...using(server), onPeerEvicted: (name: string) => evicted.push(name) };
  const b = await openMockAgent(t, network, 'b', options);
  await a.agent.sendLocalMD();
  await b.agent.fetchRemoteMD('a');
  await a.agent.invalidateLocalMD();
  await until('b forgets a', LIMIT_MS, () => b.agent.checkRemoteMD('a') === S.ERR_NOT_FOUND);
  assert.deepEqual(evicted, ['a']);
  assert.deepEqual(await client.keys('/nixl/agents//a/'), []);
  // Publishing again brings the anchor back, and watching works again.
  await a.agent.sendLocalMD();
  assert.equal((await client.keys('/nixl/agents//a/')).length, 2);
  await b.agent.fetchRemoteMD('a');
  await a.agent.invalidateLocalMD();
  await until('b forgets a again', LIMIT_MS, () => evicted.length === 2);
});

test('etcd: keys die with the agent: at close, and by the lease when it crashes', {
  skip,
}, async (t) => {
  const { server, network, client } = await openWorld(t);
  const keys = () => client.keys('/nixl/agents//');
  const a = await openMockAgent(t, network, 'a', using(server));
  await a.agent.sendLocalMD();
  await a.agent.close();
  assert.deepEqual(await keys(), []);
  // A crash: keys on a lease that nobody keeps alive.
  const b = await openMockAgent(t, network, 'b', using(server));
  const lease = await client.grantLease(1);
  const dead = await openMockAgent(t, network, 'dead', using(server, { leaseSeconds: 0 }));
  await client.put('/nixl/agents//dead/', new Uint8Array(0), lease);
  await client.put('/nixl/agents//dead/metadata', dead.agent.getLocalMD(), lease);
  await b.agent.fetchRemoteMD('dead');
  await until(
    'the lease runs out',
    LIMIT_MS,
    () => b.agent.checkRemoteMD('dead') === S.ERR_NOT_FOUND,
  );
});

test('etcd: a name that a living agent holds is refused, and its keys stay', {
  skip,
}, async (t) => {
  const { server, network, client } = await openWorld(t);
  const a = await openMockAgent(t, network, 'agentA', using(server, { leaseSeconds: 3 }));
  await a.agent.sendLocalMD();
  const again = openMockAgent(t, network, 'agentA', using(server, { leaseSeconds: 3 }));
  await assert.rejects(again, /agentA.* is taken: another agent holds it in etcd/);
  const keys = ['/nixl/agents//agentA/', '/nixl/agents//agentA/metadata'];
  assert.deepEqual(await client.keys('/nixl/agents//agentA/'), keys);
});

test('etcd: the name of an agent that died is free once it has missed its time', {
  skip,
}, async (t) => {
  const { server, network, client } = await openWorld(t);
  const lease = await client.grantLease(4);
  await client.put('/nixl/agents//agentA/', new Uint8Array(0), lease);
  const a = await openMockAgent(t, network, 'agentA', using(server));
  await a.agent.sendLocalMD();
  await sleepMs(4500);
  const keys = ['/nixl/agents//agentA/', '/nixl/agents//agentA/metadata'];
  assert.deepEqual(await client.keys('/nixl/agents//agentA/'), keys);
});

test('etcd: without a lease keys stay after close, as NIXL leaves them', { skip }, async (t) => {
  const { server, network, client } = await openWorld(t);
  const a = await openMockAgent(t, network, 'a', using(server, { leaseSeconds: 0 }));
  await a.agent.sendLocalMD();
  await a.agent.close();
  assert.equal((await client.keys('/nixl/agents//a/')).length, 2);
});

test('etcd: the lease is kept alive beyond its time', { skip }, async (t) => {
  const { server, network, client } = await openWorld(t);
  const a = await openMockAgent(t, network, 'a', using(server, { leaseSeconds: 2 }));
  await a.agent.sendLocalMD();
  await sleepMs(5000);
  assert.equal((await client.keys('/nixl/agents//a/')).length, 2);
});

test('etcd: a lost lease is noticed and everything published anew', { skip }, async (t) => {
  const { server, network, client } = await openWorld(t);
  const a = await openMockAgent(t, network, 'a', using(server, { leaseSeconds: 2 }));
  await a.agent.sendLocalMD();
  const response = await fetch(`${server.url}/v3/lease/leases`, { method: 'POST', body: '{}' });
  const { leases } = (await response.json()) as { leases: { ID: string }[] };
  for (const { ID } of leases) await client.revokeLease(ID);
  assert.deepEqual(await client.keys('/nixl/agents//a/'), []);
  const isBack = async () => (await client.keys('/nixl/agents//a/')).length === 2;
  await until('the keys come back', LIMIT_MS, isBack);
});

test('etcd: a restart of the server in mid-run is survived', { skip }, async (t) => {
  const { server, network, client } = await openWorld(t);
  const a = await openMockAgent(t, network, 'a', using(server));
  const b = await openMockAgent(t, network, 'b', using(server, { watchTimeoutMs: 15_000 }));
  await a.agent.sendLocalMD();
  await b.agent.fetchRemoteMD('a');
  const c = await openMockAgent(t, network, 'c', using(server));
  // A fetch that is waiting, a publish under way and a watch on a: all see the server go and come.
  const fetching = b.agent.fetchRemoteMD('c');
  await sleepMs(100);
  await server.stop();
  const publishing = c.agent.sendLocalMD();
  await sleepMs(300);
  await server.start();
  await publishing;
  await fetching;
  assert.equal(b.agent.checkRemoteMD('c'), S.SUCCESS);
  assert.equal((await client.keys('/nixl/agents//a/')).length, 2, 'a’s keys outlive the restart');
  await a.agent.invalidateLocalMD();
  await until('the watch goes on', LIMIT_MS, () => b.agent.checkRemoteMD('a') === S.ERR_NOT_FOUND);
});

test('etcd: a deletion during the outage of a watch is not missed', { skip }, async (t) => {
  const { server, network, client } = await openWorld(t);
  const a = await openMockAgent(t, network, 'a', using(server, { leaseSeconds: 0 }));
  const b = await openMockAgent(t, network, 'b', using(server));
  await a.agent.sendLocalMD();
  await b.agent.fetchRemoteMD('a');
  await sleepMs(100);
  await server.stop();
  await server.start();
  await client.deletePrefix('/nixl/agents//a/');
  await until('b hears of it', LIMIT_MS, () => b.agent.checkRemoteMD('a') === S.ERR_NOT_FOUND);
});

test('etcd: a watch whose revisions were compacted away says so and goes on', {
  skip,
}, async (t) => {
  const { server, client } = await openWorld(t);
  for (let round = 0; round < 5; round++) await client.put('/w/k', Buffer.from('v'), undefined);
  const { revision } = await client.get('/w/k');
  const body = JSON.stringify({ revision: String(revision) });
  await fetch(`${server.url}/v3/kv/compaction`, { method: 'POST', body });
  const seen: string[] = [];
  const watch = new EtcdWatch({
    client,
    key: '/w/',
    isPrefix: true,
    fromRevision: 1n,
    log: silentLog,
    onEvent: (event) => seen.push(`${event.kind} ${event.key}`),
    onGap: () => seen.push('gap'),
  });
  t.after(() => watch.close());
  await until('the gap is told', LIMIT_MS, () => seen.includes('gap'));
  await client.put('/w/later', Buffer.from('v'), undefined);
  await until('and what comes later is seen', LIMIT_MS, () => seen.includes('put /w/later'));
});

test('etcd: the second endpoint is used when the first is dead', { skip }, async (t) => {
  const { server, network } = await openWorld(t);
  const endpoints = `http://127.0.0.1:1, ${server.url}/`;
  const { settings } = using(server);
  const options = { settings: { ...settings, 'nixl.etcdEndpoints': endpoints } };
  const a = await openMockAgent(t, network, 'a', options);
  const b = await openMockAgent(t, network, 'b', options);
  await a.agent.sendLocalMD();
  await b.agent.fetchRemoteMD('a');
  await a.agent.invalidateLocalMD();
  await until(
    'watching works as well',
    LIMIT_MS,
    () => b.agent.checkRemoteMD('a') === S.ERR_NOT_FOUND,
  );
});

test('etcd: endpoints that are no URLs are refused', async (t) => {
  const settings = { 'nixl.etcdEndpoints': 'localhost:2379' };
  const opening = openMockAgent(t, new MockNetwork(), 'a', { settings });
  await rejectsCode(opening, 'ERR_CONFIG_VALUE');
});

test('etcd: the end of a prefix is the first key beyond it', () => {
  assert.equal(prefixEnd('/a/').toString(), '/a0');
  assert.deepEqual(prefixEnd('\u007f'), Buffer.from([0x80]));
});
