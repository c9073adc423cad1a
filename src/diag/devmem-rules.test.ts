// Rules about device memory where one NIC stands still, and where the emulator stands in.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a3HighTree } from '../../test/support/a3-high-host.js';
import { readFixtureHost } from '../../test/support/fixture-host.js';
import type { Nic } from '../host/read/model.js';
import { diagnose } from './doctor.js';
import type { DoctorFacts } from './facts.js';
import { capabilityRule, devmemCounterRule, pluginRule, rxdmRule } from './rules/devmem.js';
import { interfaceListRule } from './rules/interface-list.js';
import { gpuDriverRule } from './rules/machine.js';

const HOST = readFixtureHost(a3HighTree());
const RULES = [capabilityRule, rxdmRule, pluginRule, gpuDriverRule, devmemCounterRule];

const FACTS: DoctorFacts = {
  provider: 'tcpx',
  host: HOST,
  isCapture: false,
  dataNics: HOST.nics.filter((nic) => /^eth[1-4]$/.test(nic.name)),
  environment: {},
  reference: undefined,
  rxdm: { processes: [], prefix: '/run/tcpx', sockets: [], journal: [] },
  plugin: { candidates: ['/x'], path: '/x', versions: [7], isNoexec: false, wasLookedFor: true },
  netdevOperations: [],
  sockets: [],
  socketBudget: 8,
  peers: [],
  timeKeepers: [],
  applied: undefined,
};

function statuses(facts: Partial<DoctorFacts>): Readonly<Record<string, string>> {
  const { findings } = diagnose({ ...FACTS, ...facts }, RULES);
  return Object.fromEntries(findings.map(({ id, status }) => [id, status]));
}

test('doctor: a NIC over which data came without device memory, while others counted it', () => {
  const still = (nic: Nic): Nic => {
    if (nic.name !== 'eth2' || nic.ethtool === undefined) return nic;
    const statistics = { ...nic.ethtool.statistics, rx_devmem_pkts: 0, rx_bytes: 2 ** 40 };
    return { ...nic, ethtool: { ...nic.ethtool, statistics } };
  };
  assert.equal(statuses({})['devmem.counter'], 'pass');
  assert.equal(statuses({ dataNics: FACTS.dataNics.map(still) })['devmem.counter'], 'warn');
});

test('doctor: over the emulator hardware is not asked for, the plugin is', () => {
  const bare: Partial<DoctorFacts> = {
    host: { ...HOST, gpus: [], isPciComplete: true },
    dataNics: FACTS.dataNics.map((nic) => ({ ...nic, ethtool: undefined })),
  };
  assert.equal(statuses(bare)['devmem.rxdm'], 'fail');
  assert.equal(statuses(bare)['system.gpu'], 'fail');
  assert.deepEqual(statuses({ ...bare, plugin: { ...FACTS.plugin, isEmulator: true } }), {
    'devmem.capability': 'skip',
    'devmem.rxdm': 'skip',
    'devmem.plugin': 'pass',
    'system.gpu': 'skip',
    'devmem.counter': 'skip',
  });
});

test('doctor: a list of interfaces that is missing, wrong in part, or wrong altogether', () => {
  const status = (list: string | undefined, over: Partial<DoctorFacts> = {}) => {
    const environment = list === undefined ? {} : { NCCL_GPUDIRECTTCPX_SOCKET_IFNAME: list };
    const [finding] = diagnose({ ...FACTS, environment, ...over }, [interfaceListRule]).findings;
    return [finding?.status, finding?.evidence.join()] as const;
  };
  assert.equal(status('eth1,eth2,eth3,eth4')[0], 'pass');
  assert.equal(status('eth')[0], 'pass');
  assert.match(status(undefined).join(), /^warn,.*is not set; data NICs are eth1, eth2/);
  assert.match(status('eth1,eth7').join(), /^warn,.*there is no eth7$/);
  assert.match(status('ens1').join(), /^fail,.*there is no ens1$/);
  assert.equal(status('ens1', { provider: 'tcp' })[0], 'skip');
  const emulated = {
    plugin: { ...FACTS.plugin, isEmulator: true },
    environment: {
      TCPX_EMU_NICS: 'nicA,addr=127.0.0.11',
      NCCL_GPUDIRECTTCPX_SOCKET_IFNAME: 'nicA',
    },
  };
  assert.equal(status(undefined, emulated)[0], 'pass');
});
