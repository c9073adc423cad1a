// A ping-pong from the initiator's side: both ends agree on its length, play it, and what it cost
// is told apart from the warm-up.

import { systemClock } from '../base/clock.js';
import { TcpxError } from '../base/errors.js';
import type { SettingValues } from '../base/settings.js';
import type { Engine, NicIntake, Region, RegionDescriptor, Session } from '../engine/internal.js';
import type { BenchMemory } from './bench-memory.js';
import type { BenchDialogue } from './bench-message.js';
import type { BenchMeter } from './bench-meter.js';
import { nothingMeasured } from './bench-run.js';
import { usageOf } from './end-usage.js';
import { createPingPongEnd, type MarkCounter, PING_SEED } from './ping-pong.js';
import { PingPongGame, playOut } from './ping-pong-game.js';

export interface PingPongRunOptions {
  readonly engine: Engine;
  readonly session: Session;
  readonly dialogue: BenchDialogue;
  readonly values: SettingValues;
  readonly marks: MarkCounter;
  readonly meter: BenchMeter;
  readonly memory: BenchMemory;
  readonly region: Region;
  /** The target's memory. */
  readonly remote: RegionDescriptor;
  readonly stop: AbortSignal | undefined;
  /** More memory like that of the run. */
  allocate(): BenchMemory;
  onWarm(): Promise<void>;
  onProgress(doneFraction: number, bytesPerSecond: number): void;
}

export interface PingPongRun {
  readonly isWhole: boolean;
  /** Of the measured turns: their part of all that were played. */
  readonly cpuUs: { readonly initiator: number; readonly target: number };
  readonly intake: {
    readonly before: readonly NicIntake[] | undefined;
    readonly after: readonly NicIntake[] | undefined;
  };
}

export async function playPingPong(options: PingPongRunOptions): Promise<PingPongRun> {
  const { engine, session, dialogue, values, meter, memory, region } = options;
  const timeoutMs = values['bench.deadlineMs'];
  const { bytes } = memory;
  const own = { memory, allocate: () => options.allocate() };
  const end = createPingPongEnd(engine, session, own, options.remote, options.marks);
  const count = values['bench.warmup'] + values['bench.iterations'];
  await options.onWarm();
  const look = { kind: 'prepare', seed: PING_SEED, isFill: false } as const;
  const prepared = await dialogue.ask(look, 'prepared', timeoutMs);
  const question = { kind: 'pong', region: region.descriptor, count, bytes } as const;
  await dialogue.ask(question, 'ponging', timeoutMs);
  const before = usageOf(engine, session);
  meter.startIntervals();
  const game = new PingPongGame(end, { count, isFirst: true, timeoutMs });
  const ended = await playOut(game, {
    isStopped: () => options.stop?.aborted === true,
    onSlice: (turn, halfTrips) => {
      const measured = halfTrips.slice(Math.max(0, values['bench.warmup'] - turn));
      const nowUs = systemClock.nowUs();
      for (const halfTrip of measured) meter.countHalfTrip(bytes, halfTrip, nowUs);
      options.onProgress((turn + halfTrips.length) / count, meter.lastRate);
    },
  });
  if (ended === 'lost') {
    const why = session.error?.message ?? `no pong in ${timeoutMs} ms`;
    throw new TcpxError('ERR_PEER_TIMEOUT', `pingpong with ${session.peer}: ${why}`);
  }
  if (meter.latencyUs.count === 0) throw nothingMeasured();
  const after = usageOf(engine, session);
  const last = { kind: 'check', seed: PING_SEED, isVerify: false } as const;
  const checked = await dialogue.ask(last, 'checked', timeoutMs);
  meter.receipt = end.settle(timeoutMs);
  if (end.isCheckable && values['bench.verify'] !== 'none') {
    meter.countVerified(memory.findMismatch(0, bytes, 0, PING_SEED));
  }
  const part = meter.latencyUs.count / game.turns;
  return {
    isWhole: ended === 'done',
    cpuUs: {
      initiator: part * (after.cpuUs - before.cpuUs),
      target: part * (checked.cpuUs - prepared.cpuUs),
    },
    intake: { before: before.intake, after: usageOf(engine, session).intake },
  };
}
