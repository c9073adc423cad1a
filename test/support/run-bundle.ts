// A bundle of a healthy run of two NICs, made by the collector's own writers from a made-up host,
// so that a test plants one problem in it.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BundleWriter } from '../../src/diag/bundle/bundle-writer.js';
import {
  type HostState,
  readState,
  writeAfter,
  writeBefore,
} from '../../src/diag/bundle/host-state.js';
import { BUNDLE_SCHEMA } from '../../src/diag/view/run-record.js';
import { openRunView } from '../../src/diag/view/run-view.js';
import { metricsText, summaryText } from '../../src/diag/view/summary-text.js';
import type { HostSource } from '../../src/host/read/read-host.js';
import { readHost } from '../../src/host/read/read-host.js';
import type { HostSpec, NicSpec } from './host-spec.js';
import { openFixture } from './open-fixture.js';
import { smallHostSpec } from './small-host.js';

export interface RunPlant {
  readonly label?: string;
  readonly log?: readonly string[];
  /** undefined takes a variable away. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly end?: Readonly<Record<string, unknown>>;
  readonly cpuUse?: Readonly<Record<number, number>>;
  /** Changes the host before or after the run. */
  readonly before?: (spec: HostSpec) => HostSpec;
  readonly after?: (spec: HostSpec) => HostSpec;
  readonly files?: Readonly<Record<string, string>>;
}

const RUN_BYTES = 64_000_000_000;
const RUN_PACKETS = 8_000_000;
const RUN_INTERRUPTS = 50_000;

export const HEALTHY_LOG: readonly string[] = [
  'node-a:100:100 [0] NCCL INFO NCCL version 2.18.5+cuda12.2',
  'node-a:100:101 [0] NCCL INFO NET/GPUDirectTCPX ver. 3.1.9.',
  'node-a:100:101 [0] NCCL INFO NET/GPUDirectTCPX : Using [0]eth1:10.0.0.2<0> [1]eth2:10.0.1.2<0>',
  'node-a:100:101 [0] NCCL INFO : dynamic chunk size: 524288',
  'node-a:100:101 [0] NCCL INFO Using network GPUDirectTCPX_v7',
  ...[0, 1].map(
    (channel) =>
      `node-a:100:101 [${channel}] NCCL INFO Channel 0${channel}/0 : ${channel}[${channel}] -> ` +
      `${channel + 2}[${channel}] [send] via NET/GPUDirectTCPX_v7/${channel}/GDRDMA`,
  ),
  'node-a:100:102 [0] NCCL INFO [Proxy Progress] Device 0 CPU core 0',
  'node-a:100:103 [0] NCCL INFO accepted  (0) [1:10.0.0.2<4000><-10.0.0.3<5000> rx] ' +
    'through cuda, fd 5 cpu 1 napi_id 8201',
  '  67108864  16777216  float  sum  -1  6710.9  10.00  18.75  0  6400.0  10.49  19.66  0',
  '# Out of bounds values : 0 OK',
  '# Avg bus bandwidth    : 18.7',
];

export const HEALTHY_ENVIRONMENT: Readonly<Record<string, string>> = {
  NCCL_DYNAMIC_CHUNK_SIZE: '524288',
  NCCL_GPUDIRECTTCPX_CTRL_DEV: 'eth0',
  NCCL_GPUDIRECTTCPX_RX_BINDINGS: 'eth1:4-4;eth2:6-6',
  NCCL_GPUDIRECTTCPX_SOCKET_IFNAME: 'eth1,eth2',
  NCCL_GPUDIRECTTCPX_TX_BINDINGS: 'eth1:0-0;eth2:2-2',
  NCCL_NSOCKS_PERTHREAD: '4',
  NCCL_SOCKET_NTHREADS: '1',
};

/** Statistics and interrupts as they stand after the run. */
export function afterRun(spec: HostSpec): HostSpec {
  return { ...spec, nics: spec.nics.map((nic) => grownNic(nic, RUN_PACKETS)) };
}

export function grownNic(nic: NicSpec, devmemPackets: number): NicSpec {
  const statistics: Record<string, number> = { ...nic.ethtool?.statistics };
  const add = (name: string, count: number) => {
    statistics[name] = (statistics[name] ?? 0) + count;
  };
  add('rx_bytes', RUN_BYTES);
  add('tx_bytes', RUN_BYTES);
  add('rx_devmem_pkts', devmemPackets);
  const vectors = nic.vectors.map((vector) => {
    const cpu = Number(vector.requested);
    const counts = vector.name.includes('mgmnt')
      ? vector.counts
      : { ...vector.counts, [cpu]: (vector.counts[cpu] ?? 0) + RUN_INTERRUPTS };
    return { ...vector, counts };
  });
  if (nic.ethtool === undefined) return { ...nic, vectors };
  return { ...nic, vectors, ethtool: { ...nic.ethtool, statistics } };
}

function stateOf(spec: HostSpec): { source: HostSource; state: HostState } {
  const source = openFixture(spec);
  const model = readHost(source);
  const wish = { source, model, nics: model.nics, named: [], emulatedFolder: '' };
  return { source, state: readState(wish) };
}

function cpuText(cpuUse: Readonly<Record<number, number>>): string {
  const rows = Array.from({ length: 8 }, (_, cpu) => {
    const busy = cpuUse[cpu] ?? 20;
    return `Average:   ${cpu}   ${busy.toFixed(2)}   0.00   0.00   ${(100 - busy).toFixed(2)}\n`;
  });
  const head = 'Average:   CPU   %busy    %irq   %soft   %idle\n';
  return `Linux 6.6.0-tcpx (small-fixture) 2025-10-07 (8 CPU)\n\n${head}${rows.join('')}`;
}

/** Writes the bundle into the folder. */
export function writeRunBundle(folder: string, plant: RunPlant = {}): void {
  const writer = new BundleWriter(folder, 16 * 1024 * 1024);
  const spec = smallHostSpec();
  const before = stateOf((plant.before ?? same)(spec));
  const after = stateOf((plant.after ?? same)(afterRun(spec)));
  const merged = Object.entries({ ...HEALTHY_ENVIRONMENT, ...plant.environment });
  const environment = Object.fromEntries(
    merged.filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
  const place = 'small-fixture_20251007_120000';
  writeBefore(writer, { ...before, environment, heading: '# made up\n', place });
  writer.write('cpu_usage_during.txt', cpuText(plant.cpuUse ?? {}));
  writer.write('nccl_test_output.log', `${(plant.log ?? HEALTHY_LOG).join('\n')}\n`);
  writeAfter(writer, after.source, before.state, after.state);
  writer.write('bundle.jsonl', recordLines(plant));
  for (const [name, text] of Object.entries(plant.files ?? {})) {
    writeFileSync(join(folder, name), text);
  }
  const view = openRunView(folder);
  writer.write('nccl_metrics_summary.txt', metricsText(view));
  writer.write('SUMMARY.txt', summaryText(view, writer.files));
}

function same(spec: HostSpec): HostSpec {
  return spec;
}

function recordLines({ label = 'nccl', end }: RunPlant): string {
  const begin = {
    ...{
      record: 'begin',
      schema: BUNDLE_SCHEMA,
      version: '0.1.0',
      hostname: 'small-fixture',
      label,
    },
    ...{ command: ['mpirun', 'all_reduce_perf'], started: '2025-10-07T12:00:00.000Z' },
  };
  const last = {
    ...{ record: 'end', seconds: 30, status: 0, samples: 30, overheadPercent: 0.2 },
    softnet: { processed: 1_000_000, dropped: 0, timeSqueeze: 10 },
    tcp: { OutSegs: 1_000_000, InSegs: 1_000_000, RetransSegs: 5 },
    threads: [{ tid: 7, name: 'proxy', seconds: 12, allowed: '0-7', cpus: { 0: 30 } }],
    ...end,
  };
  return `${JSON.stringify(begin)}\n${JSON.stringify(last)}\n`;
}

/** In a folder of its own, which is gone when `use` returns. */
export function withRunBundle<T>(plant: RunPlant, use: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-run-'));
  try {
    writeRunBundle(folder, plant);
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
