// One benchmark from connect to result, whichever way the target was started.

import { assert } from '../base/assert.js';
import type { Config } from '../base/config.js';
import { TcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { type ChannelCounters, Engine, judgeDevmem, type Session } from '../engine/internal.js';
import { withPluginWindows } from '../engine/tuning.js';
import { BenchInitiator } from './bench-initiator.js';
import {
  BenchDialogue,
  type BenchReport,
  decodeBenchMessage,
  encodeBenchMessage,
} from './bench-message.js';
import type { BenchResult } from './bench-result.js';
import type { BenchRun } from './bench-run.js';
import { gpuOf } from './bench-service.js';
import { readHostFacts } from './host-facts.js';
import type { BenchInterval } from './interval-meter.js';
import { channelDelta, hostDelta, kernelDelta, readKernelCounters } from './kernel-delta.js';
import { lanePausesOf, pausesBetween } from './lane-pauses.js';
import { measuredPath } from './measured-path.js';
import { MarkCounter } from './ping-pong.js';
import { warningsOf } from './result-warnings.js';
import type { SampleSeries } from './samples.js';
import type { Spread } from './statistics.js';
import type { Turns } from './turns.js';

const COUNT_TIMEOUT_MS = 10_000;

export interface BenchSessionOptions {
  readonly config: Config;
  readonly log: Log;
  readonly host: string;
  readonly port: number;
  /** Where others take turns with this one. */
  readonly turns?: Turns | undefined;
  /** False where others have their turns on this thread; true by default: waking costs time. */
  readonly mayBlock?: boolean;
  /** Ends the run early; the result says so. */
  readonly stop?: AbortSignal | undefined;
  /** `channels` asks the kernel what each connection has moved. */
  onProgress(
    doneFraction: number,
    bytesPerSecond: number,
    channels: () => readonly ChannelCounters[],
  ): void;
  /** It failed, and this had been measured. */
  onPartial?(result: BenchResult): void;
  onInterval?(interval: BenchInterval): void;
  /** Warm-up is over: measuring begins when this is done. */
  onWarm?(): Promise<void>;
}

export async function runBench(options: BenchSessionOptions): Promise<BenchResult> {
  const { log } = options;
  const config = measuredPath(options.config);
  let dialogue: BenchDialogue | undefined;
  let initiator: BenchInitiator | undefined;
  const marks = new MarkCounter();
  const engine = await Engine.open({
    name: 'bench-initiator',
    config,
    log,
    ...gpuOf(config),
    onNotification: ({ bytes }) => {
      if (!marks.take(bytes)) dialogue?.receive(decodeBenchMessage(bytes));
    },
  });
  try {
    const session = await engine.connect(options.host, options.port);
    const talk = new BenchDialogue((message) => {
      void session.notify(encodeBenchMessage(message));
    });
    dialogue = talk;
    void session.closed.then(() => {
      talk.fail(session.error ?? new TcpxError('ERR_PEER_LOST', `${session.peer}: session ended`));
    });
    let before: Counted | undefined;
    initiator = new BenchInitiator({
      engine,
      session,
      dialogue,
      values: config.values,
      marks,
      turns: options.turns,
      mayBlock: options.mayBlock ?? true,
      onWarm: async () => {
        await talk.ask({ kind: 'begin' }, 'begun', config.values['bench.deadlineMs']);
        await options.onWarm?.();
        before = await countBoth(engine, session, talk);
      },
      stop: options.stop,
      onProgress: (fraction, rate) =>
        options.onProgress(fraction, rate, () => session.kernelCounters()),
      onInterval: (interval) => options.onInterval?.(interval),
    });
    const measuring = initiator;
    const run = await engine.drive(measuring.run()).catch((error: unknown) => {
      // A post may meet the loss of the session before its transfers do.
      const reason: unknown = session.error ?? error;
      const soFar = measuring.soFar();
      if (soFar !== undefined) options.onPartial?.(partialOf(engine, session, soFar, reason));
      throw reason;
    });
    const after = await engine.drive(countBoth(engine, session, talk));
    assert(before !== undefined, 'a run says when it is warm');
    const report = reportOf(config, run);
    await session.notify(encodeBenchMessage({ kind: 'finish', report })).done;
    const laneCpus = config.values['lane.progress'] === 'caller' ? [] : engine.laneStats();
    const zeroCopy = engine.zeroCopyStats();
    const figures = toResult(engine.config, session, run, laneCpus);
    const result = { ...figures, zeroCopy, ...countedBetween(before, after) };
    const recordedAt = new Date().toISOString();
    const whole = { ...result, recordedAt, warnings: warningsOf(result) };
    return run.isWhole ? whole : { ...whole, partial: 'stopped by the user' };
  } finally {
    await engine.close();
    initiator?.freeMemory();
  }
}

/** What was counted between the two. */
function countedBetween(before: Counted, after: Counted) {
  const channels = channelDelta(before.channels.own, after.channels.own);
  const peerChannels = channelDelta(before.channels.peer, after.channels.peer);
  return {
    kernel: { ...kernelDelta(before.host, after.host), channels, peerChannels },
    lanePauses: pausesDelta(before, after),
    ...hostDelta(before.host, after.host),
  };
}

/** What both kernels have counted so far, and what the collectors took of lanes. */
async function countBoth(engine: Engine, session: Session, talk: BenchDialogue) {
  const peer = await talk.ask({ kind: 'count' }, 'counted', COUNT_TIMEOUT_MS);
  return {
    channels: { own: session.kernelCounters(), peer: peer.channels },
    pauses: { initiator: lanePausesOf(engine), target: peer.pauses },
    host: readKernelCounters(),
  };
}

type Counted = Awaited<ReturnType<typeof countBoth>>;

function pausesDelta({ pauses: before }: Counted, { pauses: after }: Counted) {
  const initiator = pausesBetween(before.initiator, after.initiator);
  const target = pausesBetween(before.target, after.target);
  return {
    ...(initiator === undefined ? {} : { initiator }),
    ...(target === undefined ? {} : { target }),
  };
}

/** Without what only two living ends can count. */
function partialOf(engine: Engine, session: Session, run: BenchRun, reason: unknown): BenchResult {
  const figures = toResult(engine.config, session, run, []);
  const partial = reason instanceof Error ? reason.message : String(reason);
  const result = { ...figures, zeroCopy: engine.zeroCopyStats(), partial };
  return { ...result, recordedAt: new Date().toISOString(), warnings: warningsOf(result) };
}

function toResult(
  config: Config,
  session: Session,
  run: BenchRun,
  lanes: BenchResult['laneCpus'],
): Omit<BenchResult, 'zeroCopy'> {
  const { values } = config;
  const { channels, chunkBytes } = session;
  const { meter } = run;
  const { receipt } = meter;
  const plugin = pluginResult(config, run);
  const gigabytes = meter.bytesMoved / 1e9;
  return {
    schema: 'tcpx.bench/1',
    ok: meter.mismatches === 0 && plugin.devmem?.verdict !== 'failed',
    evidence: receipt?.plugin?.evidence ?? 'measured',
    provider: receipt?.provider ?? session.provider,
    providerReason: receipt?.providerReason ?? session.providerReason,
    // The session's path says nothing of GPU memory, which is staged.
    path: receipt?.path ?? session.path,
    op: values['bench.op'],
    memory: values['bench.memory'],
    ...(run.pages === undefined ? {} : { pages: run.pages }),
    progress: values['lane.progress'],
    sizeBytes: values['bench.sizeBytes'],
    blockBytes: values['bench.blockBytes'] || values['bench.sizeBytes'],
    chunkBytes,
    channels: receipt?.plugin === undefined ? channels : receipt.channels.length,
    lanes: values['lane.count'],
    iterations: meter.bytesPerSecond.count,
    bandwidthGBps: inGBps(meter.bytesPerSecond.rateSpread()),
    latencyUs: meter.latencyUs.percentiles(),
    phases: phasesOf(run),
    cpuSecondsPerGB: {
      initiator: run.initiatorCpuUs / 1e6 / gigabytes,
      target: run.targetCpuUs / 1e6 / gigabytes,
    },
    verified: { iterations: meter.verified, mismatches: meter.mismatches },
    ...plugin,
    receipt,
    laneCpus: lanes.map(({ cpu, pinnedTo }) => ({ cpu, pinnedTo })),
    config: visibleConfig(config),
    host: readHostFacts(values['socket.congestion']),
    peer: run.peer,
    samples: {
      bandwidthGBps: seriesInGBps(meter.bytesPerSecond.samples()),
      latencyUs: meter.latencyUs.samples(),
    },
    histograms: { latencyNs: meter.latencyUs.histogram() },
    ...chosenOf(run),
    intervals: run.intervals,
    bytesMoved: meter.bytesMoved,
    window: run.window,
    origins: originsOf(config),
    requestDepth: depthOf(config, session, run),
  };
}

function reportOf({ values }: Config, { meter }: BenchRun): BenchReport {
  return {
    op: values['bench.op'],
    iterations: meter.bytesPerSecond.count,
    bytes: meter.bytesMoved,
    medianGBps: inGBps(meter.bytesPerSecond.rateSpread()).p50,
    meanGBps: inGBps(meter.bytesPerSecond.rateSpread()).mean,
    latencyP50Us: meter.latencyUs.percentiles().p50,
    isOk: meter.mismatches === 0,
    checked: meter.verified,
  };
}

function depthOf(config: Config, session: Session, { meter, blocks }: BenchRun) {
  const { values } = withPluginWindows(config);
  const { channels, windowChunks } = session;
  const { receipt } = meter;
  const isPlugin = receipt?.plugin !== undefined;
  const chunks = isPlugin
    ? receipt.channels.length * values['tcpx.sendWindow']
    : channels * windowChunks;
  return { transfers: values['bench.batch'], blocks, chunks };
}

function chosenOf({ meter }: BenchRun): Pick<BenchResult, 'chosen'> {
  const chosen = meter.choices.all();
  return chosen.length === 0 ? {} : { chosen };
}

/** A default needs no word; neither does where a secret came from. */
function originsOf({ effective }: Config): Record<string, string> {
  const set = effective.filter(
    ({ origin, name }) => origin !== 'default' && name !== 'trust.secret',
  );
  return Object.fromEntries(set.map(({ name, origin }) => [name, origin]));
}

/** What is said of a plugin; nothing where none carried the data. */
function pluginResult({ values }: Config, run: BenchRun): Pick<BenchResult, 'devmem' | 'threads'> {
  if (run.meter.receipt?.plugin === undefined) return {};
  const { intakeBefore = [], intakeAfter = [], threads } = run;
  const { initiator = 'unseen', target = 'unseen' } = threads ?? {};
  return {
    devmem: judgeDevmem(intakeBefore, intakeAfter, values['tcpx.hostRecv']),
    threads: { initiator, target },
  };
}

function visibleConfig(config: Config): BenchResult['config'] {
  const shown = config.effective.filter((setting) => setting.name !== 'trust.secret');
  return Object.fromEntries(shown.map((setting) => [setting.name, setting.value]));
}

const GIGA = 1e9;

function inGBps({ mean, p50, min, max }: Spread): Spread {
  return { mean: mean / GIGA, p50: p50 / GIGA, min: min / GIGA, max: max / GIGA };
}

function seriesInGBps({ every, values }: SampleSeries): SampleSeries {
  return { every, values: values.map((rate) => rate / GIGA) };
}

/** A ping-pong posts nothing that it waits for. */
function phasesOf({ prepareUs, meter }: BenchRun): BenchResult['phases'] {
  const { postUs, flightUs } = meter;
  if (postUs.count === 0) return undefined;
  return {
    prepareUs,
    postUs: { mean: postUs.mean, ...postUs.percentiles() },
    flightUs: { mean: flightUs.mean, ...flightUs.percentiles() },
  };
}
