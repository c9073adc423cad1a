// Every problem planted alone into a healthy bundle is found and ranked first.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HostSpec } from '../../test/support/host-spec.js';
import {
  afterRun,
  grownNic,
  HEALTHY_ENVIRONMENT,
  HEALTHY_LOG,
  type RunPlant,
  withRunBundle,
} from '../../test/support/run-bundle.js';
import { smallHostSpec } from '../../test/support/small-host.js';
import { analyze, isTrouble } from './analyze.js';
import { cpuBoundRule } from './rules/run-cores.js';
import { verifiedRule } from './rules/run-requests.js';
import { runFacts } from './run-facts.js';
import { RUN_RULES } from './run-rules.js';

function troubles(plant: RunPlant) {
  return withRunBundle(plant, (folder) => analyze(runFacts(folder)).findings.filter(isTrouble));
}

test('analyze: a healthy run yields no finding', () => {
  assert.deepEqual(troubles({}), []);
});

const NO_CMSG = (flow: string, gpu = 0) =>
  `node-a:100:104 [${gpu}] net.cc:1 NCCL WARN fatal, ${flow} rx no cmsg`;
const FAR = '10.0.0.2<4001><-10.0.0.3<5001>';

function perf(...lines: readonly string[]): RunPlant {
  const none = Object.fromEntries(Object.keys(HEALTHY_ENVIRONMENT).map((n) => [n, undefined]));
  return { log: lines, environment: none };
}

function bench(fields: Record<string, unknown>, channel: Record<string, unknown> = {}): RunPlant {
  const document = {
    ...{ schema: 'tcpx.bench/1', provider: 'tcp', path: 'tcp host', op: 'write' },
    ...{ sizeBytes: 67_108_864, chunkBytes: 524_288, iterations: 20 },
    bandwidthGBps: { p50: 5 },
    verified: { iterations: 20, mismatches: 0 },
    config: { 'flow.windowChunks': 16 },
    kernel: {
      tcp: {},
      nics: {},
      channels: [
        {
          ...{ nic: 'eth1', bytesAcked: 1_342_177_280, busyUs: 1000, rttUs: 100, rttMinUs: 50 },
          ...{ receiveLimitedUs: 0, sendBufferLimitedUs: 0, ...channel },
        },
      ],
    },
    ...fields,
  };
  return perf(JSON.stringify(document, null, 2));
}

function nics(change: (nic: HostSpec['nics'][number], index: number) => HostSpec['nics'][number]) {
  return (spec: HostSpec): HostSpec => ({ ...spec, nics: spec.nics.map(change) });
}

/** Interrupts of eth1 on CPU 1 alone, so that its sibling 5 is free for a thread. */
function onCpuOne(spec: HostSpec): HostSpec {
  return nics((nic, index) => {
    if (index > 0) return nic;
    const place = { requested: '1', effective: '1', counts: { 1: 1000 } };
    return { ...nic, vectors: nic.vectors.map((vector) => ({ ...vector, ...place })) };
  })(spec);
}

/** Data came over both, and neither counted a packet. */
function stillEverywhere(spec: HostSpec): HostSpec {
  return { ...spec, nics: spec.nics.map((nic) => grownNic(nic, 0)) };
}

const PLANTS: readonly (readonly [id: string, plant: RunPlant])[] = [
  [
    'channels.one-nic',
    { log: HEALTHY_LOG.map((line) => line.replace('GPUDirectTCPX_v7/1/', 'GPUDirectTCPX_v7/0/')) },
  ],
  [
    'devmem.still',
    {
      after: () => ({
        ...smallHostSpec(),
        nics: smallHostSpec().nics.map((nic, index) => grownNic(nic, index === 0 ? 8000 : 0)),
      }),
    },
  ],
  ['devmem.still', { after: () => stillEverywhere(smallHostSpec()) }],
  ['no-cmsg.same-host', { log: [...HEALTHY_LOG, NO_CMSG('10.0.0.2<1><-10.0.0.2<2>')] }],
  ['no-cmsg.same-host', { log: [...HEALTHY_LOG, NO_CMSG('127.0.0.1<1><-127.0.0.1<2>')] }],
  [
    'no-cmsg.sockets',
    {
      log: [...HEALTHY_LOG, NO_CMSG(FAR)],
      environment: { NCCL_NSOCKS_PERTHREAD: '8', NCCL_SOCKET_NTHREADS: '2' },
    },
  ],
  [
    'no-cmsg.steering',
    {
      log: [
        ...HEALTHY_LOG,
        'node-a:1:1 [0] net.cc:9 NCCL WARN Create FlowSteerRule Failed',
        NO_CMSG(FAR),
      ],
    },
  ],
  ['no-cmsg.nic', { log: [...HEALTHY_LOG, NO_CMSG(FAR, 1)] }],
  [
    'no-cmsg.kernel',
    { log: [...HEALTHY_LOG, 'node-a:1:1 [0] NCCL INFO cmsg: unknown 1.78', NO_CMSG(FAR)] },
  ],
  ['no-cmsg.other', { log: [...HEALTHY_LOG, NO_CMSG(FAR)] }],
  [
    'requests.pool',
    { log: [...HEALTHY_LOG, 'node-a:1:1 [0] net.cc:9 NCCL WARN unable to allocate requests'] },
  ],
  ['requests.window', { environment: { UCCL_TCPX_MAX_RECV_INFLIGHT: '32' } }],
  ['chunk.large', { environment: { UCCL_TCPX_CHUNK_BYTES: '4194304' } }],
  [
    'chunk.unset',
    {
      log: HEALTHY_LOG.filter((line) => !line.includes('dynamic chunk size')),
      environment: { NCCL_DYNAMIC_CHUNK_SIZE: undefined },
    },
  ],
  ['chunk.unset', { log: HEALTHY_LOG.map((line) => line.replace('size: 524288', 'size: 0')) }],
  ['cores.shared', { environment: { NCCL_GPUDIRECTTCPX_TX_BINDINGS: 'eth1:0-1;eth2:2-2' } }],
  [
    'cores.shared',
    {
      before: onCpuOne,
      after: () => afterRun(onCpuOne(smallHostSpec())),
      environment: { NCCL_GPUDIRECTTCPX_RX_BINDINGS: 'eth1:5-5;eth2:6-6' },
    },
  ],
  ['cores.remote', { environment: { NCCL_GPUDIRECTTCPX_TX_BINDINGS: 'eth1:2-2;eth2:0-0' } }],
  [
    'irq.moved',
    {
      after: nics((nic, index) => ({
        ...nic,
        vectors: nic.vectors.map((vector) =>
          index === 0 && vector.vectorIndex === 0
            ? { ...vector, requested: '0', effective: '0' }
            : vector,
        ),
      })),
    },
  ],
  [
    'irq.moved',
    {
      after: nics((nic, index) => {
        if (index > 0 || nic.ethtool === undefined) return nic;
        const { statistics } = nic.ethtool;
        const reset = { ...statistics, reset_cnt: (statistics['reset_cnt'] ?? 0) + 1 };
        return { ...nic, ethtool: { ...nic.ethtool, statistics: reset } };
      }),
    },
  ],
  ['softnet.drops', { end: { softnet: { processed: 1000, dropped: 7, timeSqueeze: 0 } } }],
  ['tcp.resent', { end: { tcp: { OutSegs: 100_000, RetransSegs: 900 } } }],
  ['sockets.single', { environment: { NCCL_NSOCKS_PERTHREAD: '1' } }],
  [
    'figures.unit',
    perf(
      '[PERF] Iteration 0: total bytes=67108864, chunk_bytes=524288',
      '[PERF] Avg (20 iter): 22.421 ms, BW: 2.79 GB/s',
    ),
  ],
  [
    'figures.ends',
    perf('[PERF] Avg: 22.7 ms, BW: 2.75 GB/s', '[PERF] Avg: 53.4 ms, BW: 1.17 GB/s'),
  ],
  ['figures.baseline', { label: 'T1_run3' }],
  ['cpu.bound', { cpuUse: { 1: 99 } }],
  ['tcp.window', bench({ bandwidthGBps: { p50: 0.16 } }, { rttMinUs: 50_000 })],
  ['tcp.limited', bench({}, { sendBufferLimitedUs: 400 })],
  ['tcp.limited', bench({}, { receiveLimitedUs: 400 })],
  ['lanes.pauses', perf('[9:0x5a] 812 ms: Scavenge 40.1 (50.0) -> 39.0 (50.0) MB, 62.5 / 0.0 ms')],
  [
    'lanes.pauses',
    bench({ lanePauses: { target: { count: 9, totalUs: 90_000, longestUs: 25_000 } } }),
  ],
  ['run.verified', bench({ verified: { iterations: 20, mismatches: 3 } })],
  ['run.gpu-errors', { log: [...HEALTHY_LOG, 'node-a:1:1 [0] NCCL WARN Cuda failure 700'] }],
  [
    'run.interfaces',
    { log: [...HEALTHY_LOG, 'node-a:1:1 [0] net.cc:3 NCCL WARN no interface found'] },
  ],
  ['run.interfaces', { environment: { NCCL_GPUDIRECTTCPX_SOCKET_IFNAME: 'ens7' } }],
  ['run.interfaces', { environment: { NCCL_GPUDIRECTTCPX_SOCKET_IFNAME: undefined } }],
  ['network.fallback', { log: ['node-a:1:1 [0] NCCL INFO Using network Socket'] }],
  ['network.staged', { log: HEALTHY_LOG.map((line) => line.replace('/GDRDMA', '')) }],
  ['run.stuck', { log: [...HEALTHY_LOG, 'node-a:1:1 [0] NCCL WARN recv timeout error 11'] }],
  ['run.outcome', { end: { status: 134 } }],
];

for (const [id, plant] of PLANTS) {
  test(`analyze: ${id} is found and ranked first`, () => {
    const [first] = troubles(plant);
    assert.equal(first?.id, id, JSON.stringify(troubles(plant).map((one) => one.id)));
    assert.ok(first.evidence.length > 0);
    assert.ok((first.experiment ?? '') !== '');
    assert.ok((first.confidence ?? 0) > 0 && (first.confidence ?? 0) <= 1);
    assert.ok((first.gainPercent ?? 0) > 0);
  });
}

test('analyze: every rule about a run is planted above', () => {
  const planted = new Set(PLANTS.map(([id]) => id));
  assert.deepEqual(
    RUN_RULES.map(({ id }) => id).filter((id) => !planted.has(id)),
    [],
  );
});

test('analyze: what stops a run comes before what slows it, gain before guess', () => {
  const ids = troubles({
    log: [
      ...HEALTHY_LOG.map((line) => line.replace('GPUDirectTCPX_v7/1/', 'GPUDirectTCPX_v7/0/')),
      'node-a:1:1 [0] net.cc:9 NCCL WARN unable to allocate requests',
    ],
    environment: { NCCL_NSOCKS_PERTHREAD: '1' },
    end: { status: 1 },
  }).map(({ id }) => id);
  const order = ['requests.pool', 'channels.one-nic', 'sockets.single', 'run.outcome'];
  assert.deepEqual(ids, order);
});

test('analyze: a benchmark that checked nothing is not called correct', () => {
  const statusOf = (mismatches: number | undefined) => {
    const run = { bench: { mismatches }, tests: {} };
    return verifiedRule.check({ run } as unknown as Parameters<typeof verifiedRule.check>[0])
      .status;
  };
  assert.deepEqual([undefined, 0, 3].map(statusOf), ['skip', 'pass', 'fail']);
});

test('analyze: full CPUs of a NIC that carried nothing do not bind the run', () => {
  const statusOf = (bytes: number | undefined) => {
    const nic = { nic: 'eth0', rx: { bytes }, tx: { bytes: 244 }, irqCpus: [{ cpu: 0, count: 3 }] };
    const end = { threads: [] };
    const run = { nics: [nic], interrupts: {}, busyPercent: new Map([[0, 100]]), end, seconds: 20 };
    return cpuBoundRule.check({ run } as unknown as Parameters<typeof cpuBoundRule.check>[0])
      .status;
  };
  assert.deepEqual([244, 2 ** 30, undefined].map(statusOf), ['pass', 'warn', 'warn']);
});
