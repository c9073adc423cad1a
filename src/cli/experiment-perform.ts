// One run of an experiment: environment and placement of its arm, a bundle around the command, what
// was found is put back, and the run is checked.

import { join, relative, resolve } from 'node:path';
import { Writable } from 'node:stream';
import { makeFolder } from '../base/make-folder.js';
import { collectRun } from '../diag/bundle/collector.js';
import { bandwidthGBps } from '../diag/run-difference.js';
import { type RunFacts, runFacts } from '../diag/run-facts.js';
import { type Arm, commandOf, nicsOfArm } from '../experiment/plan.js';
import {
  cpusOfNics,
  type ExperimentRecord,
  type RunFigures,
  type RunRecord,
} from '../experiment/record.js';
import { checkRun, isBindingVariable, isCounted } from '../experiment/run-checks.js';
import type { EnvironmentValues } from '../host/environment/preset.js';
import { timeStamp } from '../host/irq/journal.js';
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
  const nics = nicsOfArm(arm, wish.record.nics);
  const label = round < 0 ? `${arm.name}-warm-up` : `${arm.name}-${round + 1}`;
  // Each attempt has its own: calls of two would look like more calls of one.
  const traces = wish.record.words.some((word) => word.includes('{traces}'))
    ? join('traces', `${label}_${timeStamp(startedAt)}`)
    : undefined;
  const release = arm.interrupts === 'matched' ? placement.bind(nics) : () => undefined;
  let before = '';
  let after = '';
  let bundle: string;
  try {
    before = placement.read();
    bundle = await collect(wish, arm, label, traces, (pid) => counters.start(pid));
    after = placement.read();
  } finally {
    release();
  }
  const counted = await counters.finish();
  const facts = runFacts(bundle);
  const { txBindings, rxBindings } = wish.record;
  const interruptCpus = cpusOfNics(placement.interruptCpus, nics);
  const checks = checkRun({
    ...{ arm, facts, txBindings, rxBindings, interruptCpus, placement: { before, after } },
    gpuLines: counters.newGpuLines(),
  });
  return {
    arm: arm.name,
    round,
    startedAt: startedAt.toISOString(),
    seconds: (Date.now() - startedAt.getTime()) / 1000,
    bundle: relative(folder, bundle),
    traces,
    figures: { ...figuresOf(facts), ...counted },
    checks,
    isCounted: isCounted(checks),
  };
}

async function collect(
  { folder, record, environment, deadlineMs }: PerformWish,
  arm: Arm,
  label: string,
  traces: string | undefined,
  onCommand: (pid: number) => void,
): Promise<string> {
  const nics = nicsOfArm(arm, record.nics);
  const traceFolder = resolve(folder, traces ?? '');
  if (traces !== undefined) makeFolder(traceFolder);
  const words = commandOf(programWords(record.words), {
    nics: nics.join(','),
    channels: String(arm.channels ?? 1),
    seconds: String(record.plan.seconds),
    traces: traceFolder,
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
  const { bench, nics, busyPercent } = run;
  const busy = [...busyPercent.values()];
  return {
    bandwidthGBps: bandwidthGBps(run) ?? null,
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
