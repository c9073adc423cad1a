// The rows of the GPU benchmark: what is measured, against what, and the bar where there is one.

import type { GpuContext } from '../src/ffi/cuda/context.js';
import { DeviceMemory } from '../src/ffi/cuda/device-memory.js';
import { CudaResult } from '../src/ffi/cuda/driver.js';
import { PinnedMemory } from '../src/ffi/cuda/pinned-memory.js';
import { GpuEvent } from '../src/ffi/cuda/stream.js';
import { GpuKernels } from '../src/gpu/gpu-kernels.js';
import { KernelQueue } from '../src/gpu/kernel-queue.js';
import { DeviceTimer, type Percentiles, perCallUs } from './gpu-measure.js';
import { BlockField, ChunkWindow, type WindowShape } from './gpu-scenarios.js';

export interface Row {
  readonly name: string;
  readonly value: number;
  readonly unit: 'GB/s' | 'µs';
  readonly spread: string;
  /** To the copy that this row is held against. */
  readonly ratio?: number;
  readonly bar?: string;
  readonly isMet?: boolean;
}

const WINDOW: WindowShape = { chunks: 16, fragmentBytes: 4096, isAligned: true, sets: 8 };
const SMALL: WindowShape = { ...WINDOW, fragmentBytes: 1448 };
const UNALIGNED: WindowShape = { ...SMALL, isAligned: false };
const LATENCY_CALLS = 3000;

interface Bench {
  readonly context: GpuContext;
  readonly queue: KernelQueue;
  readonly timer: DeviceTimer;
  readonly rows: Row[];
}

export function measureRows(context: GpuContext): Row[] {
  return withBench(context, (bench) => {
    unpackRows(bench);
    latencyRows(bench);
    blockRows(bench);
    spanRows(bench);
  });
}

/** The same unpacks under other launch shapes, to choose the defaults by. */
export function tuneRows(context: GpuContext): Row[] {
  return withBench(context, (bench) => {
    const { blocksMax } = bench.queue.unpack;
    for (const partBytes of [1024, 2048, 4096]) {
      for (const blocks of [blocksMax / 3, (blocksMax * 2) / 3, blocksMax, blocksMax * 2]) {
        bench.queue.unpack.partBytes = partBytes;
        bench.queue.unpack.partBytesMin = partBytes;
        bench.queue.unpack.blocksMax = blocks;
        for (const shape of [WINDOW, SMALL]) {
          const window = new ChunkWindow(bench.context, bench.queue, { ...shape, sets: 4 });
          const seen = bench.timer.perOperationUs((turn) => void window.launch(turn));
          const name = `unpack ${shape.fragmentBytes}, parts of ${partBytes}, ${blocks} blocks`;
          bench.rows.push(rateRow(name, window.bytes, seen));
          window.free();
        }
        const one = new ChunkWindow(bench.context, bench.queue, { ...WINDOW, chunks: 1, sets: 4 });
        const name = `launch to flag, parts of ${partBytes}, ${blocks} blocks`;
        bench.rows.push(timeRow(name, seenUs(bench, one, 800)));
        one.free();
      }
    }
  });
}

function withBench(context: GpuContext, body: (bench: Bench) => void): Row[] {
  const kernels = new GpuKernels(context);
  const queue = new KernelQueue(kernels);
  const timer = new DeviceTimer(context, queue.stream);
  const rows: Row[] = [];
  body({ context, queue, timer, rows });
  timer.destroy();
  queue.destroy();
  kernels.unload();
  return rows;
}

function unpackRows({ context, queue, timer, rows }: Bench): void {
  const cases = [
    { name: 'unpack 16 × 512 KiB, 4096-byte fragments', shape: WINDOW, bar: 0.8 },
    { name: 'unpack 16 × 512 KiB, 1448-byte fragments', shape: SMALL, bar: 0.6 },
    { name: 'unpack 16 × 512 KiB, 1448 bytes, any alignment', shape: UNALIGNED, bar: undefined },
  ];
  for (const { name, shape, bar } of cases) {
    const window = new ChunkWindow(context, queue, shape);
    requireRight(name, window.mismatches());
    const before = timer.perOperationUs((turn) => window.copy(context, turn));
    const seen = timer.perOperationUs((turn) => void window.launch(turn));
    const after = timer.perOperationUs((turn) => window.copy(context, turn));
    rows.push(rateRow('device copy of 8 MiB, before', window.bytes, before));
    rows.push(rateRow(name, window.bytes, seen, faster(before, after), bar));
    rows.push(rateRow('device copy of 8 MiB, after', window.bytes, after));
    requireRight(name, window.mismatches());
    window.free();
  }
}

function latencyRows(bench: Bench): void {
  const { context, queue, rows } = bench;
  const window = new ChunkWindow(context, queue, { ...WINDOW, chunks: 1 });
  requireRight('one chunk', window.mismatches());
  const toFlag = seenUs(bench, window, LATENCY_CALLS);
  rows.push({
    ...timeRow('one chunk of 512 KiB, launch to flag', toFlag),
    ...underBar(toFlag, 10),
  });
  let turn = 0;
  const checked = perCallUs(() => {
    window.check(turn);
    queue.wait(window.launch(turn++));
  }, LATENCY_CALLS);
  rows.push(timeRow('one chunk of 512 KiB, list checked, launch to flag', checked));
  const event = new GpuEvent(context);
  const toEvent = perCallUs(() => {
    window.launch(turn++);
    event.record(queue.stream);
    while (queue.stream.queue.queryEvent(event.handle) === CudaResult.NotReady);
  }, LATENCY_CALLS);
  rows.push(timeRow('one chunk of 512 KiB, launch to event', toEvent));
  const launched = perCallUs(
    () => window.launch(turn++),
    LATENCY_CALLS,
    () => queue.wait(queue.completion.lastIssued),
  );
  rows.push(timeRow('one launch on an idle stream, until the call returns', launched));
  event.destroy();
  window.free();
}

function seenUs({ queue }: Bench, window: ChunkWindow, calls: number): Percentiles {
  let turn = 0;
  return perCallUs(() => queue.wait(window.launch(turn++)), calls);
}

function blockRows({ context, queue, timer, rows }: Bench): void {
  const field = new BlockField(context, 10_000, 16 * 1024);
  requireRight('gather and scatter', field.mismatches(queue));
  const { region, staging, bytes, copy } = field;
  const copied = timer.perOperationUs(() => {
    const result = queue.stream.queue.copyDeviceToDevice(staging.addr, region.addr, bytes);
    context.check(result, 'cuMemcpyDtoDAsync_v2');
  }, 10);
  rows.push(rateRow('device copy of 160 MiB', bytes, copied));
  const gathered = timer.perOperationUs(() => void queue.gather(copy), 10);
  rows.push(rateRow('gather 10,000 × 16 KiB', bytes, gathered, copied, 0.7));
  const scattered = timer.perOperationUs(() => void queue.scatter(copy), 10);
  rows.push(rateRow('scatter 10,000 × 16 KiB', bytes, scattered, copied, 0.7));
  const pinned = new PinnedMemory(context, bytes);
  const out = timer.perOperationUs(() => {
    const result = queue.stream.queue.copyDeviceToHost(pinned.addr, region.addr, bytes);
    context.check(result, 'cuMemcpyDtoHAsync_v2');
  }, 3);
  rows.push(rateRow('copy of 160 MiB to pinned memory', bytes, out));
  const mapped = { ...copy, stagingAddr: pinned.deviceAddr };
  const direct = timer.perOperationUs(() => void queue.gather(mapped), 3);
  rows.push(rateRow('gather 10,000 × 16 KiB straight to pinned memory', bytes, direct, out));
  const back = timer.perOperationUs(() => void queue.scatter(mapped), 3);
  rows.push(rateRow('scatter 10,000 × 16 KiB straight from pinned memory', bytes, back, out));
  pinned.free();
  field.free();
}

function spanRows({ context, queue, timer, rows }: Bench): void {
  const memory = new DeviceMemory(context, 256 * 1024 * 1024);
  const filled = timer.perOperationUs(() => void queue.fill(memory, 1, 0), 10);
  rows.push(rateRow('fill 256 MiB', memory.bytes, filled));
  requireRight('fill', queue.verify(memory, 1, 0).count);
  rows.push(
    rateRow(
      'verify 256 MiB, to the answer',
      memory.bytes,
      perCallUs(() => queue.verify(memory, 1, 0), 20),
    ),
  );
  rows.push(
    rateRow(
      'checksum 256 MiB, to the answer',
      memory.bytes,
      perCallUs(() => queue.checksum(memory), 20),
    ),
  );
  memory.free();
}

/** The clock of the GPU drifts a little; the kernel is held against the better of both copies. */
function faster(one: Percentiles, other: Percentiles): Percentiles {
  return one.p50 < other.p50 ? one : other;
}

function requireRight(what: string, mismatches: number): void {
  if (mismatches > 0) throw new Error(`${what}: ${mismatches} wrong bytes, nothing to measure`);
}

function rateRow(
  name: string,
  bytes: number,
  seenUs: Percentiles,
  against?: Percentiles,
  bar?: number,
): Row {
  const rate = (us: number) => bytes / us / 1000;
  const spread = `${rate(seenUs.p90).toFixed(0)} … ${rate(seenUs.p10).toFixed(0)}`;
  const row: Row = { name, value: rate(seenUs.p50), unit: 'GB/s', spread };
  if (against === undefined) return row;
  const ratio = against.p50 / seenUs.p50;
  if (bar === undefined) return { ...row, ratio };
  return { ...row, ratio, bar: `≥ ${bar}`, isMet: ratio >= bar };
}

function timeRow(name: string, us: Percentiles): Row {
  const spread = `${us.p10.toFixed(1)} … ${us.p90.toFixed(1)}`;
  return { name, value: us.p50, unit: 'µs', spread };
}

function underBar(us: Percentiles, limitUs: number): Pick<Row, 'bar' | 'isMet'> {
  return { bar: `≤ ${limitUs} µs`, isMet: us.p50 <= limitUs };
}
