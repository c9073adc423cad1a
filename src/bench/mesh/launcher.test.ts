// Who is which process of a mesh: variables of launchers, lists of nodes and of hosts.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withCode } from '../../../test/support/expect-error.js';
import type { Environment } from '../../base/config.js';
import { expandHostRanges } from './host-ranges.js';
import { type LaunchPlace, launchPlace } from './launcher.js';
import { parseNodeList } from './node-list.js';

const SLURM = {
  SLURM_PROCID: '9',
  SLURM_NTASKS: '20',
  SLURM_LOCALID: '1',
  SLURM_NODEID: '1',
  SLURM_TASKS_PER_NODE: '8(x2),4',
  SLURM_JOB_NODELIST: 'a3-[07-08],spare',
  SLURM_JOB_ID: '77',
  SLURM_STEP_ID: '3',
};
const OPEN_MPI = {
  OMPI_COMM_WORLD_RANK: '3',
  OMPI_COMM_WORLD_SIZE: '4',
  OMPI_COMM_WORLD_LOCAL_RANK: '1',
  OMPI_COMM_WORLD_LOCAL_SIZE: '2',
  PMIX_NAMESPACE: '872546305',
};
const TORCHRUN = {
  RANK: '5',
  WORLD_SIZE: '16',
  LOCAL_RANK: '5',
  LOCAL_WORLD_SIZE: '8',
  MASTER_ADDR: '10.0.0.1',
  MASTER_PORT: '29500',
  TORCHELASTIC_RUN_ID: 'run-1',
};
const POD = { JOB_COMPLETION_INDEX: '1', JOB_COMPLETIONS: '2', HOSTNAME: 'mesh-1' };

const PLACES: readonly [name: string, Environment, LaunchPlace | undefined][] = [
  ['nothing', { PATH: '/bin', HOSTNAME: 'mesh-1' }, undefined],
  ['variables that are empty', { RANK: '', OMPI_COMM_WORLD_RANK: '' }, undefined],
  [
    'Open MPI',
    OPEN_MPI,
    { launcher: 'Open MPI', rank: 3, size: 4, localRank: 1, localSize: 2, job: '872546305' },
  ],
  [
    'Open MPI within Slurm: its own numbers count',
    { ...SLURM, ...OPEN_MPI },
    { launcher: 'Open MPI', rank: 3, size: 4, localRank: 1, localSize: 2, job: '872546305' },
  ],
  [
    'Slurm: how many are on this node, and the first host',
    SLURM,
    {
      ...{ launcher: 'Slurm', rank: 9, size: 20, localRank: 1, localSize: 8 },
      ...{ firstHost: 'a3-07', job: '77.3' },
    },
  ],
  [
    'Slurm: one task on each node',
    { SLURM_PROCID: '1', SLURM_NTASKS: '2', SLURM_LOCALID: '0', SLURM_NODEID: '1' },
    { launcher: 'Slurm', rank: 1, size: 2, localRank: 0, localSize: 1 },
  ],
  [
    'a step of Slurm counts before its job',
    { ...SLURM, SLURM_STEP_NUM_TASKS: '12', SLURM_STEP_TASKS_PER_NODE: '6(x2)' },
    {
      ...{ launcher: 'Slurm', rank: 9, size: 12, localRank: 1, localSize: 6 },
      ...{ firstHost: 'a3-07', job: '77.3' },
    },
  ],
  [
    'torchrun',
    TORCHRUN,
    {
      ...{ launcher: 'torchrun', rank: 5, size: 16, localRank: 5, localSize: 8 },
      ...{ firstHost: '10.0.0.1', job: 'run-1' },
    },
  ],
  [
    'torchrun without a name of the run',
    { RANK: '1', WORLD_SIZE: '2', TORCHELASTIC_RUN_ID: 'none' },
    { launcher: 'torchrun', rank: 1, size: 2, localRank: 0, localSize: 1 },
  ],
  [
    'by hand in the form of torchrun',
    { RANK: '1', WORLD_SIZE: '2', MASTER_ADDR: 'fd00::1' },
    {
      ...{ launcher: 'torchrun', rank: 1, size: 2, localRank: 0, localSize: 1 },
      firstHost: 'fd00::1',
    },
  ],
  [
    'PMI, as MPICH has it',
    { PMI_RANK: '2', PMI_SIZE: '4', MPI_LOCALRANKID: '0', MPI_LOCALNRANKS: '2' },
    { launcher: 'PMI', rank: 2, size: 4, localRank: 0, localSize: 2 },
  ],
  [
    'PMI of srun: the rest is Slurm’s',
    { PMI_RANK: '9', PMI_SIZE: '20', ...SLURM },
    {
      ...{ launcher: 'PMI', rank: 9, size: 20, localRank: 1, localSize: 8 },
      ...{ firstHost: 'a3-07', job: '77.3' },
    },
  ],
  [
    'Kubernetes: the first pod of the job',
    POD,
    {
      ...{ launcher: 'Kubernetes', rank: 1, size: 2, localRank: 0, localSize: 1 },
      firstHost: 'mesh-0',
    },
  ],
  [
    'Kubernetes with a headless service',
    { ...POD, JOB_SERVICE: 'mesh.default', JOB_NAME: 'mesh' },
    {
      ...{ launcher: 'Kubernetes', rank: 1, size: 2, localRank: 0, localSize: 1 },
      ...{ firstHost: 'mesh-0.mesh.default', job: 'mesh' },
    },
  ],
  [
    'Kubernetes: a job of the same name has another UID',
    { ...POD, JOB_NAME: 'mesh', JOB_UID: '5f2c' },
    {
      ...{ launcher: 'Kubernetes', rank: 1, size: 2, localRank: 0, localSize: 1 },
      ...{ firstHost: 'mesh-0', job: 'mesh.5f2c' },
    },
  ],
  [
    'Kubernetes: a host name that is not of the job',
    { ...POD, HOSTNAME: 'other' },
    { launcher: 'Kubernetes', rank: 1, size: 2, localRank: 0, localSize: 1 },
  ],
];

describe('launchPlace', () => {
  for (const [name, environment, expected] of PLACES) {
    test(name, () => assert.deepEqual(launchPlace(environment), expected));
  }

  for (const [name, environment, message] of [
    ['no number', { ...TORCHRUN, RANK: 'one' }, /torchrun: RANK="one" is no number/],
    ['no size', { RANK: '1', WORLD_SIZE: '' }, /none of its variables WORLD_SIZE is set/],
    ['a rank beyond', { ...OPEN_MPI, OMPI_COMM_WORLD_RANK: '4' }, /rank 4 of 4/],
    ['no processes at all', { RANK: '0', WORLD_SIZE: '0' }, /a size of 0/],
    ['more here than in all', { ...TORCHRUN, LOCAL_WORLD_SIZE: '17' }, /rank 5 of 17 on this node/],
    ['a rank beyond its node', { ...TORCHRUN, LOCAL_RANK: '8' }, /rank 8 of 8 on this node/],
    ['a negative rank', { ...POD, JOB_COMPLETION_INDEX: '-1' }, /"-1" is no number/],
    ['tasks of no form', { ...SLURM, SLURM_TASKS_PER_NODE: '8(x' }, /"8\(x" tasks on its nodes/],
    ['a size without end', { RANK: '0', WORLD_SIZE: '999999' }, /a size of 999999/],
  ] as const) {
    test(`refused: ${name}`, () => {
      assert.throws(() => launchPlace(environment), withCode('ERR_CONFIG_VALUE', message));
    });
  }
});

describe('lists of hosts', () => {
  test('ranges in brackets, with leading zeros, several in one name', () => {
    assert.deepEqual(expandHostRanges('a'), ['a']);
    assert.deepEqual(expandHostRanges('n[08-10,3],x'), ['n08', 'n09', 'n10', 'n3', 'x']);
    assert.deepEqual(expandHostRanges('r[1-2]n[1-2]-ib'), [
      ...['r1n1-ib', 'r1n2-ib', 'r2n1-ib', 'r2n2-ib'],
    ]);
  });

  test('what is no range, or without end, is refused', () => {
    for (const text of ['n[a-b]', 'n[3-1]', 'n[0-99999999]']) {
      assert.throws(() => expandHostRanges(text), withCode('ERR_CONFIG_VALUE', /is no range/));
    }
  });
});

describe('list of nodes', () => {
  const hostsOf = (text: string) => parseNodeList(text, 'nodes.txt').map(({ host }) => host);

  test('addresses and names, comments, blank lines, words of a host file', () => {
    const text = '# data\n10.0.0.1\r\n\n  10.0.0.2 slots=8 max_slots=8 # second\nNode-C\n';
    assert.deepEqual(parseNodeList(text, 'nodes.txt'), [
      { host: '10.0.0.1', line: 2 },
      { host: '10.0.0.2', line: 4, slots: 8 },
      { host: 'node-c', line: 5 },
    ]);
  });

  test('IPv6, with brackets or without, by one spelling', () => {
    assert.deepEqual(hostsOf('FD00:0::1\n[fd00::2]\n'), ['fd00::1', 'fd00::2']);
  });

  for (const [name, text, message] of [
    ['nothing', '# nobody\n\n', /^nodes\.txt: names no node/],
    ['a node twice', '10.0.0.1\n10.0.0.2\n10.0.0.1\n', /line 3: 10\.0\.0\.1 stands on line 1/],
    ['one address in two spellings', 'fd00::1\nFD00:0:0::1\n', /line 2: fd00::1 stands on line 1/],
    ['an address of one link', 'fe80::1%eth0\n', /line 1: fe80::1%eth0 is of one link only/],
    ['garbage', '10.0.0.1\n{"a":1}\n', /line 2: "\{\\"a\\":1\}" is no address and no host name/],
    ['binary', '\u0000\u0001\n', /line 1: .* is no address and no host name/],
    ['more words', '10.0.0.1 10.0.0.2\n', /line 1: "10\.0\.0\.2" behind the host/],
    ['a port', '10.0.0.1:22\n', /line 1: 10\.0\.0\.1:22: a host without a port/],
    ['a user', 'root@10.0.0.1\n', /nothing is started over ssh/],
  ] as const) {
    test(`refused by its line: ${name}`, () => {
      assert.throws(
        () => parseNodeList(text, 'nodes.txt'),
        withCode('ERR_USAGE_ARGUMENT', message),
      );
    });
  }
});
