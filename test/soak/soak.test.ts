// A short soak, and what it would notice.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runSoak } from './run-soak.js';
import { brokenBound, drift, growth, soakBounds } from './soak-bounds.js';

const MIB = 1024 * 1024;
const SECONDS = 12;

test('soak: hostile and honest peers together for some seconds break no bound', async () => {
  const report = await runSoak({ seconds: SECONDS, seed: 7, onSample: () => undefined });
  assert.deepEqual(report.broken, []);
  assert.ok(report.honestTransfers > 0, 'honest peers came through');
  for (const [name, times] of Object.entries(report.rounds)) assert.ok(times > 0, name);
});

test('soak: a sample beyond its settings names the bound that broke', () => {
  const settings = {
    'session.handshakesMax': 8,
    'session.peersMax': 1,
    'memory.readsBytes': MIB,
    'memory.sharedBytes': MIB,
    'flow.sendBytes': MIB,
    'nixl.inboxBytesMax': MIB,
    'nixl.listenerBytesMax': MIB,
    'nixl.listenerConnectionsMax': 8,
  };
  const idle = { rssBytes: 50 * MIB, queueBytes: 0, descriptors: 30, sessions: 0 };
  const bounds = soakBounds(settings, idle);
  assert.equal(brokenBound(idle, bounds), undefined);
  for (const name of ['rssBytes', 'queueBytes', 'descriptors'] as const) {
    const broken = brokenBound({ ...idle, [name]: bounds[name] + 1 }, bounds);
    assert.match(broken ?? '', new RegExp(`^${name}: \\d+, at most ${bounds[name]}$`));
  }
  const samples = [100, 101, 100, 126].map((mib) => ({ ...idle, rssBytes: mib * MIB }));
  assert.ok(Math.abs(growth(samples) - 25 / 101) < 1e-9);
  const late = [50, 60, 70, 80, 90, 95, 100, 101, 102, 104, 105, 108];
  const risen = drift(late.map((mib) => ({ ...idle, rssBytes: mib * MIB })));
  assert.ok(Math.abs(risen - 4 / 101) < 1e-9, 'what came before the last half is no matter');
});
