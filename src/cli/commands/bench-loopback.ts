// `tcpx bench loopback`: the first thing a newcomer runs.

import { TcpxError } from '../../base/errors.js';
import type { SettingName } from '../../base/settings.js';
import { formatBytes, formatGBps } from '../../base/units.js';
import { runLoopback } from '../../bench/loopback.js';
import type { BenchResult } from '../../results/bench-result.js';
import { formatBenchResult } from '../bench-report.js';
import type { Command, Invocation } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { clearProgress, printJson, printText, showProgress } from '../print.js';

/** What every benchmark command takes. */
export const BENCH_SETTINGS: readonly SettingName[] = [
  'bench.op',
  'bench.sizeBytes',
  'bench.blockBytes',
  'bench.batch',
  'bench.iterations',
  'bench.seconds',
  'bench.warmup',
  'bench.verify',
  'bench.deadlineMs',
  'bench.memory',
  'bench.gpu',
  'gpu.stagingBytes',
  'bench.provider',
  'flow.chunkBytes',
  'flow.windowChunks',
  'flow.channels',
  'flow.checksum',
  'flow.receiveBytes',
  'session.stallMs',
  'session.reconnectMs',
  'lane.count',
  'lane.progress',
  'lane.spinUs',
  'lane.bindings',
  'session.nics',
  'session.ctrlInterface',
  'socket.bufferBytes',
  'socket.congestion',
  'socket.zeroCopy',
];

export const benchLoopbackCommand: Command = {
  name: 'bench loopback',
  summary: 'Both ends on this machine, two processes: the first thing to run.',
  settings: BENCH_SETTINGS,
  async run(invocation) {
    const { config, log } = invocation;
    announce(invocation);
    const result = await runLoopback({ config, log, onProgress: showBenchProgress });
    return reportBench(invocation, result);
  },
};

export function announce({ config, isJson }: Invocation): void {
  if (isJson) return;
  const { values } = config;
  const limit =
    values['bench.seconds'] > 0
      ? `${values['bench.seconds']} s`
      : `${values['bench.iterations']} iterations`;
  printText(
    `moving ${formatBytes(values['bench.sizeBytes'])} per iteration (${values['bench.op']}), ` +
      `${limit}, after ${values['bench.warmup']} for warm-up`,
  );
}

export function showBenchProgress(doneFraction: number, bytesPerSecond: number): void {
  showProgress(`${Math.floor(doneFraction * 100)} %  ${formatGBps(bytesPerSecond)}`);
}

export function reportBench(invocation: Invocation, result: BenchResult): ExitCode {
  clearProgress();
  if (invocation.isJson) printJson(result);
  else printText(formatBenchResult(result));
  if (result.ok) return ExitCode.Good;
  const { mismatches, iterations } = result.verified;
  throw new TcpxError(
    'ERR_XFER_VERIFY',
    `${mismatches} of ${iterations} verified iterations differ at the target`,
  );
}
