// One real engine, in a process of its own, attacked over sockets. Throughout it lives, lets honest
// peers through, keeps every byte that is not granted, and holds no more than before.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { sleepMs } from '../../src/base/clock.js';
import { loadConfig } from '../../src/base/config.js';
import { silentLog } from '../../src/base/log.js';
import { fillPattern } from '../../src/base/pattern.js';
import { Engine } from '../../src/engine/engine.js';
import type { RegionDescriptor } from '../../src/memory/region.js';
import { ControlKind } from '../../src/wire/control-frame.js';
import {
  breakSessions,
  floodConnections,
  floodFrames,
  SlowLoris,
  sendMalformed,
} from '../support/attacks.js';
import { RawPeer } from '../support/raw-peer.js';
import { until } from '../support/until.js';
import { HostileTarget, type Resources } from './hostile-target.js';

const BYTES = 1_000_000;
const SECRET = 'the secret of the one that is attacked';
const secret = new TextEncoder().encode(SECRET);
const SETTINGS = {
  'trust.secret': SECRET,
  'session.handshakeTimeoutMs': 2000,
  'session.connectTimeoutMs': 4000,
  'session.reconnectMs': 500,
} as const;
const FRAMES = 1_000_000;
/**
 * What a process may keep of an attack: a collector that has grown its heap, caches. A hundredth of
 * what it would keep if each frame, connection or session left something.
 */
const MIB = 1024 * 1024;
const SLACK_BYTES = {
  heapUsed: 16 * MIB,
  arrayBuffers: 16 * MIB,
  mappedBytes: 96 * MIB,
  rss: 96 * MIB,
} as const;

const target = new HostileTarget(BYTES, SETTINGS);
let client: Engine;
let port = 0;
let descriptor: RegionDescriptor;
let seed = 100;

before(async () => {
  ({ port, descriptor } = await target.answer());
  const config = loadConfig({ options: SETTINGS, environment: {} });
  client = await Engine.open({ name: 'honest', config, log: silentLog });
});

after(async () => {
  await client.close();
  assert.equal(await target.end(), 0, 'the target ends as it should');
});

/** A session, a write of everything and a read back, checked at both ends. */
async function transferHonestly(at = { port, descriptor, target }): Promise<number> {
  const startMs = performance.now();
  seed++;
  const memory = new Uint8Array(BYTES);
  fillPattern(memory, seed);
  const local = client.register(memory);
  const session = await client.connect('127.0.0.1', at.port);
  const blocks = [{ local, localOffset: 0, remote: at.descriptor, remoteOffset: 0, bytes: BYTES }];
  await session.write(blocks).done;
  const { mismatchAt, isWhole } = await at.target.ask(`check ${seed}`);
  assert.equal(mismatchAt, -1, 'what was written is there');
  assert.ok(isWhole, 'and nothing around it has changed');
  memory.fill(0);
  await session.read(blocks).done;
  const expected = new Uint8Array(BYTES);
  fillPattern(expected, seed);
  assert.ok(Buffer.from(memory.buffer).equals(expected), 'and comes back');
  await session.close();
  await client.deregister(local, 1000);
  return performance.now() - startMs;
}

async function settled(before?: Resources, of = target): Promise<Resources> {
  for (let tries = 0; ; tries++) {
    const { resources } = await of.ask('resources');
    const isBack = before === undefined || resources.descriptors <= before.descriptors;
    if ((isBack && resources.sessions === 0) || tries > 100) return resources;
    await sleepMs(50);
  }
}

/** Runs an attack between two honest transfers, and compares what the target holds. */
async function survive(attack: () => Promise<void>): Promise<void> {
  await transferHonestly();
  const before = await settled();
  await attack();
  assert.ok(target.isAlive, 'the target lives');
  await transferHonestly();
  const after = await settled(before);
  assert.equal(after.sessions, 0);
  assert.equal(after.descriptors, before.descriptors, 'descriptors');
  for (const [part, slackBytes] of Object.entries(SLACK_BYTES)) {
    const grown =
      after[part as keyof typeof SLACK_BYTES] - before[part as keyof typeof SLACK_BYTES];
    assert.ok(grown < slackBytes, `${part} grew by ${grown} bytes`);
  }
}

test('attack: truncated, oversized, out of turn, unproved and random openings', async () => {
  await survive(async () => {
    const seen = await sendMalformed(port, 7);
    for (const code of ['ERR_WIRE_LIMIT', 'ERR_WIRE_MAGIC', 'ERR_WIRE_STATE', 'ERR_WIRE_FRAME']) {
      assert.ok((seen.get(code) ?? 0) > 0, `${code} among ${[...seen.keys()].join()}`);
    }
    assert.ok(![...seen.keys()].includes('kind 4'), 'nobody was accepted');
  });
});

test('attack: a slow loris keeps nobody out', async () => {
  await survive(async () => {
    const loris = new SlowLoris();
    for (let round = 0; round < 3; round++) {
      await loris.open(port, 400);
      const tookMs = await transferHonestly();
      assert.ok(tookMs < SETTINGS['session.connectTimeoutMs'], `${tookMs} ms in round ${round}`);
    }
    assert.ok(loris.openCount <= 256, `${loris.openCount} are held open at a time`);
    await sleepMs(SETTINGS['session.handshakeTimeoutMs'] + 500);
    assert.equal(loris.openCount, 0, 'none outlives the time for a handshake');
    loris.close();
  });
});

test('attack: a flood of connections, with an honest transfer in its midst', async () => {
  await survive(async () => {
    const flood = floodConnections(port, 4000);
    await transferHonestly();
    await flood;
  });
});

test('attack: sessions of a peer with the secret that break the rules', async () => {
  await survive(() => breakSessions(port, secret, descriptor, 60));
});

test('attack: a million tiny frames, some of them refused, keep nobody out', async (t) => {
  const { descriptor: scratch } = await target.ask('region');
  await survive(async () => {
    const flood = floodFrames(port, secret, scratch, FRAMES);
    await transferHonestly();
    const { landed, seconds } = await flood;
    assert.equal(landed, FRAMES, 'every frame was taken');
    assert.ok(seconds < 60, `${seconds} s`);
    t.diagnostic(`${FRAMES} frames in ${seconds.toFixed(1)} s`);
  });
  const { resources } = await target.ask('resources');
  assert.ok(resources.warnings < 5000, `${resources.warnings} lines in the log`);
});

/** Loading modules takes some tens at a time. */
const DESCRIPTORS = 160;

/** Connections to the port whose peer has closed and that this end keeps. */
function closeWaits(at: number): number {
  const port = at.toString(16).toUpperCase().padStart(4, '0');
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  return lines.filter((line) => new RegExp(`^ *\\d+: \\w+:${port} \\w+:\\w+ 08 `).test(line))
    .length;
}

test('attack: out of descriptors a listener rests, and serves again afterwards', async () => {
  const poor = new HostileTarget(BYTES, SETTINGS, DESCRIPTORS);
  const { port: poorPort, descriptor: poorRegion } = await poor.answer();
  const loris = new SlowLoris();
  await loris.open(poorPort, 2 * DESCRIPTORS);
  await sleepMs(300);
  const told = await RawPeer.connect(poorPort);
  const refusal = await told.next();
  assert.ok(refusal?.kind === ControlKind.Refuse && refusal.code === 'ERR_SYS_DESCRIPTORS');
  loris.close();
  await until('nobody who has gone is kept', 5000, () => closeWaits(poorPort) === 0);
  const { resources } = await poor.ask('resources');
  assert.ok(resources.codes.includes('ERR_SYS_DESCRIPTORS'), 'the log names the cause');
  await transferHonestly({ port: poorPort, descriptor: poorRegion, target: poor });
  assert.equal(await poor.end(), 0);
});
