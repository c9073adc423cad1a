// Settings of the benchmarks.

import type { Setting } from './setting.js';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

export const BENCH_SETTINGS = {
  'bench.sizeBytes': {
    kind: 'bytes',
    fallback: 64 * MIB,
    minimum: 1,
    maximum: 64 * GIB,
    flag: 'size',
    aliases: ['UCCL_TCPX_PERF_SIZE', 'UCCL_TCPX_PAYLOAD_BYTES'],
    summary: 'Bytes that one iteration of a benchmark moves.',
    cost: 'Both ends allocate this much.',
  },
  'bench.blockBytes': {
    kind: 'bytes',
    fallback: 0,
    minimum: 0,
    maximum: 64 * GIB,
    flag: 'block',
    summary: 'Size of the blocks that an iteration is cut into; 0 makes one block of it.',
    cost: 'Small blocks cost descriptors: 32 bytes of memory each.',
  },
  'bench.batch': {
    kind: 'count',
    fallback: 1,
    minimum: 1,
    maximum: 64,
    flag: 'batch',
    summary: 'Transfers posted before the first is awaited.',
    cost: 'Latency then includes the wait behind the others.',
  },
  'bench.iterations': {
    kind: 'count',
    fallback: 50,
    minimum: 1,
    maximum: 100_000_000,
    flag: 'iters',
    aliases: ['UCCL_TCPX_PERF_ITERS'],
    summary: 'Measured iterations of a benchmark.',
    cost: 'Time.',
  },
  'bench.seconds': {
    kind: 'count',
    fallback: 0,
    minimum: 0,
    maximum: 86_400,
    flag: 'seconds',
    summary: 'Run for this long instead of counting iterations; 0 counts iterations.',
    cost: 'Time.',
  },
  'bench.warmup': {
    kind: 'count',
    fallback: 5,
    minimum: 0,
    maximum: 100_000,
    flag: 'warmup',
    summary: 'Iterations before the measured ones; verified like the others.',
    cost: 'Without warm-up, page faults and compilation are measured too.',
  },
  'bench.warmupSeconds': {
    kind: 'count',
    fallback: 2,
    minimum: 0,
    maximum: 3600,
    flag: 'warmup-seconds',
    summary: 'Warm-up lasts at least this long. A ping-pong’s length is agreed on before it.',
    cost: 'With less, compilation at both ends is measured too: it takes two to three seconds.',
  },
  'bench.verify': {
    kind: 'choice',
    fallback: 'all',
    choices: ['all', 'sample', 'none'],
    flag: 'verify',
    summary: 'Which iterations are checked byte for byte at the place where they landed.',
    cost: 'Checking lies outside the timed window; it lengthens the run.',
  },
  'bench.deadlineMs': {
    kind: 'ms',
    fallback: 60_000,
    minimum: 100,
    maximum: 86_400_000,
    flag: 'deadline',
    summary: 'Longest time that one iteration of a benchmark may take.',
    cost: 'Too low fails slow links.',
  },
  'bench.op': {
    kind: 'choice',
    fallback: 'write',
    choices: ['write', 'read', 'pingpong'],
    flag: 'op',
    summary: 'Operation that a benchmark measures.',
    cost: 'None.',
  },
  'bench.memory': {
    kind: 'choice',
    fallback: 'dram',
    choices: ['dram', 'vram'],
    flag: 'memory',
    summary: 'Memory that a benchmark moves: host or GPU.',
    cost: 'vram needs an NVIDIA GPU and driver.',
  },
  'bench.gpu': {
    kind: 'count',
    fallback: 0,
    minimum: 0,
    maximum: 63,
    flag: 'gpu',
    summary:
      'CUDA ordinal of the GPU whose memory this end of a benchmark uses, and whose NICs the ' +
      'tcpx provider takes where none are named.',
    cost: 'A GPU that is behind none of the named NICs is refused.',
  },
  'bench.storeDir': {
    kind: 'text',
    fallback: '',
    flag: 'store',
    value: 'DIR',
    summary:
      'Folder in which results of benchmarks are kept; empty means ' +
      '$XDG_STATE_HOME/nixl-tcpx/bench, or ~/.local/state/nixl-tcpx/bench.',
    cost: 'Up to some 100 KB for each result.',
  },
  'bench.keep': {
    kind: 'count',
    fallback: 200,
    minimum: 0,
    maximum: 100_000,
    flag: 'keep',
    summary: 'Results that are kept, baselines apart; the oldest give way. 0 keeps none.',
    cost: 'Disk.',
  },
} as const satisfies Readonly<Record<string, Setting>>;
