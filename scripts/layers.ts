// Which folder of src/ may import which: the layer check and the picture in docs derive from it.

export interface Layer {
  readonly purpose: string;
  readonly mayImport: readonly string[];
}

export const LAYERS: Readonly<Record<string, Layer>> = {
  base: { purpose: 'assert, errors, settings, units, log, clock, seeded random', mayImport: [] },
  ffi: { purpose: 'the only home of FFI: libc, cuda, nccl-net', mayImport: ['base'] },
  os: {
    purpose: 'sockets, epoll sets, pipes, threads, mapped memory, rings between threads',
    mayImport: ['base', 'ffi'],
  },
  gpu: {
    purpose: 'kernels, copy queues, staging, scatter lists; the same on host memory',
    mayImport: ['base', 'ffi'],
  },
  memory: {
    purpose: 'regions, their table and their checks; the arena',
    mayImport: ['base', 'ffi'],
  },
  wire: { purpose: 'formats that cross a process: encode, decode; pure', mayImport: ['base'] },
  flow: { purpose: 'chunk plans, windows, rates, striping; pure', mayImport: ['base'] },
  provider: {
    purpose: 'what moves the bytes: tcp (lanes, ports, shared memory) and tcpx (plugin processes)',
    mayImport: ['base', 'ffi', 'os', 'gpu', 'memory', 'wire', 'flow'],
  },
  engine: {
    purpose: 'bootstrap, sessions, transfers, recovery',
    mayImport: ['base', 'os', 'gpu', 'memory', 'wire', 'host', 'provider'],
  },
  nixl: {
    purpose: 'agent, backend contract, metadata, notifications',
    mayImport: ['base', 'os', 'memory', 'engine'],
  },
  p2p: {
    purpose: 'server and client sessions with posted sends and receives',
    mayImport: ['base', 'os', 'memory', 'engine'],
  },
  service: {
    purpose: 'the node service: clients of the C library, their memory, their engines',
    mayImport: ['base', 'ffi', 'os', 'gpu', 'memory', 'engine', 'nixl'],
  },
  measure: {
    purpose: 'what this machine can do, timed: core to core, copies, wake-ups, loopback',
    mayImport: ['base', 'ffi', 'os'],
  },
  host: { purpose: 'topology, NIC queues, IRQ, CPU, kernel counters', mayImport: ['base', 'ffi'] },
  diag: {
    purpose: 'checks: probe, finding, advice',
    mayImport: ['base', 'host', 'measure'],
  },
  bench: {
    purpose: 'scenarios, load generation, sampling, results and statistics',
    mayImport: ['base', 'host', 'measure', 'engine'],
  },
  experiment: {
    purpose: 'plans of runs that are compared, repetitions, statistics, decisions',
    mayImport: ['base', 'host', 'diag', 'bench'],
  },
  cli: { purpose: 'argument table, one file per command, exit codes', mayImport: ['*'] },
};

/** Folders that nobody but tests and the entry point may import. */
export const CLOSED_LAYERS: readonly string[] = ['cli'];

/** Where each folder is a provider of its own: none imports another. */
export const PROVIDER_FOLDER = 'provider';
