// Sessions one after another at one agent, thousands of them: what a session leaves behind shows as
// resident memory that goes on rising in the last half, when caches and heaps have their size. The
// agent collects its garbage before each look: what V8 has not taken back yet is left by nobody.

import { loadConfig } from '../../src/base/config.js';
import { silentLog } from '../../src/base/log.js';
import { fillPattern } from '../../src/base/pattern.js';
import { Engine } from '../../src/engine/engine.js';
import { openRawChannel, openRawSession } from '../support/raw-handshake.js';
import { drift, type SoakSample } from './soak-bounds.js';
import { type SoakAddress, SoakTarget } from './soak-target.js';

const SAMPLES = 100;
const MOVED_BYTES = 200_000;
/** Every so many sessions one is an engine's, which moves data; the others end without a word. */
const ENGINE_EVERY = 4;
const DRIFT_MAX = 0.05;

const SETTINGS = { 'nixl.listenPort': 0, 'log.level': 'error' } as const;

export interface SessionSoakReport {
  readonly schema: 'tcpx.soak-sessions/1';
  readonly ok: boolean;
  readonly broken: readonly string[];
  readonly sessions: number;
  readonly seconds: number;
  readonly idle: SoakSample;
  /** After every hundredth part of the sessions. */
  readonly rssBytes: readonly number[];
  /** Of the last quarter against the one before. */
  readonly rssDrift: number;
  readonly last: SoakSample;
}

export interface SessionSoakOptions {
  readonly sessions: number;
  onSample(sample: SoakSample, done: number): void;
}

export async function runSessionSoak(options: SessionSoakOptions): Promise<SessionSoakReport> {
  const target = new SoakTarget(MOVED_BYTES, SETTINGS, ['--expose-gc']);
  const config = loadConfig({ options: {}, environment: {} });
  const engine = await Engine.open({ name: 'one of many', config, log: silentLog });
  try {
    return await soakSessions(target, engine, options);
  } finally {
    await engine.close();
    await target.end();
  }
}

async function soakSessions(
  target: SoakTarget,
  engine: Engine,
  options: SessionSoakOptions,
): Promise<SessionSoakReport> {
  const { sessions } = options;
  const at = await target.address();
  const idle = await target.sample();
  const every = Math.ceil(sessions / SAMPLES);
  const samples: SoakSample[] = [];
  const memory = new Uint8Array(MOVED_BYTES);
  fillPattern(memory, 1);
  const local = engine.register(memory);
  const startMs = performance.now();
  for (let done = 1; done <= sessions; done++) {
    if (done % ENGINE_EVERY === 0) await moveOnce(engine, local, at);
    else await comeAndGo(at.port);
    if (done % every !== 0) continue;
    const sample = await target.sample();
    samples.push(sample);
    options.onSample(sample, done);
  }
  const last = await left(target, idle);
  const rssDrift = drift(samples);
  const broken = [
    ...(rssDrift > DRIFT_MAX ? [`resident memory rose by ${rssDrift} in the last half`] : []),
    ...(last.sessions > 0 ? [`${last.sessions} sessions are left`] : []),
    ...(last.descriptors > idle.descriptors ? [`${last.descriptors} descriptors are left`] : []),
  ];
  return {
    schema: 'tcpx.soak-sessions/1',
    ok: broken.length === 0,
    broken,
    sessions,
    seconds: (performance.now() - startMs) / 1000,
    idle,
    rssBytes: samples.map(({ rssBytes }) => rssBytes),
    rssDrift,
    last,
  };
}

async function moveOnce(
  engine: Engine,
  local: ReturnType<Engine['register']>,
  { port, region }: SoakAddress,
): Promise<void> {
  const session = await engine.connect('127.0.0.1', port);
  const place = { local, localOffset: 0, remote: region, remoteOffset: 0 };
  await session.write([{ ...place, bytes: MOVED_BYTES }]).done;
  await session.close();
}

async function comeAndGo(port: number): Promise<void> {
  const session = await openRawSession(port);
  const data = await openRawChannel(port, session);
  data.close();
  session.control.close();
}

// A session whose peer has gone without a word is kept for a while.
async function left(target: SoakTarget, idle: SoakSample): Promise<SoakSample> {
  for (let tries = 0; ; tries++) {
    const sample = await target.sample();
    const isBack = sample.sessions === 0 && sample.descriptors <= idle.descriptors;
    if (isBack || tries > 200) return sample;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
