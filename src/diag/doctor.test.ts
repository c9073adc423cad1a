// The doctor on the A3-high fixture: a healthy machine passes, and each fault is found by its rule.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a3HighTree } from '../../test/support/a3-high-host.js';
import { readFixtureHost } from '../../test/support/fixture-host.js';
import type { Observation } from '../host/irq/observation.js';
import { A3_HIGH_RX_BINDINGS, A3_HIGH_TX_BINDINGS } from '../host/irq/policy.js';
import type { LineVerdict } from '../host/irq/verify.js';
import type { CpuModel, CpuPower, IdleState, Nic } from '../host/read/model.js';
import { diagnose } from './doctor.js';
import type { DoctorFacts } from './facts.js';
import { netTables } from './plugin-file.js';
import type { RuleStatus } from './rule.js';
import { LIST_VARIABLE } from './rules/interface-list.js';
import { RULES } from './rules.js';
import { parseTcpTable } from './tcp-sockets.js';

const HOST = readFixtureHost(a3HighTree());
const DATA_NICS = HOST.nics.filter((nic) => /^eth[1-4]$/.test(nic.name));

const HEALTHY: DoctorFacts = {
  provider: 'tcpx',
  host: HOST,
  isCapture: false,
  dataNics: DATA_NICS,
  environment: {
    NCCL_DYNAMIC_CHUNK_SIZE: '524288',
    [LIST_VARIABLE]: 'eth1,eth2,eth3,eth4',
  },
  reference: undefined,
  rxdm: {
    processes: [{ pid: 9, name: 'tcpgpudmarxd', command: '/tcpgpudmarxd' }],
    prefix: '/run/tcpx',
    sockets: ['rx_rule_manager', 'rx_rule_uninstall'],
    journal: [],
  },
  plugin: { candidates: ['/x'], path: '/x', versions: [6, 7], isNoexec: false, wasLookedFor: true },
  netdevOperations: undefined,
  sockets: [{ nic: 'eth1', count: 8, holders: ['77 bench'], otherCount: 3, unknownCount: 0 }],
  socketBudget: 8,
  peers: [{ name: 'node-b', addresses: ['10.0.1.3'], isLocal: false }],
  timeKeepers: ['chronyd (process 5)'],
  applied: undefined,
};

function observation(packets: number): Observation {
  const growth = { before: 1000, after: 1000 + packets, grown: packets };
  return {
    folder: 'diagnostics/nccl_1',
    hostname: HOST.hostname,
    seconds: 20,
    interrupts: new Map(),
    lines: new Map(),
    resetIrqs: [],
    busyPercent: new Map(),
    devmem: new Map(DATA_NICS.map((nic) => [nic.name, growth])),
    nicAddresses: new Map(),
    isReversed: false,
    missing: [],
  };
}

function statusOf(facts: Partial<DoctorFacts>, id: string): RuleStatus | undefined {
  return diagnose({ ...HEALTHY, ...facts }).findings.find((finding) => finding.id === id)?.status;
}

function withNic(change: (nic: Nic) => Partial<Nic>): Partial<DoctorFacts> {
  return { dataNics: DATA_NICS.map((nic) => ({ ...nic, ...change(nic) })) };
}

test('doctor: a healthy A3-high machine fails nothing and warns of nothing', () => {
  const diagnosis = diagnose(HEALTHY);
  const bad = diagnosis.findings.filter(({ status }) => status === 'fail' || status === 'warn');
  assert.deepEqual(
    bad.map(({ id, evidence }) => [id, evidence]),
    [],
  );
  assert.equal(diagnosis.ok, true);
  assert.equal(diagnosis.schema, 'tcpx.doctor/1');
});

test('doctor: a reference run that moved devmem packets puts system findings last', () => {
  const diagnosis = diagnose({ ...HEALTHY, reference: observation(30_000_000) });
  assert.equal(diagnosis.provenBy, 'diagnostics/nccl_1');
  assert.equal(diagnosis.findings[0]?.id, 'reference.devmem');
  const areas = diagnosis.findings.map(({ area }) => area);
  const firstSystem = areas.indexOf('system');
  assert.ok(areas.slice(firstSystem).every((area) => area === 'system'));
  assert.ok(areas.slice(0, firstSystem).includes('run'));
});

test('doctor: without such a run the order stays, and one that moved none fails', () => {
  const areas = diagnose(HEALTHY).findings.map(({ area }) => area);
  assert.equal(areas[1], 'system');
  assert.equal(statusOf({ reference: observation(0) }, 'reference.devmem'), 'fail');
  assert.equal(diagnose({ ...HEALTHY, reference: observation(0) }).provenBy, undefined);
});

test('doctor: a bundle of another machine, order or boot proves nothing', () => {
  const good = observation(30_000_000);
  const reset = { before: 100, after: 5, grown: undefined };
  const fresh = { before: undefined, after: 95, grown: undefined };
  const wrong: readonly (readonly [string, Partial<Observation>])[] = [
    ['another host', { hostname: 'elsewhere' }],
    ['another machine type', { nicAddresses: new Map([['eth1', '0000:99:00.0']]) }],
    ['nothing to compare', { hostname: undefined }],
    ['wrong order', { isReversed: true }],
    ['a reset', { devmem: new Map(DATA_NICS.map((nic) => [nic.name, reset])) }],
    ['no value before', { devmem: new Map(DATA_NICS.map((nic) => [nic.name, fresh])) }],
    ['counters that this host has not reached', observation(10 ** 12)],
    ['NICs that carry no data here', { devmem: new Map([['eth0', good.devmem.get('eth1')!]]) }],
  ];
  for (const [what, change] of wrong) {
    const reference = { ...good, ...change };
    assert.equal(statusOf({ reference }, 'reference.devmem'), 'skip', what);
  }
});

const ETHTOOL = DATA_NICS[0]!.ethtool!;
const NO_DEVMEM = { ...ETHTOOL, statistics: { rx_devmem_pkts: 0 } };
const APPLIED: LineVerdict = {
  irq: 112,
  nic: 'eth1',
  queue: 'TX queue 0',
  planned: [8],
  requested: [8],
  effective: undefined,
  state: 'bound',
  onPlan: undefined,
  offPlan: undefined,
  evidence: 'x',
};
const PREFIX = 'NCCL_GPUDIRECTTCPX_';
const BINDINGS = {
  [`${PREFIX}TX_BINDINGS`]: A3_HIGH_TX_BINDINGS,
  [`${PREFIX}RX_BINDINGS`]: A3_HIGH_RX_BINDINGS,
};
const CHUNK = { NCCL_DYNAMIC_CHUNK_SIZE: '524288' };

const SOCKETS = HEALTHY.sockets![0]!;

function withCpus(change: Partial<CpuModel>): Partial<DoctorFacts> {
  return { host: { ...HOST, cpus: { ...HOST.cpus, ...change } } };
}

function withPower(change: Partial<CpuPower>): Partial<DoctorFacts> {
  return withCpus({ power: HOST.cpus.power.map((power) => ({ ...power, ...change })) });
}

function idleState(exitLatencyUs: number | undefined, isEnabled: boolean): IdleState {
  return { name: 'C6', exitLatencyUs, isEnabled };
}

const FAULTS: readonly (readonly [string, RuleStatus, Partial<DoctorFacts>])[] = [
  ['system.kernel', 'fail', { host: { ...HOST, kernelRelease: '4.19.0' } }],
  [
    'system.limits',
    'warn',
    { host: { ...HOST, limits: { ...HOST.limits, openFiles: { soft: 1024, hard: 4096 } } } },
  ],
  ['nic.link', 'fail', withNic(() => ({ operState: 'down' }))],
  ['nic.counters', 'warn', withNic(() => ({ statistics: { rx_errors: 3 } }))],
  ['nic.mtu', 'warn', withNic((nic) => ({ mtu: nic.name === 'eth1' ? 1460 : 8244 }))],
  ['nic.mtu', 'warn', withNic(() => ({ mtu: 1460 }))],
  ['nic.steering', 'warn', withNic(() => ({ isThreadedNapi: true }))],
  [
    'devmem.capability',
    'fail',
    withNic(() => ({
      ethtool: { ...ETHTOOL, privateFlags: { 'enable-strict-header-split': false } },
    })),
  ],
  [
    'devmem.capability',
    'pass',
    {
      netdevOperations: [10, 11, 13, 15],
      ...withNic(() => ({
        ethtool: {
          ...ETHTOOL,
          privateFlags: {},
          rings: { ...ETHTOOL.rings!, tcpDataSplit: 'on' },
          features: { 'rx-ntuple-filter': { isActive: true, isFixed: false } },
        },
      })),
    },
  ],
  ['devmem.rxdm', 'fail', { rxdm: { ...HEALTHY.rxdm, sockets: [] } }],
  ['devmem.rxdm', 'warn', { rxdm: { ...HEALTHY.rxdm, journal: ['rule install failed'] } }],
  ['devmem.plugin', 'fail', { plugin: { ...HEALTHY.plugin, path: undefined } }],
  ['devmem.plugin', 'fail', { plugin: { ...HEALTHY.plugin, versions: [5, 6] } }],
  ['devmem.plugin', 'fail', { plugin: { ...HEALTHY.plugin, isNoexec: true } }],
  ['system.gpu', 'fail', { host: { ...HOST, gpus: [] } }],
  ['system.gpu', 'skip', { provider: 'tcp', host: { ...HOST, gpus: [] } }],
  ['run.peers', 'fail', { peers: [{ name: 'me', addresses: ['10.0.1.2'], isLocal: true }] }],
  ['run.list', 'warn', { environment: {} }],
  ['run.list', 'warn', { environment: { [LIST_VARIABLE]: 'eth1,eth9' } }],
  ['run.list', 'fail', { environment: { [LIST_VARIABLE]: 'eth9' } }],
  ['run.list', 'skip', { provider: 'tcp', environment: {} }],
  ['run.variables', 'fail', { environment: {} }],
  ['run.variables', 'fail', { environment: { ...CHUNK, NCCL_SOCKET_NTHREADS: '9' } }],
  ['run.variables', 'warn', { environment: { ...CHUNK, [`${PREFIX}PORT_BEGIN`]: '5000' } }],
  [
    'run.variables',
    'fail',
    { environment: { ...CHUNK, [`${PREFIX}TELEMETRY_EXPORT_STATS_TO_FILE`]: '1' } },
  ],
  ['run.bindings', 'pass', { environment: BINDINGS }],
  ['run.bindings', 'fail', { environment: { [`${PREFIX}TX_BINDINGS`]: 'eth1:8' } }],
  ['run.bindings', 'warn', { environment: { [`${PREFIX}TX_BINDINGS`]: 'eth9:8-9;eth1:1-2' } }],
  [
    'run.bindings',
    'warn',
    {
      environment: {
        ...BINDINGS,
        [`${PREFIX}RX_BINDINGS`]: A3_HIGH_RX_BINDINGS.replace('126-139', '124-139'),
      },
    },
  ],
  ['run.sockets', 'warn', { sockets: [{ ...SOCKETS, count: 9 }] }],
  ['run.sockets', 'pass', { sockets: [{ ...SOCKETS, count: 0, otherCount: 99 }] }],
  ['run.sockets', 'skip', { sockets: [{ ...SOCKETS, count: 0, unknownCount: 9 }] }],
  [
    'run.sockets',
    'warn',
    { environment: { NCCL_NSOCKS_PERTHREAD: '4', UCCL_TCPX_NUM_CHANNELS: '4' } },
  ],
  ['irq.clash', 'warn', { environment: BINDINGS }],
  ['irq.node', 'warn', withNic((nic) => ({ node: nic.node === 0 ? 1 : 0 }))],
  [
    'irq.writers',
    'warn',
    {
      host: {
        ...HOST,
        writers: [
          { kind: 'irqbalance', isActive: true, pid: 1, evidence: 'process 1', options: [] },
        ],
      },
    },
  ],
  [
    'tcp.congestion',
    'warn',
    { host: { ...HOST, limits: { ...HOST.limits, congestionControl: 'bbr' } } },
  ],
  [
    'tcp.buffers',
    'warn',
    { host: { ...HOST, limits: { ...HOST.limits, tcpWmemBytes: [4096, 16384, 4194304] } } },
  ],
  ['tcp.retransmits', 'warn', { host: { ...HOST, tcpCounters: { OutSegs: 100, RetransSegs: 5 } } }],
  [
    'system.iommu',
    'warn',
    {
      host: {
        ...HOST,
        iommu: {
          isActive: true,
          groups: [{ id: 1, type: 'DMA-FQ', devices: ['0000:06:00.0'] }],
          kernelArguments: ['intel_iommu=on'],
        },
      },
    },
  ],
  ['system.clock', 'warn', { timeKeepers: [] }],
  ['cpu.governor', 'warn', withPower({ governor: 'powersave', frequencyDriver: 'acpi-cpufreq' })],
  ['cpu.governor', 'pass', withPower({ governor: 'powersave', frequencyDriver: 'intel_pstate' })],
  ['cpu.governor', 'skip', withPower({ governor: undefined })],
  ['cpu.idle', 'warn', withPower({ idleStates: [idleState(133, true)] })],
  ['cpu.idle', 'pass', withPower({ idleStates: [idleState(133, false)] })],
  ['cpu.idle', 'skip', withPower({ idleStates: [idleState(undefined, true)] })],
  ['cpu.isolated', 'warn', { environment: BINDINGS, ...withCpus({ isolated: [8, 9] }) }],
  ['cpu.isolated', 'pass', { environment: BINDINGS, ...withCpus({ isolated: [] }) }],
  ['cpu.isolated', 'skip', { environment: BINDINGS, ...withCpus({ isolated: undefined }) }],
  [
    'irq.applied',
    'fail',
    {
      applied: { lines: [{ ...APPLIED, requested: [17], effective: [17], state: 'lost' }] },
    },
  ],
  ['irq.applied', 'skip', { applied: { lines: [{ ...APPLIED, state: 'requested' }] } }],
  ['irq.applied', 'skip', { applied: { problem: 'made for another host' } }],
];

/** A value that is not there, and the rule that must not judge it. */
const UNKNOWNS: readonly (readonly [string, Partial<DoctorFacts>])[] = [
  ['nic.link', withNic(() => ({ operState: undefined, hasCarrier: undefined }))],
  ['nic.link', { dataNics: [], host: { ...HOST, nics: [] } }],
  ['nic.counters', withNic(() => ({ statistics: {} }))],
  ['nic.counters', withNic(() => ({ ethtool: undefined }))],
  ['nic.counters', { host: { ...HOST, softnet: [] } }],
  ['nic.mtu', withNic(() => ({ mtu: 1400, speedMbps: undefined }))],
  ['nic.mtu', withNic((nic) => (nic.name === 'eth1' ? { mtu: undefined } : {}))],
  ['nic.steering', withNic(() => ({ isThreadedNapi: undefined }))],
  ['nic.steering', withNic(() => ({ rxSteering: [], rxQueueCount: undefined }))],
  ['devmem.capability', withNic(() => ({ ethtool: undefined }))],
  ['devmem.capability', withNic(() => ({ ethtool: { ...ETHTOOL, privateFlags: {} } }))],
  ['devmem.counter', withNic((nic) => ({ ethtool: nic.name === 'eth1' ? undefined : NO_DEVMEM }))],
  ['devmem.rxdm', { rxdm: { ...HEALTHY.rxdm, sockets: undefined } }],
  ['devmem.plugin', { plugin: { ...HEALTHY.plugin, path: undefined, wasLookedFor: false } }],
  ['devmem.plugin', { plugin: { ...HEALTHY.plugin, isNoexec: undefined } }],
  ['system.gpu', { host: { ...HOST, gpus: [], isPciComplete: false } }],
  ['system.limits', { host: { ...HOST, limits: { ...HOST.limits, memlockBytes: undefined } } }],
  ['system.limits', { host: { ...HOST, limits: { ...HOST.limits, optmemMaxBytes: undefined } } }],
  ['system.iommu', { host: { ...HOST, iommu: { ...HOST.iommu, isActive: undefined } } }],
  ['system.clock', { timeKeepers: [], host: { ...HOST, unseenWriters: ['the process table'] } }],
  ['irq.writers', { host: { ...HOST, unseenWriters: ['the process table'] } }],
  ['irq.node', { host: { ...HOST, nodes: [] } }],
  ['irq.node', withNic(() => ({ node: undefined }))],
  ['irq.node', { host: { ...HOST, irqs: [] } }],
  ['irq.clash', { environment: BINDINGS, host: { ...HOST, irqs: [] } }],
  ['run.peers', { peers: [{ name: 'b', addresses: ['10.0.1.3'], isLocal: undefined }] }],
  ['run.bindings', { environment: BINDINGS, host: { ...HOST, nics: [] } }],
  ['run.list', { host: { ...HOST, nics: [] } }],
  ['tcp.congestion', { host: { ...HOST, limits: { ...HOST.limits, sysctls: {} } } }],
  [
    'tcp.buffers',
    {
      ...withNic(() => ({ speedMbps: undefined })),
      host: { ...HOST, limits: { ...HOST.limits, tcpWmemBytes: [4096, 16384, 8_388_608] } },
    },
  ],
  ['tcp.retransmits', { host: { ...HOST, tcpCounters: {} } }],
];

for (const [index, [id, facts]] of UNKNOWNS.entries()) {
  test(`doctor: ${id} is skipped with what is missing (${index})`, () => {
    const finding = diagnose({ ...HEALTHY, ...facts }).findings.find((found) => found.id === id);
    assert.equal(finding?.status, 'skip', finding?.evidence.join('; '));
    assert.match(finding.evidence.join(' '), /not|unknown|no /, 'says what is missing');
  });
}

for (const [id, status, facts] of FAULTS) {
  test(`doctor: ${id} is ${status} with ${Object.keys(facts).join(', ')} changed`, () => {
    assert.equal(statusOf(facts, id), status);
    const diagnosis = diagnose({ ...HEALTHY, ...facts });
    if (status === 'fail') assert.equal(diagnosis.ok, false);
  });
}

test('doctor: every rule with a fault in it has a test here', () => {
  // Those over measured figures are tested beside them (measured.test.ts).
  const elsewhere = ['reference.devmem', 'devmem.counter', 'measure.pacing', 'measure.cores'];
  const tested = new Set([...FAULTS.map(([id]) => id), ...elsewhere]);
  assert.deepEqual(
    RULES.filter(({ id }) => !tested.has(id)).map(({ id }) => id),
    [],
  );
});

test('doctor: devmem packets not counted since boot are a warning', () => {
  const none = withNic(() => ({ ethtool: { ...ETHTOOL, statistics: { rx_devmem_pkts: 0 } } }));
  assert.equal(statusOf(none, 'devmem.counter'), 'warn');
});

test('doctor: every rule says why it matters, a remedy and a proof, under a unique id', () => {
  assert.equal(new Set(RULES.map(({ id }) => id)).size, RULES.length);
  for (const { why, remedy, proof } of RULES)
    assert.ok(why !== '' && remedy !== '' && proof !== '');
});

test('doctor: a capture is not blamed for what it does not hold', () => {
  const facts: Partial<DoctorFacts> = {
    isCapture: true,
    rxdm: { ...HEALTHY.rxdm, sockets: [] },
    plugin: { ...HEALTHY.plugin, path: undefined },
    timeKeepers: [],
  };
  for (const id of ['devmem.rxdm', 'devmem.plugin', 'system.clock']) {
    assert.equal(statusOf(facts, id), 'skip', id);
  }
});

test('plugin file: finds the exported tables by name', () => {
  const content = Buffer.from('\0ncclNetPlugin_v7\0x\0ncclNetPlugin_v6\0ncclCollNetPlugin_v6\0');
  assert.deepEqual(netTables(content), [6, 7]);
});

test('tcp sockets: established ones with their local address', () => {
  const row = (local: string, state: string, inode: number) =>
    `   0: ${local} 0301000A:C350 ${state} 0:0 00:0 00000000     0        0 ${inode} 1\n`;
  const heading = '  sl  local_address rem_address   st tx_queue rx_queue uid timeout inode\n';
  const text = heading + row('0201000A:1F90', '01', 4711) + row('00000000:0016', '0A', 12);
  assert.deepEqual(parseTcpTable(text), [{ address: '10.0.1.2', inode: '4711' }]);
});
