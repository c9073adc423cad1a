// What a seed stands for: how many machines, how the network behaves, which accidents happen.

import { type Random, seededRandom } from '../../../src/base/random.js';
import type { PluginRules } from './sim-fabric.js';
import type { WorkRules } from './sim-work.js';

export interface SimPlan {
  readonly seed: number;
  readonly machines: number;
  readonly lanes: number;
  readonly channels: number;
  readonly windowChunks: number;
  readonly chunkBytes: number;
  readonly paths: number;
  readonly delayUs: number;
  readonly jitterUs: number;
  readonly callBytesMax: number;
  readonly wholeChance: number;
  readonly blockChance: number;
  readonly pipeBytes: number;
  readonly transfers: number;
  readonly activeMax: number;
  readonly work: WorkRules;
  /** No accident that a session may notice: nothing may fail, no channel may be given up. */
  readonly isCalm: boolean;
  readonly faults: number;
  /** No other accidents than peers that let go of data slowly, or of none. */
  readonly isMean: boolean;
  /** A fault comes in one of so many rounds. */
  readonly faultRounds: number;
  readonly limits: {
    readonly stallMs: number;
    readonly reconnectMs: number;
    readonly controlTimeoutMs: number;
    readonly progressMs: number;
    readonly minRate: number;
  };
  readonly duplicateChance: number;
  readonly isChecked: boolean;
  readonly receiveBytes: number;
  /** How often a byte of payload is damaged on its way. */
  readonly flipChance: number;
  readonly hasSecret: boolean;
  /** How often somebody changes a frame of a greeting that is made amid accidents. */
  readonly tamperChance: number;
  /** Machines have a plugin, and sessions matched carriers. */
  readonly plugin: PluginPlan | undefined;
  /** More that happens to plugins, in some of those runs. */
  readonly variety: PluginVariety | undefined;
}

export interface PluginVariety {
  /** The machine that has no plugin, where one has none. */
  readonly plain: string | undefined;
}

export interface PluginPlan extends PluginRules {
  /** engine.provider is tcpx, not auto. */
  readonly isFirm: boolean;
  readonly isPaced: boolean;
  readonly gatherBytes: number;
  readonly channels: number;
  /** Regions whose memory a process does not reach itself. */
  readonly stagedChance: number;
  readonly deadlineMs: number;
}

/** What is asked of a session, unless its plan cannot reach it. */
export const MIN_RATE = 64 * 1024;
/** One-way delays of a chunk and its acknowledgement, with what the ends take. */
const TURNS = 4;
const BLOCKED_US = 100_000;
/** Of the generator that varieties are drawn from, apart; the kept seeds of a test have none. */
const VARIETY_SEEDS = 0x5ef2_0000;

export function planOf(seed: number): SimPlan {
  const random = seededRandom(seed * 2 + 1);
  const isCalm = random.nextChance(0.2);
  const isTiny = random.nextChance(0.1);
  const isFlood = random.nextChance(0.03);
  const isChecked = random.nextChance(0.4);
  const flipChance = isChecked && random.nextChance(0.5) ? 0.02 : 0;
  const plan: SimPlan = {
    seed,
    machines: random.nextChance(0.6) ? 2 : random.nextBetween(3, 4),
    lanes: random.nextBetween(1, 2),
    channels: random.nextBetween(1, 4),
    windowChunks: random.nextBetween(1, 8),
    chunkBytes: 2 ** random.nextBetween(8, 11),
    paths: random.nextBetween(1, 3),
    delayUs: pick(random, [5, 50, 500, 5000]),
    jitterUs: pick(random, [0, 50, 1000]),
    callBytesMax: isTiny ? random.nextBetween(1, 40) : pick(random, [300, 2000, 8000]),
    wholeChance: isTiny ? 0.3 : pick(random, [0.3, 0.7, 1]),
    blockChance: pick(random, [0, 0.05, 0.3]),
    pipeBytes: pick(random, [1500, 4096, 16384]),
    transfers: random.nextBetween(6, isTiny ? 8 : 40),
    activeMax: random.nextBetween(1, 6),
    work: { ...workOf(random, isCalm, isFlood), hasDamage: flipChance > 0 },
    isCalm,
    faults: isCalm ? random.nextBetween(0, 3) : random.nextBetween(1, 9),
    isMean: !isCalm && random.nextChance(0.05),
    faultRounds: pick(random, [4, 15, 60, 150]),
    limits: {
      stallMs: 200,
      reconnectMs: pick(random, [2000, 5000]),
      controlTimeoutMs: 3000,
      progressMs: 3000,
      minRate: MIN_RATE,
    },
    duplicateChance: 0.3,
    isChecked,
    receiveBytes: pick(random, [1024, 8192, 1e9]),
    flipChance,
    hasSecret: random.nextChance(0.8),
    tamperChance: random.nextChance(0.3) ? 0.2 : 0,
    plugin: random.nextChance(0.4) ? pluginOf(random, isCalm) : undefined,
    variety: undefined,
  };
  const limits = { ...plan.limits, minRate: reachableRate(plan) };
  return { ...plan, limits, variety: varietyOf(plan) };
}

// A small window on a long way cannot be fast: nobody would ask that much of it.
function reachableRate(plan: SimPlan): number {
  // Sockets that are full for no reason are looked at again by the clock alone.
  const blockedUs = plan.blockChance > 0 ? BLOCKED_US : 0;
  const roundTripSeconds = (TURNS * (plan.delayUs + plan.jitterUs) + blockedUs) / 1e6;
  // Sockets that take few bytes at a time take that many each time they are looked at.
  const turnBytes = Math.min(plan.windowChunks * plan.chunkBytes, plan.callBytesMax);
  return Math.max(1, Math.min(MIN_RATE, Math.floor(turnBytes / roundTripSeconds / 4)));
}

/** The same with a plugin on every machine. */
export function withPlugin(plan: SimPlan): SimPlan {
  const plugin = plan.plugin ?? pluginOf(seededRandom(plan.seed), plan.isCalm);
  return { ...plan, plugin, variety: undefined };
}

// Where all others insist on the plugin, one that has none is left alone: not the first, then.
function varietyOf({ seed, plugin, machines }: SimPlan): PluginVariety | undefined {
  const random = seededRandom(VARIETY_SEEDS + seed);
  if (plugin === undefined || !random.nextChance(0.5)) return undefined;
  const hasPlain = random.nextChance(0.5) && (machines > 2 || !plugin.isFirm);
  const index = random.nextBetween(plugin.isFirm ? 1 : 0, machines - 1);
  return { plain: hasPlain ? `m${index}` : undefined };
}

function pluginOf(random: Random, isCalm: boolean): PluginPlan {
  const delayUs = (): number => pick(random, [5, 100, 2000]);
  return {
    isFirm: random.nextChance(0.4),
    isPaced: random.nextChance(0.4),
    gatherBytes: pick(random, [0, 200, 256]),
    channels: random.nextBetween(1, 4),
    stagedChance: pick(random, [0, 0.3, 1]),
    deadlineMs: isCalm ? 60_000 : pick(random, [4000, 12_000]),
    delays: {
      command: delayUs(),
      post: delayUs(),
      wire: delayUs(),
      unpack: delayUs(),
      start: pick(random, [100, 50_000]),
    },
  };
}

function workOf(random: Random, isCalm: boolean, isFlood: boolean): Omit<WorkRules, 'hasDamage'> {
  return {
    cellsMax: random.nextBetween(1, 10),
    notifyBytesMax: isFlood ? 64_000 : 2000,
    badChance: random.nextChance(0.5) ? 0.15 : 0,
    cancelChance: random.nextChance(0.4) ? 0.01 : 0,
    deadlineChance: !isCalm && random.nextChance(0.3) ? 0.3 : 0,
    againChance: 0.3,
  };
}

export function pick<T>(random: Random, choices: readonly T[]): T {
  const choice = choices[random.nextBetween(0, choices.length - 1)];
  if (choice === undefined) throw new Error('nothing to choose from');
  return choice;
}
