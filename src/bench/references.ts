// Figures of others on the machines that this is for, to hold a run against. None was measured
// here: evidence class `reference`.

/** Some tools divide by 2^30 and print GB/s. */
const GIB_PER_GB = 2 ** 30 / 1e9;

export interface Reference {
  readonly name: string;
  /** 10^9 bytes per second; a single figure has both alike. */
  readonly lowGBps: number;
  readonly highGBps: number;
  readonly what: string;
  readonly source: string;
  readonly isSuspect: boolean;
  readonly remark: string;
}

/** Per GPU, as the engine of 2025 had set itself. */
export const GOAL_GBPS = 5;

const ENGINE = 'engine of 2025 on A3-high, 64 MiB, per GPU';
const ENGINE_SOURCE = 'its logs; divided by 2^30 there';

export const REFERENCES: readonly Reference[] = [
  {
    name: 'engine-2025-server',
    ...gibps(2.75, 2.75),
    what: `${ENGINE}, one NIC and channel, server’s view`,
    source: ENGINE_SOURCE,
    isSuspect: false,
    remark: 'The client’s view of the same bytes is less: nothing aligned their clocks.',
  },
  {
    name: 'engine-2025-client',
    ...gibps(1.17, 1.17),
    what: `${ENGINE}, one NIC and channel, client’s view`,
    source: ENGINE_SOURCE,
    isSuspect: false,
    remark: 'Its first iteration includes the server’s set-up.',
  },
  {
    name: 'engine-2025-2x2',
    ...gibps(7.7, 9.0),
    what: `${ENGINE}, 2 channels × 2 sockets, 8.1 ms`,
    source: ENGINE_SOURCE,
    isSuspect: true,
    remark:
      'No byte was checked, and the unpack kernel of that day most likely copied none: ' +
      'the fields that tell it how many came after what was uploaded.',
  },
  {
    name: 'nccl-tcpx',
    lowGBps: 18.7,
    highGBps: 19.2,
    what: 'NCCL all-reduce over TCPX, 2 nodes, 8 GPUs and 4 NICs each, bus bandwidth',
    source: 'nccl-tests with the GPUDirect-TCPX plugin, two readings',
    isSuspect: false,
    remark: 'Bus bandwidth of all NICs together, not of one GPU.',
  },
  {
    name: 'nixl-tcpxo',
    lowGBps: 22.96,
    highGBps: 23.58,
    what: 'Google’s GPUDirect-TCPXO plugin for NIXL, one GPU pair, 64 MiB, READ and WRITE',
    source: 'its pull request to NIXL, not measured by others',
    isSuspect: false,
    remark: 'GPU memory only; 4 KiB take about 600 µs.',
  },
  {
    name: 'uccl-nccl',
    lowGBps: 18,
    highGBps: 18,
    what: 'UCCL over NCCL send and receive, READ of 64 MiB, per NIC',
    source: 'its documentation',
    isSuspect: false,
    remark: '',
  },
  {
    name: 'nixl-ucx-tcp',
    lowGBps: 0.6,
    highGBps: 0.6,
    what: 'NIXL with UCX over TCP, GPU memory on A3',
    source: 'reports of users',
    isSuspect: false,
    remark: 'What one has without TCPX and without this.',
  },
];

function gibps(low: number, high: number) {
  return { lowGBps: low * GIB_PER_GB, highGBps: high * GIB_PER_GB };
}

export interface Standing {
  /** Of ours to the reference; 1 within its range. */
  readonly ratio: number;
  /** What is missing; negative where ours is more. */
  readonly gapGBps: number;
}

/** Pure. */
export function standTo(
  rateGBps: number,
  { lowGBps, highGBps }: Pick<Reference, 'lowGBps' | 'highGBps'>,
): Standing {
  const nearest = Math.min(Math.max(rateGBps, lowGBps), highGBps);
  return { ratio: rateGBps / nearest, gapGBps: nearest - rateGBps };
}
