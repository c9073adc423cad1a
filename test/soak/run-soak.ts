// A soak: hostile and honest peers at one agent for a while, watched once a second. It is broken
// when the agent dies, holds more than its settings allow, lets an honest peer down or keeps
// something.

import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { sleepMs } from '../../src/base/clock.js';
import { loadConfig } from '../../src/base/config.js';
import { silentLog } from '../../src/base/log.js';
import { fillPattern } from '../../src/base/pattern.js';
import { type Random, seededRandom } from '../../src/base/random.js';
import { Engine } from '../../src/engine/engine.js';
import { ATTACKS, type Attack } from './soak-attacks.js';
import {
  brokenBound,
  growth,
  type SoakBounds,
  type SoakSample,
  soakBounds,
} from './soak-bounds.js';
import { type SoakAddress, SoakTarget } from './soak-target.js';

const MIB = 1024 * 1024;
const HONEST_MAIN = fileURLToPath(new URL('./soak-honest-main.js', import.meta.url));
const HONEST_BYTES = 200_000;
const SAMPLE_MS = 1000;
/** Of honest transfers among attackers on a busy machine. */
const HONEST_MS_MAX = 60_000;

/** Tight, so that a bound that does not hold shows in minutes. */
const SETTINGS = {
  'nixl.listenPort': 0,
  'nixl.inboxBytesMax': 32 * MIB,
  'nixl.inboxPeerBytesMax': 8 * MIB,
  'nixl.listenerBytesMax': 24 * MIB,
  'nixl.pushedPerHostMax': 200,
  'session.peersMax': 24,
  'session.handshakeTimeoutMs': 4000,
  'session.reconnectMs': 1500,
  'memory.readsBytes': 48 * MIB,
  'flow.sendBytes': 16 * MIB,
  'log.level': 'error',
} as const;

export interface SoakOptions {
  readonly seconds: number;
  readonly seed: number;
  onSample(sample: SoakSample): void;
}

export interface SoakReport {
  readonly schema: 'tcpx.soak/1';
  readonly ok: boolean;
  /** What broke; empty where all held. */
  readonly broken: readonly string[];
  readonly seconds: number;
  readonly seed: number;
  readonly bounds: SoakBounds;
  readonly idle: SoakSample;
  readonly highest: Omit<SoakSample, 'sessions'>;
  readonly last: SoakSample;
  /** How much more was resident in the second half than in the first, at most. */
  readonly rssGrowth: number;
  readonly rounds: Readonly<Record<string, number>>;
  readonly refused: number;
  readonly honestTransfers: number;
  readonly killed: number;
}

export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  const target = new SoakTarget(HONEST_BYTES, SETTINGS);
  try {
    return await new Soak(target, options).run();
  } finally {
    await target.end();
  }
}

class Soak {
  readonly #target: SoakTarget;
  readonly #options: SoakOptions;
  readonly #broken: string[] = [];
  readonly #samples: SoakSample[] = [];
  readonly #rounds: Record<string, number> = {};
  #endMs = Number.POSITIVE_INFINITY;
  #refused = 0;
  #honest = 0;
  #killed = 0;

  constructor(target: SoakTarget, options: SoakOptions) {
    this.#target = target;
    this.#options = options;
  }

  get #isOver(): boolean {
    return performance.now() > this.#endMs || this.#broken.length > 0;
  }

  async run(): Promise<SoakReport> {
    const { seconds, seed } = this.#options;
    const at = await this.#target.address();
    const idle = await this.#target.sample();
    const bounds = soakBounds(
      { ...loadConfig({ options: SETTINGS, environment: {} }).values },
      idle,
    );
    this.#endMs = performance.now() + seconds * 1000;
    await Promise.all([
      ...ATTACKS.map((attack, index) => this.#attack(attack, at, seededRandom(seed + index))),
      this.#moveHonestly(at),
      this.#killPeers(at, seededRandom(seed + ATTACKS.length)),
      this.#watch(bounds),
    ]);
    const last = await this.#settled(idle);
    const all = [idle, ...this.#samples];
    return {
      schema: 'tcpx.soak/1',
      ok: this.#broken.length === 0,
      broken: this.#broken,
      seconds,
      seed,
      bounds,
      idle,
      highest: {
        rssBytes: Math.max(...all.map(({ rssBytes }) => rssBytes)),
        queueBytes: Math.max(...all.map(({ queueBytes }) => queueBytes)),
        descriptors: Math.max(...all.map(({ descriptors }) => descriptors)),
      },
      last,
      rssGrowth: growth(this.#samples),
      rounds: this.#rounds,
      refused: this.#refused,
      honestTransfers: this.#honest,
      killed: this.#killed,
    };
  }

  // A refusal is the answer that is wanted of the target; that it lives and serves is watched
  // apart.
  async #attack({ name, round }: Attack, at: SoakAddress, random: Random): Promise<void> {
    this.#rounds[name] = 0;
    while (!this.#isOver) {
      try {
        await round(at, random);
      } catch {
        this.#refused++;
      }
      this.#rounds[name] = (this.#rounds[name] ?? 0) + 1;
      await sleepMs(20);
    }
  }

  async #moveHonestly(at: SoakAddress): Promise<void> {
    const config = loadConfig({ options: {}, environment: {} });
    const engine = await Engine.open({ name: 'honest', config, log: silentLog });
    const memory = new Uint8Array(HONEST_BYTES);
    const local = engine.register(memory);
    const remote = at.region;
    const block = { local, localOffset: 0, remote, remoteOffset: 0, bytes: HONEST_BYTES };
    let missedMs = performance.now();
    while (!this.#isOver) {
      try {
        const session = await engine.connect('127.0.0.1', at.port);
        fillPattern(memory, this.#honest + 1);
        const expected = memory.slice();
        await session.write([block]).done;
        memory.fill(0);
        await session.read([block]).done;
        if (Buffer.compare(memory, expected) !== 0) this.#broken.push('an honest read is wrong');
        await session.close();
        this.#honest++;
        missedMs = performance.now();
      } catch (error) {
        // Sessions are taken by others at times; but not for long.
        if (performance.now() - missedMs > HONEST_MS_MAX) {
          this.#broken.push(`no honest transfer in ${HONEST_MS_MAX} ms: ${String(error)}`);
        }
      }
      await sleepMs(100);
    }
    await engine.close();
  }

  async #killPeers(at: SoakAddress, random: Random): Promise<void> {
    const { port, scratch } = at;
    const argument = JSON.stringify({ port, region: scratch, bytes: HONEST_BYTES });
    while (!this.#isOver) {
      const child = spawn(process.execPath, [HONEST_MAIN, argument], { stdio: 'ignore' });
      await sleepMs(random.nextBetween(500, 2500));
      if (random.nextChance(0.5)) {
        child.kill('SIGSTOP');
        await sleepMs(random.nextBetween(100, 2500));
        child.kill('SIGCONT');
      }
      await killed(child);
      this.#killed++;
    }
  }

  async #watch(bounds: SoakBounds): Promise<void> {
    while (!this.#isOver) {
      await sleepMs(SAMPLE_MS);
      if (!this.#target.isAlive) {
        this.#broken.push('the target has died');
        return;
      }
      const sample = await this.#target.sample();
      this.#samples.push(sample);
      this.#options.onSample(sample);
      const broken = brokenBound(sample, bounds);
      if (broken !== undefined) this.#broken.push(broken);
    }
  }

  /** What is left once everybody has gone; what stays beyond is a leak. */
  async #settled(idle: SoakSample): Promise<SoakSample> {
    for (let tries = 0; ; tries++) {
      const sample = await this.#target.sample();
      const isBack = sample.sessions === 0 && sample.descriptors <= idle.descriptors;
      if (isBack) return sample;
      if (tries > 200) {
        const what = `${sample.sessions} sessions, ${sample.descriptors} descriptors`;
        this.#broken.push(`left behind: ${what}, ${idle.descriptors} before`);
        return sample;
      }
      await sleepMs(100);
    }
  }
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGKILL');
  await exited;
}
