// Which folder of src/ may import which: the layer check and the picture in docs derive from it.

export interface Layer {
  readonly purpose: string;
  readonly mayImport: readonly string[];
}

export const LAYERS: Readonly<Record<string, Layer>> = {
  base: { purpose: 'assert, errors, settings, units, log, clock, seeded random', mayImport: [] },
  ffi: { purpose: 'the only home of FFI: libc, cuda, nccl-net', mayImport: ['base'] },
  memory: {
    purpose: 'regions, arenas, region table, GPU memory and kernels',
    mayImport: ['base', 'ffi'],
  },
  wire: { purpose: 'frames: encode, decode; pure', mayImport: ['base'] },
  flow: { purpose: 'chunk plan, windows, scheduling; pure', mayImport: ['base'] },
  // flow: the plugin host is a process of its own, not a lane, and applies the windows itself.
  transport: {
    purpose: 'providers: tcp, tcpx; shared memory for tcp',
    mayImport: ['base', 'ffi', 'memory', 'flow'],
  },
  lane: {
    purpose: 'the data plane: shared layout, rings, lane loop, worker thread',
    mayImport: ['base', 'wire', 'flow', 'transport', 'memory'],
  },
  engine: {
    purpose: 'bootstrap, sessions, transfers, lane supervision',
    mayImport: ['base', 'memory', 'wire', 'flow', 'transport', 'lane'],
  },
  nixl: {
    purpose: 'agent, backend contract, metadata, notifications',
    mayImport: ['base', 'memory', 'engine'],
  },
  p2p: {
    purpose: 'server and client sessions with posted sends and receives',
    mayImport: ['base', 'memory', 'engine'],
  },
  host: { purpose: 'topology, NIC queues, IRQ, CPU, kernel counters', mayImport: ['base', 'ffi'] },
  results: { purpose: 'versioned result schema, statistics; pure', mayImport: ['base'] },
  diag: {
    purpose: 'checks: probe, finding, advice',
    mayImport: ['base', 'host', 'results', 'nixl'],
  },
  bench: {
    purpose: 'scenarios, load generation, sampling',
    mayImport: ['base', 'host', 'results', 'nixl', 'engine'],
  },
  report: { purpose: 'result file to HTML', mayImport: ['base', 'results'] },
  web: { purpose: 'browser code of the report', mayImport: ['results'] },
  testing: {
    purpose: 'virtual link, fake clock, fixtures; only tests import it',
    mayImport: ['*'],
  },
  cli: { purpose: 'argument table, one file per command, exit codes', mayImport: ['*'] },
};

/** Folders that nobody but tests and the entry point may import. */
export const CLOSED_LAYERS: readonly string[] = ['cli', 'testing'];
