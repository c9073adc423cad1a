// `tcpx bench sweep [HOST]`: which settings are best here, size by size.

import { assert } from '../../base/assert.js';
import { isTcpxError, TcpxError } from '../../base/errors.js';
import { environmentName, type SettingName, settingOf } from '../../base/settings.js';
import { plural } from '../../base/units.js';
import type { BenchResult } from '../../bench/bench-result.js';
import type {
  SweepAxes,
  SweepOutcome,
  SweepPoint,
  SweepRun,
  SweepRuns,
} from '../../bench/sweep.js';
import type { WireBytes } from '../../bench/wire-bytes.js';
import { StepProgress } from '../bench-progress.js';
import { openStore, untilInterrupted } from '../bench-runs.js';
import {
  formatProfile,
  formatSweep,
  SweepFile,
  saveText,
  sweepEvidence,
} from '../bench-sweep-text.js';
import { type Command, flagOf, type Invocation, type OwnFlag, usageError } from '../command.js';
import { countFlag } from '../count-flag.js';
import { ExitCode } from '../exit-code.js';
import { clearProgress, printJson, printNote, printText, showProgress } from '../print.js';
import { BENCH_SETTINGS } from './bench-loopback.js';

/** What a sweep varies. */
const AXES = [
  'bench.sizeBytes',
  'flow.chunkBytes',
  'flow.channels',
  'lane.count',
  'flow.windowChunks',
  'socket.sendBy',
] as const satisfies readonly SettingName[];
const ROUNDS = 3;
const STOPPED = 'stopped by the user';
const PRUNE_PERCENT = 20;
/** Of each run, to compare by. */
const RATES_KEPT = 200;

const AXIS_FLAGS: readonly OwnFlag[] = AXES.map((name) => ({
  name: flagOf(name),
  kind: 'text',
  value: settingOf(name).kind === 'choice' ? 'A,B' : 'A,B or A..B',
  summary: `Values of ${name}: a list, or a range that doubles.`,
}));

export const benchSweepCommand: Command = {
  name: 'bench sweep',
  group: 'measure',
  summary: 'Which size, chunk, channels, lanes, window and way of sending are best here.',
  positionals: '[HOST]',
  positionalsMax: 1,
  settings: [
    ...BENCH_SETTINGS.filter((name) => !(AXES as readonly SettingName[]).includes(name)),
    'session.port',
    'session.connectTimeoutMs',
    'trust.mode',
    'trust.secretFile',
  ],
  flags: [
    ...AXIS_FLAGS,
    {
      name: 'rounds',
      kind: 'text',
      value: 'N',
      summary: `Runs of what is not dropped; ${ROUNDS}.`,
    },
    {
      name: 'prune',
      kind: 'text',
      value: 'PERCENT',
      summary: `Drop what is slower than the best by this after one run; ${PRUNE_PERCENT}.`,
    },
    { name: 'restart', kind: 'boolean', summary: 'Begin anew where a sweep was interrupted.' },
    {
      name: 'save-profile',
      kind: 'text',
      value: 'FILE',
      summary:
        'Write the best settings of the largest size as variables, for a shell or a service.',
    },
  ],
  examples: [
    ['bench sweep --size 4KiB..64MiB', 'One row for each size, as others print it.'],
    [
      'bench sweep --size 64MiB --chunk 256K,512K,1M --channels 1..8 --save-profile best.env',
      'The best of twelve, kept as variables; the same line again goes on after Ctrl-C.',
    ],
    ['bench sweep 10.0.0.2 --channels 1..4 --secret-file tcpx.secret', 'Against a server there.'],
  ],
  async run(invocation) {
    const { expandAxis, outcomesSoFar, pointsOf, runSweep } = await import('../../bench/sweep.js');
    const axes: Partial<Record<SettingName, readonly string[]>> = {};
    for (const name of AXES) {
      const text = invocation.text(flagOf(name));
      if (text !== undefined) axes[name] = expandAxis(name, text);
    }
    if (Object.keys(axes).length === 0) {
      throw usageError(benchSweepCommand, `nothing varies; ${AXES.map(flagOf).join(', ')}?`);
    }
    const points = pointsOf(axes);
    const rounds = countFlag(benchSweepCommand, invocation, 'rounds', {
      fallback: ROUNDS,
      least: 1,
      most: 100,
    });
    const prune =
      countFlag(benchSweepCommand, invocation, 'prune', {
        fallback: PRUNE_PERCENT,
        least: 1,
        most: 100,
      }) / 100;
    const file = await openFile(invocation, axes);
    const runs = invocation.has('restart') ? {} : file.load();
    const { stop, release } = untilInterrupted(invocation);
    const measure = await measurer(invocation, stop);
    // What is dropped makes it shorter.
    const progress = new StepProgress();
    let outcomes: SweepOutcome[];
    try {
      outcomes = await runSweep(points, measure, runs, {
        rounds,
        prune,
        onRun: (done, { key }) => {
          file.save(runs);
          showProgress(progress.line(done, points.length * rounds, key, performance.now()));
        },
      });
    } catch (error) {
      clearProgress();
      const soFar = outcomesSoFar(points, runs, { prune });
      const isStopped = stop.aborted && isTcpxError(error);
      if (soFar.length === 0 || (invocation.isJson && !isStopped)) throw error;
      const partial = isStopped ? STOPPED : error instanceof Error ? error.message : String(error);
      printSweep(invocation, { axes, outcomes: soFar, runs, partial });
      if (isStopped) return ExitCode.RunTime;
      throw error;
    } finally {
      release();
    }
    clearProgress();
    file.remove();
    printSweep(invocation, { axes, outcomes, runs });
    const profile = invocation.text('save-profile');
    const last = outcomes.at(-1);
    if (profile !== undefined && last !== undefined) {
      saveText(profile, formatProfile(last, sweepEvidence(runs)));
      const variable = environmentName('engine.profile');
      printNote(`profile: --profile ${profile}, or ${variable}=${profile}`);
    }
    return ExitCode.Good;
  },
};

interface PrintedSweep {
  readonly axes: SweepAxes;
  readonly outcomes: readonly SweepOutcome[];
  readonly runs: SweepRuns;
  /** Why it is not whole. */
  readonly partial?: string;
}

function printSweep({ isJson }: Invocation, sweep: PrintedSweep): void {
  const { outcomes, runs, partial } = sweep;
  if (isJson) {
    printJson({ schema: 'tcpx.bench-sweep/1', evidence: sweepEvidence(runs), ...sweep });
    return;
  }
  printText(formatSweep(outcomes, runs));
  if (partial === undefined) return;
  const count = Object.values(runs).reduce((sum, list) => sum + list.length, 0);
  printText(`PARTIAL  ${partial}; ${plural(count, 'run')} kept: the same line goes on with them\n`);
}

/** Of the same sweep: same axes, same other settings, same target. */
async function openFile(invocation: Invocation, axes: SweepAxes): Promise<SweepFile> {
  const { folder } = await openStore(invocation);
  const { values } = invocation.config;
  return new SweepFile(folder, { axes, values, host: invocation.positionals[0] ?? '' });
}

async function measurer(
  invocation: Invocation,
  stop: AbortSignal,
): Promise<(point: SweepPoint) => Promise<SweepRun>> {
  const { config, log, positionals } = invocation;
  const [host] = positionals;
  const onProgress = (): void => undefined;
  const { deriveConfig } = await import('../../bench/derived-config.js');
  const { runLoopback } = await import('../../bench/loopback.js');
  const { runBench } = await import('../../bench/bench-session.js');
  const { runFault } = await import('../../bench/run-fault.js');
  const { wireBytesOf } = await import('../../bench/wire-bytes.js');
  return async ({ key, settings }) => {
    const own = deriveConfig(config, settings, 'sweep');
    const port = own.values['session.port'];
    const result =
      host === undefined
        ? await runLoopback({ config: own, log, onProgress, stop })
        : await runBench({ config: own, log, host, port, onProgress, stop });
    // Half a run would stand beside whole ones.
    if (stop.aborted) throw new TcpxError('ERR_XFER_CANCELLED', STOPPED);
    // The fastest way to move bytes is not to.
    const fault = runFault(result);
    if (fault !== undefined) throw new TcpxError(fault.code, `${key}: ${fault.message}`);
    return toRun(result, wireBytesOf(result));
  };
}

function toRun(result: BenchResult, wireBytes: WireBytes): SweepRun {
  const { bytesMoved: bytes, evidence } = result;
  assert(bytes !== undefined, 'a run of this version says what it moved');
  const values = result.samples?.bandwidthGBps.values ?? [];
  const every = Math.ceil(values.length / RATES_KEPT);
  const rates = values.filter((_, index) => index % every === 0);
  return { rates, latencyP50Us: result.latencyUs.p50, bytes, wireBytes, evidence };
}
