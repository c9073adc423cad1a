// `tcpx bench loopback`: the first thing a newcomer runs.

import { TcpxError } from '../../base/errors.js';
import type { SettingName, SettingValues } from '../../base/settings.js';
import { formatBytes, formatGBps, plural } from '../../base/units.js';
import type { BenchResult } from '../../bench/bench-result.js';
import { formatBenchResult } from '../bench-report.js';
import type { Command, Invocation } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { clearProgress, printJson, printText, showProgress } from '../print.js';

/** Of the tcpx provider, at both ends. */
export const TCPX_BENCH_SETTINGS: readonly SettingName[] = [
  'plugin.path',
  'tcpx.processes',
  'tcpx.hostRecv',
  'tcpx.unpack',
  'tcpx.pacing',
  'tcpx.sendWindow',
  'tcpx.recvWindow',
  'tcpx.sendFrom',
  'tcpx.gatherBytes',
  'tcpx.sockets',
  'tcpx.socketBudget',
  'tcpx.railGpus',
  'tcpx.weights',
  'tcpx.setupTimeoutMs',
  'tcpx.hangMs',
  'tcpx.traceDir',
];

/** What every benchmark command takes. */
export const BENCH_SETTINGS: readonly SettingName[] = [
  'bench.op',
  'bench.sizeBytes',
  'bench.blockBytes',
  'bench.batch',
  'bench.iterations',
  'bench.seconds',
  'bench.warmup',
  'bench.warmupSeconds',
  'bench.verify',
  'bench.deadlineMs',
  'bench.memory',
  'bench.gpu',
  'gpu.stagingBytes',
  'engine.provider',
  'flow.chunkBytes',
  'flow.windowChunks',
  'flow.channels',
  'flow.checksum',
  'flow.receiveBytes',
  'flow.sendBytes',
  'session.stallMs',
  'session.reconnectMs',
  'lane.count',
  'lane.progress',
  'lane.spinUs',
  'lane.bindings',
  'session.nics',
  'session.local',
  'session.ctrlInterface',
  'socket.bufferBytes',
  'socket.congestion',
  'socket.sendBy',
  ...TCPX_BENCH_SETTINGS,
];

export const benchLoopbackCommand: Command = {
  name: 'bench loopback',
  summary: 'Both ends on this machine, two processes: the first thing to run.',
  settings: BENCH_SETTINGS,
  async run(invocation) {
    const { config, log } = invocation;
    announce(invocation);
    // Half of what there is to load: other commands start in half the time without it.
    const { runLoopback } = await import('../../bench/loopback.js');
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
      : plural(values['bench.iterations'], 'iteration');
  printText(
    `moving ${formatBytes(values['bench.sizeBytes'])} per iteration (${values['bench.op']}), ` +
      `${limit}, after a warm-up of ${warmUpText(values)}`,
  );
}

function warmUpText(values: SettingValues): string {
  const count = plural(values['bench.warmup'], 'iteration');
  const seconds = values['bench.warmupSeconds'];
  if (values['bench.op'] === 'pingpong' || seconds === 0) return count;
  return `at least ${count} and ${seconds} s`;
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
  if (mismatches === 0 && result.devmem?.verdict === 'failed') {
    throw new TcpxError('ERR_XFER_PATH', `${result.devmem.reason} (rx_devmem_pkts)`);
  }
  throw new TcpxError(
    'ERR_XFER_VERIFY',
    `${mismatches} of ${iterations} verified iterations differ at the target`,
  );
}
