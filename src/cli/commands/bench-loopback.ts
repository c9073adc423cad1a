// `tcpx bench loopback`: the first thing a newcomer runs.

import type { SettingName, SettingValues } from '../../base/settings.js';
import { formatBytes, formatGBps, plural } from '../../base/units.js';
import { measureRuns, RUN_FLAGS } from '../bench-runs.js';
import type { Command, Invocation, OwnFlag } from '../command.js';
import { printNote, showProgress } from '../print.js';

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
  'session.progressMs',
  'session.minRateBytes',
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
  'bench.storeDir',
  'bench.keep',
  ...TCPX_BENCH_SETTINGS,
];

/** Letters that users of iperf3 know, at both ends. */
export const BENCH_SHORT_FLAGS = { t: 'seconds', P: 'channels', R: 'reverse', J: 'json' } as const;

/** iperf3's -R: the server's bytes come here. */
export const REVERSE_FLAG: OwnFlag = {
  name: 'reverse',
  kind: 'boolean',
  summary: 'Move bytes from the target to the initiator: --op read.',
  sets: { name: 'bench.op', value: 'read' },
};

export const benchLoopbackCommand: Command = {
  name: 'bench loopback',
  group: 'measure',
  summary: 'Both ends on this machine, two processes: the first thing to run.',
  settings: BENCH_SETTINGS,
  flags: [REVERSE_FLAG, ...RUN_FLAGS],
  shortFlags: BENCH_SHORT_FLAGS,
  examples: [
    ['bench loopback', '64 MiB at a time, every byte checked: what this machine can do.'],
    [
      'bench loopback --op pingpong --size 4K --progress caller',
      'Half round trips of small messages.',
    ],
    [
      'bench loopback -t 10 -P 4 -J',
      'Ten seconds on four channels, as JSON; letters as iperf3 has them.',
    ],
    [
      'bench loopback --save-baseline before',
      'Three runs, kept by that name: tcpx bench diff before latest compares with them.',
    ],
  ],
  async run(invocation) {
    const { config, log } = invocation;
    announce(invocation);
    // Half of what there is to load: other commands start in half the time without it.
    const { runLoopback } = await import('../../bench/loopback.js');
    return measureRuns(benchLoopbackCommand, invocation, () =>
      runLoopback({ config, log, onProgress: showBenchProgress }),
    );
  },
};

export function announce({ config, isJson }: Invocation): void {
  if (isJson) return;
  const { values } = config;
  const limit =
    values['bench.seconds'] > 0
      ? `${values['bench.seconds']} s`
      : plural(values['bench.iterations'], 'iteration');
  printNote(
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
