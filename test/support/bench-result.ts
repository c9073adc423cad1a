// A result of a benchmark as a run leaves it, with speeds of one's choice.

import type { BenchResult } from '../../src/bench/bench-result.js';

const HOST = {
  hostname: 'node-a',
  cpu: 'some CPU',
  cores: 4,
  kernel: '6.1.0',
  node: 'v20.0.0',
  version: '0.1.0',
  congestion: 'cubic',
};

/** Sixty iterations at `rateGBps`, each a little different. */
export function benchResult(rateGBps = 5, fields: Partial<BenchResult> = {}): BenchResult {
  const values = Array.from({ length: 60 }, (_, index) => rateGBps * (1 + (index % 7) / 1000));
  const latencies = values.map((rate) => 67_108.864 / rate);
  return {
    schema: 'tcpx.bench/1',
    ok: true,
    evidence: 'measured',
    provider: 'tcp',
    providerReason: '',
    path: 'tcp host',
    op: 'write',
    memory: 'dram',
    progress: 'lanes',
    sizeBytes: 67_108_864,
    blockBytes: 67_108_864,
    chunkBytes: 524_288,
    channels: 1,
    lanes: 1,
    iterations: 60,
    bandwidthGBps: { mean: rateGBps, p50: rateGBps, min: rateGBps, max: rateGBps },
    latencyUs: { p50: 10, p90: 11, p99: 12, max: 13 },
    cpuSecondsPerGB: { initiator: 0.1, target: 0.2 },
    verified: { iterations: 65, mismatches: 0 },
    receipt: undefined,
    laneCpus: [],
    zeroCopy: [],
    config: { 'flow.channels': 1 },
    host: HOST,
    peer: HOST,
    recordedAt: '2026-01-01T00:00:00.000Z',
    samples: {
      bandwidthGBps: { every: 1, values },
      latencyUs: { every: 1, values: latencies },
    },
    ...fields,
  };
}
