// `tcpx bench loopback`: the first thing a newcomer runs.

import type { Config } from '../../base/config.js';
import type { SettingName, SettingValues } from '../../base/settings.js';
import { formatBytes, plural } from '../../base/units.js';
import type { BenchSessionOptions } from '../../bench/bench-session.js';
import type { BenchInterval } from '../../bench/interval-meter.js';
import { groupWish, measureGroup, PATTERN_FLAGS } from '../bench-group.js';
import { KV_FLAG, kvWorkload } from '../bench-kv.js';
import { BenchProgress } from '../bench-progress.js';
import { formatInterval } from '../bench-report.js';
import { measureRuns, RUN_FLAGS } from '../bench-runs.js';
import type { Command, Invocation, OwnFlag } from '../command.js';
import { clearProgress, printNote, showProgressLines } from '../print.js';

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
  'tcpx.threads',
  'tcpx.unixPrefix',
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
  'bench.intervalSeconds',
  'bench.warmup',
  'bench.warmupSeconds',
  'bench.verify',
  'bench.deadlineMs',
  'bench.memory',
  'bench.pages',
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
  'lane.numa',
  'session.nics',
  'session.local',
  'session.ctrlInterface',
  'socket.bufferBytes',
  'socket.congestion',
  'socket.sendBy',
  'bench.storeDir',
  'bench.keep',
  'bench.verbose',
  ...TCPX_BENCH_SETTINGS,
];

/** Letters that users of iperf3 know, at both ends. */
export const BENCH_SHORT_FLAGS = {
  t: 'seconds',
  P: 'channels',
  R: 'reverse',
  i: 'interval',
  J: 'json',
} as const;

/** iperf3's -R: the server's bytes come here. */
const REVERSE_FLAG: OwnFlag = {
  name: 'reverse',
  kind: 'boolean',
  summary: 'Move bytes from the target to the initiator: --op read.',
  sets: { name: 'bench.op', value: 'read' },
};

/** UCCL's --no-unix, at both ends. */
export const NO_UNIX_FLAG: OwnFlag = {
  name: 'no-unix',
  kind: 'boolean',
  isAdvanced: true,
  summary: 'As in UCCL’s benchmark: --unix-prefix off.',
  sets: { name: 'tcpx.unixPrefix', value: 'off' },
};

/** iperf3's --bidir. */
const BIDIRECTIONAL_FLAG: OwnFlag = {
  name: 'bidir',
  kind: 'boolean',
  summary: 'Move bytes in both directions at once: --op both.',
  sets: { name: 'bench.op', value: 'both' },
};

/** Of both commands that measure. */
export const MEASURE_FLAGS: readonly OwnFlag[] = [
  REVERSE_FLAG,
  BIDIRECTIONAL_FLAG,
  KV_FLAG,
  ...RUN_FLAGS,
];

export const benchLoopbackCommand: Command = {
  name: 'bench loopback',
  group: 'measure',
  summary: 'Both ends on this machine, two processes: the first thing to run.',
  settings: BENCH_SETTINGS,
  flags: [...MEASURE_FLAGS, ...PATTERN_FLAGS],
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
      'bench loopback --kv llama-3.1-70b,tokens=2048,tp=8 --iters 10',
      'The KV cache of a prompt, block by block: how many milliseconds it takes.',
    ],
    [
      'bench loopback --pattern many-to-one --peers 4 -t 5 --verify sample',
      'Four processes write to one for five seconds.',
    ],
    [
      'bench loopback --plugin emulator',
      'The path of GPUDirect-TCPX over an emulator of its plugin: no GPU, and no such NIC.',
    ],
    [
      'bench loopback --save-baseline before',
      'Three runs, kept by that name: tcpx bench diff before latest compares with them.',
    ],
  ],
  async run(invocation) {
    const { log } = invocation;
    const { config, kv } = await kvWorkload(benchLoopbackCommand, invocation);
    const wish = groupWish(benchLoopbackCommand, invocation);
    announce(invocation, config);
    if (wish !== undefined) {
      const { runLoopbackGroup } = await import('../../bench/loopback-group.js');
      const { pattern, peers } = wish;
      return measureGroup(invocation, pattern, (control) =>
        runLoopbackGroup(config, pattern, peers, control),
      );
    }
    // Half of what there is to load: other commands start in half the time without it.
    const { runLoopback } = await import('../../bench/loopback.js');
    return measureRuns(benchLoopbackCommand, invocation, async (control) => ({
      ...(await runLoopback({ config, log, ...control, ...benchListeners(config) })),
      ...kv,
    }));
  },
};

export function announce({ isJson }: Invocation, config: Config): void {
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

/** What is shown while it runs: a line that moves on a terminal, lines of intervals if asked. */
export function benchListeners({ values }: Config) {
  const hasLines = values['bench.intervalSeconds'] > 0;
  const progress = new BenchProgress();
  const onProgress: BenchSessionOptions['onProgress'] = (fraction, rate, channels) => {
    // The kernel is asked for every channel only where somebody sees it.
    if (!process.stderr.isTTY) return;
    const lines = progress.lines(fraction, rate, channels, performance.now());
    if (lines !== undefined) showProgressLines(lines);
  };
  return {
    onProgress,
    onInterval: (interval: BenchInterval): void => {
      if (!hasLines) return;
      clearProgress();
      printNote(formatInterval(interval));
    },
  };
}
