// The rows of the GPU benchmark that move GPU memory between two processes over loopback TCP: our
// engine against NCCL's socket transport, in turn, in one run. Medians over the rounds, each of
// which is shown. Congestion control is fixed on both, and NCCL has the host's besides: its best
// counts.

import { type BenchResult } from '../src/bench/bench-result.js';
import { medianOf } from '../src/bench/statistics.js';
import type { Row } from './gpu-rows.js';
import { type NcclFigure, type NcclTrial, ncclTrials, runNccl } from './nccl-peer.js';
import { ownBench } from './perf/own-bench.js';

const BLOCKS = 10_000;
const BLOCK_BYTES = 16 * 1024;
const LARGE = ['--size', '64MiB', '--iters', '40', '--warmup-seconds', '1', '--verify', 'sample'];
const MANY = ['--size', String(BLOCKS * BLOCK_BYTES), '--iters', '20', '--verify', 'sample'];
MANY.push('--warmup-seconds', '1');
const SMALL = ['--op', 'pingpong', '--size', '4KiB', '--iters', '5000', '--warmup', '5000'];

/** What is aimed at; why one GPU does not give it between two processes, docs/gpu.md says. */
const GOAL_GBPS = 35;
const GOAL_TRIP_US = 40;

/** Our own runs, by name. */
const RUNS = {
  write1: [...LARGE, '--op', 'write', '--channels', '1', '--lanes', '1'],
  write4: [...LARGE, '--op', 'write', '--channels', '4', '--lanes', '4'],
  read1: [...LARGE, '--op', 'read', '--channels', '1', '--lanes', '1'],
  read4: [...LARGE, '--op', 'read', '--channels', '4', '--lanes', '4'],
  write8: [...LARGE, '--op', 'write', '--channels', '8', '--lanes', '8'],
  read8: [...LARGE, '--op', 'read', '--channels', '8', '--lanes', '8'],
  write: [...LARGE, '--op', 'write'],
  read: [...LARGE, '--op', 'read'],
  oneBlock: [...MANY, '--channels', '4', '--lanes', '4'],
  manyBlocks: [...MANY, '--channels', '4', '--lanes', '4', '--block', '16KiB'],
  pingPong: [...SMALL, '--progress', 'caller'],
  pingPongLanes: SMALL,
} as const;
/** The two that are judged against NCCL, with the host's congestion control. */
const HOST_RUNS = { hostWrite1: RUNS.write1, hostWrite4: RUNS.write4 } as const;
type RunName = keyof typeof RUNS | keyof typeof HOST_RUNS;

interface Figures {
  readonly own: ReadonlyMap<RunName, readonly BenchResult[]>;
  readonly trials: readonly NcclTrial[];
  readonly nccl: readonly (readonly NcclFigure[])[];
}

/** `fixed`: the congestion control of both, empty for the host's; `host`: what that is. */
export interface Congestion {
  readonly fixed: string;
  readonly host: string;
}

/** Every run is told when it ends: on a lent host the time may be up before the table is there. */
export interface TransferPlan {
  readonly hasNccl: boolean;
  readonly congestion: Congestion;
  /** An odd number has a median that was run, and not the lower one of two. */
  readonly rounds: number;
  readonly tell: (line: string) => void;
}

export async function transferRows(plan: TransferPlan): Promise<Row[]> {
  const { congestion } = plan;
  const figures = await measure(plan);
  const rate = (name: RunName) => ownFigure(figures, name, (one) => one.bandwidthGBps.p50);
  const time = (name: RunName) => ownFigure(figures, name, (one) => one.latencyUs.p50);
  const rows = ncclRows(figures);
  const best = Math.max(
    ...figures.nccl.map((runs) => medianOf(runs.map((one) => one.bandwidthGBps))),
  );
  const least = Math.min(
    ...figures.nccl.map((runs) => medianOf(runs.map((one) => one.halfRoundTripUs))),
  );
  const against = (ratio: number) => (Number.isFinite(ratio) ? ratio : undefined);
  const large = 'VRAM to VRAM over TCP, 64 MiB';
  const named = congestion.fixed === '' ? large : `${large}, ${congestion.fixed}`;
  rows.push(rateRow(`${named}, write, 1 channel`, rate('write1'), against(best), 1.2));
  rows.push(rateRow(`${named}, write, 4 channels`, rate('write4'), against(best), 3));
  if (congestion.fixed !== '') {
    const host = `${large}, ${congestion.host}, write`;
    rows.push(rateRow(`${host}, 1 channel`, rate('hostWrite1'), against(best)));
    rows.push(rateRow(`${host}, 4 channels`, rate('hostWrite4'), against(best)));
  }
  rows.push(rateRow(`${named}, read, 1 channel`, rate('read1'), against(best)));
  rows.push(rateRow(`${named}, read, 4 channels`, rate('read4'), against(best)));
  rows.push(rateRow(`${named}, write, 8 channels`, rate('write8'), against(best)));
  rows.push(rateRow(`${named}, read, 8 channels`, rate('read8'), against(best)));
  const eight = rateRow(`${named}, write, 8 channels, goal`, rate('write8'));
  rows.push({ ...eight, bar: `≥ ${GOAL_GBPS} GB/s`, isMet: eight.value >= GOAL_GBPS });
  rows.push(rateRow(`${named}, write, nothing else set`, rate('write'), against(best)));
  rows.push(rateRow(`${named}, read, nothing else set`, rate('read'), against(best)));
  rows.push(rateRow('one block of 160 MB', rate('oneBlock')));
  const one = medianOf(rate('oneBlock'));
  rows.push(rateRow('10,000 blocks × 16 KiB', rate('manyBlocks'), one, 0.7));
  rows.push(timeRow('4 KiB half round trip, caller', time('pingPong'), against(least), 0.6));
  const trip = timeRow('4 KiB half round trip, caller, goal', time('pingPong'));
  rows.push({ ...trip, bar: `≤ ${GOAL_TRIP_US} µs`, isMet: trip.value <= GOAL_TRIP_US });
  rows.push(timeRow('4 KiB half round trip, lanes', time('pingPongLanes'), against(least)));
  return [...rows, ...stageRows(figures)];
}

async function measure({ hasNccl, congestion, rounds, tell }: TransferPlan): Promise<Figures> {
  const own = new Map<RunName, BenchResult[]>();
  const trials = hasNccl ? ncclTrials(congestion.fixed) : [];
  const nccl: NcclFigure[][] = trials.map(() => []);
  const fixed = congestion.fixed === '' ? [] : ['--congestion', congestion.fixed];
  const runs: [RunName, readonly string[]][] = Object.entries(RUNS).map(([name, flags]) => [
    name as RunName,
    [...flags, ...fixed],
  ]);
  if (fixed.length > 0) runs.push(...(Object.entries(HOST_RUNS) as typeof runs));
  for (let round = 1; round <= rounds; round++) {
    for (const [name, flags] of runs) {
      const results = own.get(name) ?? [];
      const result = await ownBench(['--memory', 'vram', ...flags]);
      own.set(name, [...results, result]);
      tell(
        `round ${round}, ${name}: ${figuresText(result.bandwidthGBps.p50, result.latencyUs.p50)}`,
      );
    }
    for (const [index, trial] of trials.entries()) {
      const figure = runNccl(trial);
      nccl[index]?.push(figure);
      const text = figuresText(figure.bandwidthGBps, figure.halfRoundTripUs);
      tell(`round ${round}, NCCL, ${trial.name}: ${text}`);
    }
  }
  return { own, trials, nccl };
}

function figuresText(gbps: number, us: number): string {
  return `${gbps.toFixed(2)} GB/s, ${us.toFixed(1)} µs`;
}

function ownFigure(
  figures: Figures,
  name: RunName,
  read: (result: BenchResult) => number,
): number[] {
  return (figures.own.get(name) ?? []).map(read);
}

function ncclRows(figures: Figures): Row[] {
  return figures.trials.flatMap(({ name }, index) => {
    const runs = figures.nccl[index] ?? [];
    const title = `NCCL ${runs[0]?.nccl ?? ''} socket, ${name}`;
    return [
      rateRow(
        `${title}, 64 MiB`,
        runs.map((one) => one.bandwidthGBps),
      ),
      timeRow(
        `${title}, 4 KiB half round trip`,
        runs.map((one) => one.halfRoundTripUs),
      ),
    ];
  });
}

interface Staged {
  readonly chunks: number;
  readonly stages?: Readonly<Record<string, number>>;
}

/** Where the time of a chunk goes, as this end saw it. */
function stageRows(figures: Figures): Row[] {
  const stagesOf = (name: RunName, stage: string): number[] =>
    ownFigure(figures, name, (result) => {
      const { chunks, stages } = result.receipt as Staged;
      return (stages?.[stage] ?? Number.NaN) / chunks;
    });
  return [
    timeRow('write, 1 channel: copy out, per chunk', stagesOf('write1', 'copyOutUs')),
    timeRow('write, 1 channel: send to confirmed, per chunk', stagesOf('write1', 'sendUs')),
    timeRow('read, 1 channel: asked to received, per chunk', stagesOf('read1', 'receiveUs')),
    timeRow('read, 1 channel: copy in, per chunk', stagesOf('read1', 'copyInUs')),
  ];
}

const SWEPT_SIZES = ['64MiB', '256MiB'];
const SWEPT_CHUNKS = ['512KiB', '1MiB', '2MiB', '4MiB'];

/** Sizes of chunks against numbers of channels, to choose defaults by; and where the time goes. */
export async function sweepRows(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const size of SWEPT_SIZES) {
    for (const channels of ['4', '8']) {
      for (const chunk of SWEPT_CHUNKS) {
        const shape = ['--channels', channels, '--lanes', channels, '--chunk', chunk];
        const flags = [...LARGE, '--size', size, '--iters', '20', '--staging', '64MiB', ...shape];
        const { receipt, bandwidthGBps } = await ownBench(['--memory', 'vram', ...flags]);
        const name = `write ${size}, ${channels} channels, chunks of ${chunk}`;
        const row = rateRow(name, [bandwidthGBps.p50]);
        rows.push({ ...row, spread: `µs per chunk: ${stagesText(receipt as Staged)}` });
      }
    }
  }
  return rows;
}

function stagesText({ chunks, stages = {} }: Staged): string {
  const shown = Object.entries(stages).filter(([, us]) => us > 0);
  return shown.map(([name, us]) => `${name} ${(us / chunks).toFixed(0)}`).join(', ');
}

function rateRow(name: string, rates: readonly number[], against?: number, bar?: number): Row {
  const row: Row = { name, value: medianOf(rates), unit: 'GB/s', spread: roundsText(rates) };
  if (against === undefined) return bar === undefined ? row : { ...row, bar: `≥ ${bar}` };
  const ratio = row.value / against;
  if (bar === undefined) return { ...row, ratio };
  return { ...row, ratio, bar: `≥ ${bar}`, isMet: ratio >= bar };
}

function timeRow(name: string, times: readonly number[], against?: number, bar?: number): Row {
  const row: Row = { name, value: medianOf(times), unit: 'µs', spread: roundsText(times) };
  if (against === undefined) return bar === undefined ? row : { ...row, bar: `≤ ${bar}` };
  const ratio = row.value / against;
  if (bar === undefined) return { ...row, ratio };
  return { ...row, ratio, bar: `≤ ${bar}`, isMet: ratio <= bar };
}

function roundsText(values: readonly number[]): string {
  return values.map((value) => value.toFixed(value < 100 ? 2 : 0)).join(', ');
}
