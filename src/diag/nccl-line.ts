// The command line of a run of nccl-tests over several hosts, by the four numbers that people know
// it by: nodes, GPUs per process, test, processes per node. Pure.

import { TcpxError } from '../base/errors.js';
import type { EnvironmentValues } from '../host/environment/preset.js';

export interface NcclWish {
  readonly nodes: number;
  readonly gpus: number;
  /** 0 all-reduce, 1 all-to-all, any other send and receive. */
  readonly test: number;
  readonly processes: number;
  /** Empty on one node. */
  readonly hostFile: string;
  readonly controlNic: string;
  readonly environment: EnvironmentValues;
  readonly hasTrace: boolean;
}

export interface NcclLine {
  readonly program: string;
  readonly words: readonly string[];
  readonly environment: EnvironmentValues;
}

const PROGRAMS = ['all_reduce_perf', 'alltoall_perf'] as const;
/** Sends and receives are compared with our own runs: the same size and iterations. */
const OWN_SIZE = '64M';
const OWN_ITERATIONS = '20';
const NODES_MAX = 1024;
const PER_NODE_MAX = 64;

export function ncclLine(wish: NcclWish): NcclLine {
  const { nodes, gpus, test, processes } = wish;
  const program = PROGRAMS[test] ?? 'sendrecv_perf';
  const debug: EnvironmentValues = wish.hasTrace
    ? { NCCL_DEBUG: 'TRACE', NCCL_DEBUG_SUBSYS: 'ALL' }
    : { NCCL_DEBUG: 'INFO', NCCL_DEBUG_SUBSYS: 'ENV,INIT,NET' };
  const environment = { ...wish.environment, ...debug };
  const names = Object.keys(environment).filter((name) => /^(NCCL|UCCL|CUDA|LD_LIB)/.test(name));
  const words = [
    ...['mpirun', '--allow-run-as-root', '-np', String(nodes * processes), '-N', String(processes)],
    ...(wish.hostFile === '' ? [] : ['--hostfile', wish.hostFile]),
    ...['--mca', 'btl', 'tcp,self'],
    ...(wish.controlNic === '' ? [] : ['--mca', 'btl_tcp_if_include', wish.controlNic]),
    ...names.flatMap((name) => ['-x', name]),
    program,
    ...testFlags(program, gpus),
  ];
  return { program, words, environment };
}

function testFlags(program: string, gpus: number): readonly string[] {
  const threads = ['-g', '1', '-t', String(gpus)];
  if (program === 'sendrecv_perf') {
    const size = ['-b', OWN_SIZE, '-e', OWN_SIZE];
    return ['-c', '1', ...size, '-w', '5', '-n', OWN_ITERATIONS, ...threads];
  }
  return ['-c', '0', '-b', '1K', '-e', '1G', '-f', '2', '-w', '50', '-n', '50', ...threads];
}

export interface NcclNumbers {
  readonly nodes: number;
  readonly gpus: number;
  readonly test: number;
  readonly processes: number;
  readonly isCollected: boolean;
}

const NAMES = ['NODES', 'GPUS', 'TEST', 'PROCS', 'DIAG'] as const;
const DEFAULTS = [2, 8, 0, 1, 0] as const;
const RANGES = [
  [1, NODES_MAX],
  [1, PER_NODE_MAX],
  [0, 9],
  [1, PER_NODE_MAX],
  [0, 1],
] as const;

export function parseNcclNumbers(words: readonly string[]): NcclNumbers {
  const numbers = NAMES.map((name, index) => {
    const text = words[index] ?? String(DEFAULTS[index]);
    const [low, high] = RANGES[index] ?? [0, 0];
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= low && value <= high) return value;
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `tcpx nccl: ${name} is ${JSON.stringify(text)}; ` +
        `a whole number from ${low} to ${high} is wanted`,
    );
  });
  const [nodes = 0, gpus = 0, test = 0, processes = 0, diag = 0] = numbers;
  return { nodes, gpus, test, processes, isCollected: diag === 1 };
}
