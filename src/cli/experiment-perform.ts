// One run of an experiment: environment and placement of its arm, a bundle around the command, what
// was found is put back, and the run is checked.

import { readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { Writable } from 'node:stream';
import { collectRun } from '../diag/bundle/collector.js';
import { parseBenchDocument } from '../diag/parse/bench-document.js';
import { bandwidthGBps } from '../diag/run-difference.js';
import { type RunFacts, runFacts } from '../diag/run-facts.js';
import { type Arm, commandOf } from '../experiment/plan.js';
import type { ExperimentRecord, RunFigures, RunRecord } from '../experiment/record.js';
import { checkRun, isBindingVariable, isCounted } from '../experiment/run-checks.js';
import { makeFolder } from '../host/capture/make-folder.js';
import type { EnvironmentValues } from '../host/environment/preset.js';
import { STATE_FOLDER_VARIABLE } from '../host/read/emulated-nics.js';
import { RunCounters } from './experiment-counters.js';
import type { ExperimentPlacement } from './experiment-placement.js';
import { keptResult } from './kept-result.js';
import { programWords } from './own-program.js';
import { packageVersion } from './package-version.js';

export interface PerformWish {
  readonly folder: string;
  readonly record: Pick<ExperimentRecord, 'words' | 'nics' | 'plan' | 'txBindings' | 'rxBindings'>;
  readonly placement: ExperimentPlacement;
  /** Of this process. */
  readonly environment: EnvironmentValues;
  readonly deadlineMs: number;
  readonly hasPerf: boolean;
}

const INTERVAL_MS = 1000;
const SIZE_BYTES_MAX = 16 * 1024 ** 2;

export async function performRun(wish: PerformWish, arm: Arm, round: number): Promise<RunRecord> {
  const { folder, placement } = wish;
  const startedAt = new Date();
  const counters = new RunCounters(join(folder, 'perf-stat.txt'), wish.hasPerf);
  const release = arm.interrupts === 'matched' ? placement.bind() : () => undefined;
  let before = '';
  let after = '';
  let bundle: string;
  try {
    before = placement.read();
    bundle = await collect(wish, arm, round, (pid) => counters.start(pid));
    after = placement.read();
  } finally {
    release();
  }
  const counted = await counters.finish();
  const facts = runFacts(bundle);
  const { txBindings, rxBindings } = wish.record;
  const checks = checkRun({
    ...{ arm, facts, txBindings, rxBindings, placement: { before, after } },
    gpuLines: counters.newGpuLines(),
  });
  return {
    arm: arm.name,
    round,
    startedAt: startedAt.toISOString(),
    seconds: (Date.now() - startedAt.getTime()) / 1000,
    bundle: relative(folder, bundle),
    figures: { ...figuresOf(facts), ...counted },
    checks,
    isCounted: isCounted(checks),
  };
}

async function collect(
  { folder, record, environment, deadlineMs }: PerformWish,
  arm: Arm,
  round: number,
  onCommand: (pid: number) => void,
): Promise<string> {
  const label = round < 0 ? `${arm.name}-warm-up` : `${arm.name}-${round + 1}`;
  const nics = nicsOf(arm, record);
  const traces = resolve(folder, 'traces', label);
  if (record.words.includes('{traces}')) makeFolder(traces);
  const words = commandOf(programWords(record.words), {
    nics: nics.join(','),
    channels: String(arm.channels ?? 1),
    seconds: String(record.plan.seconds),
    traces,
  });
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const own = armEnvironment(arm, record, environment);
  const { folder: bundle } = await collectRun({
    ...{ words, label, deadlineMs, onCommand, environment: own },
    ...{ stdout: nowhere, stderr: nowhere },
    parent: join(folder, 'runs'),
    version: packageVersion(),
    named: nics,
    emulatedFolder: own[STATE_FOLDER_VARIABLE] ?? '',
    intervalMs: INTERVAL_MS,
    sizeBytesMax: SIZE_BYTES_MAX,
    hasProfile: false,
    resultOf: await keptResult(record.words, own),
  });
  return bundle;
}

function nicsOf(arm: Arm, { nics }: Pick<ExperimentRecord, 'nics'>): readonly string[] {
  return arm.nics.length === 0 ? nics : arm.nics;
}

/** Binding variables are really unset, or set to the plan's; everything else is as it was. */
export function armEnvironment(
  arm: Arm,
  record: Pick<ExperimentRecord, 'nics' | 'txBindings' | 'rxBindings'>,
  environment: EnvironmentValues,
): EnvironmentValues {
  const kept = Object.entries(environment).filter(([name]) => !isBindingVariable(name));
  return {
    ...Object.fromEntries(kept),
    ...(arm.variables === 'none'
      ? {}
      : {
          NCCL_GPUDIRECTTCPX_TX_BINDINGS: record.txBindings,
          NCCL_GPUDIRECTTCPX_RX_BINDINGS: record.rxBindings,
        }),
    ...(arm.channels === undefined ? {} : { UCCL_TCPX_NUM_CHANNELS: String(arm.channels) }),
    ...arm.environment,
  };
}

type Told = Omit<
  RunFigures,
  'contextSwitches' | 'contextSwitchesOf' | 'cacheMisses' | 'remoteNumaAccesses'
>;

function figuresOf({ run }: RunFacts): Told {
  const rate = bandwidthGBps(run) ?? null;
  const { bench, nics, busyPercent } = run;
  const busy = [...busyPercent.values()];
  const isGpu = bench?.memory === 'vram';
  return {
    bandwidthGBps: rate,
    perGpuGBps: isGpu ? rate : null,
    latencyP50Us: bench?.latencyP50Us ?? null,
    requestDepth: bench?.requestDepth ?? null,
    chunkBytes: bench?.chunkBytes ?? null,
    busyCpus: busy.length === 0 ? null : busy.reduce((sum, one) => sum + one, 0) / 100,
    interruptsByNic: Object.fromEntries(
      nics.flatMap(({ nic, parts, irqCpus }) => {
        // An interface without vectors has none to count: that is not the number 0.
        if (parts.every(({ interrupts }) => interrupts === undefined)) return [];
        return [[nic, irqCpus.reduce((sum, { count }) => sum + count, 0)]];
      }),
    ),
    devmemPacketsByNic: Object.fromEntries(
      nics.flatMap(({ nic, rx }) =>
        rx.devmemPackets === undefined ? [] : [[nic, rx.devmemPackets]],
      ),
    ),
  };
}

/** The result documents of an arm's runs, for tcpx irq; what other commands print is summed up. */
export function baselineDocuments(folder: string, runs: readonly RunRecord[]): readonly unknown[] {
  return runs.map((run) => {
    const log = readLog(join(folder, run.bundle, 'nccl_test_output.log'));
    const document = parseBenchDocument(log);
    return document ?? { schema: 'tcpx.experiment-run/1', ok: true, ...run };
  });
}

function readLog(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
