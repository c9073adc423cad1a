// Where a process of a mesh stands by its flags, what its workers get from a policy, and how rank 0
// is found through etcd.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { a3HighTree } from '../../test/support/a3-high-host.js';
import { EtcdServer, etcdSkipReason } from '../../test/support/etcd-server.js';
import { withCode } from '../../test/support/expect-error.js';
import { removeTreeFolder, writeTreeFolder } from '../../test/support/tree-folder.js';
import { loadConfig } from '../base/config.js';
import { benchMeshCommand } from './commands/bench-mesh.js';
import { parseInvocation } from './invocation.js';
import { openIrqHost } from './irq-host.js';
import { MeshEtcd } from './mesh-etcd.js';
import { type MeshPlace, meshPlace } from './mesh-place.js';
import { meshConfig, meshPolicy, ownGpus } from './mesh-workplace.js';

const folder = mkdtempSync(join(tmpdir(), 'tcpx-mesh-place-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function nodesFile(text: string): string {
  const path = join(folder, `nodes-${text.length}.txt`);
  writeFileSync(path, text);
  return path;
}

const invoke = (...words: string[]) => parseInvocation(benchMeshCommand, words);
const placeOf = (...words: string[]) => meshPlace(benchMeshCommand, invoke(...words));
const OPEN = ['--trust', 'network'];

describe('place in a mesh', () => {
  test('this machine alone, without a word', async () => {
    const { rank, size, rendezvous } = await placeOf();
    assert.deepEqual([rank, size], [0, 1]);
    assert.deepEqual(rendezvous, { kind: 'host', host: '127.0.0.1', port: 20_064 });
  });

  test('a line of the list is this machine: by its address, or by its name', async () => {
    const by = async (own: string) => {
      const place = await placeOf('--nodes', nodesFile(`192.0.2.7\n${own}\n`), ...OPEN);
      return [place.rank, place.size, place.node];
    };
    assert.deepEqual(await by('127.0.0.1'), [1, 2, '127.0.0.1']);
    assert.deepEqual((await by(hostname()))[0], 1);
  });

  test('by hand: rank and ranks, or rank and the list; and where rank 0 is', async () => {
    const nodes = nodesFile('fd00::1\nfd00::2\n');
    const listed = await placeOf('--nodes', nodes, '--rank', '1', '--port', '21000', ...OPEN);
    assert.deepEqual([listed.rank, listed.size, listed.hosts], [1, 2, ['fd00::1', 'fd00::2']]);
    assert.deepEqual(listed.rendezvous, { kind: 'host', host: 'fd00::1', port: 21_064 });
    const meeting = ['--rank', '2', '--ranks', '4', '--rendezvous', 'a:99', ...OPEN];
    const { rendezvous } = await placeOf(...meeting);
    assert.deepEqual(rendezvous, { kind: 'host', host: 'a', port: 99 });
  });

  for (const [name, words, text] of [
    ['a rank without a size', ['--rank', '1'], /--rank needs --ranks or --nodes/],
    ['a size without a rank', ['--ranks', '2'], /--rank needs/],
    ['a rank beyond', ['--rank', '2', '--ranks', '2'], /--rank 2 of 2: from 0 to 1/],
    ['nobody knows where rank 0 is', ['--rank', '1', '--ranks', '2'], /where is rank 0\?/],
    [
      'beyond this host without a secret',
      ['--rank', '1', '--ranks', '2', '--rendezvous', '10.0.0.1'],
      /secret is needed on every node: NIXL_TCPX_TRUST_SECRET \(mpirun -x/,
    ],
    [
      'a port that nobody can know',
      ['--rank', '1', '--ranks', '2', '--port', '0', '--rendezvous', '127.0.0.1'],
      /--port 0 needs --rendezvous HOST:PORT/,
    ],
    ['etcd without a job', ['--rendezvous', 'etcd'], /needs --job NAME/],
    ['etcd without servers', ['--rendezvous', 'etcd', '--job', 'a'], /NIXL_ETCD_ENDPOINTS/],
    ['a list that is not there', ['--nodes', '/nowhere'], /nodes \/nowhere: /],
  ] as const) {
    test(`refused: ${name}`, async () => {
      await assert.rejects(placeOf(...words), withCode('ERR_USAGE_ARGUMENT', text));
    });
  }

  test('refused: a list without this machine, a list of another length', async () => {
    const foreign = nodesFile('192.0.2.7\n192.0.2.8\n');
    const none = /none of the nodes is this machine/;
    const count = /--ranks 3, but .* names 2 nodes/;
    await assert.rejects(placeOf('--nodes', foreign), withCode('ERR_USAGE_ARGUMENT', none));
    const words = ['--nodes', foreign, '--rank', '0', '--ranks', '3'];
    await assert.rejects(placeOf(...words), withCode('ERR_USAGE_ARGUMENT', count));
  });
});

describe('workers of a mesh on A3 High', () => {
  const tree = writeTreeFolder(a3HighTree());
  after(() => removeTreeFolder(tree));
  const state = join(folder, 'state');
  const onTree = (...words: string[]) => invoke('--root', tree, '--state', state, ...words);
  const alone: MeshPlace = {
    ...{ rank: 0, size: 1, localRank: 0, localSize: 1, source: '', hosts: undefined, node: '' },
    rendezvous: { kind: 'host', host: '127.0.0.1', port: 1 },
  };

  test('one process has all eight GPUs; several share them out', async () => {
    const invocation = onTree();
    const host = openIrqHost(invocation);
    const own = async (localRank: number, localSize: number) => {
      const place = { ...alone, localRank, localSize };
      const gpus = await ownGpus(benchMeshCommand, invocation, host, place);
      return gpus.map(({ gpu, nic }) => `${gpu}=${nic}`).join();
    };
    assert.equal(await own(0, 1), '0=eth1,1=eth1,2=eth2,3=eth2,4=eth3,5=eth3,6=eth4,7=eth4');
    assert.equal(await own(5, 8), '5=eth3');
    assert.equal(await own(1, 2), '4=eth3,5=eth3,6=eth4,7=eth4');
    const many = withCode('ERR_USAGE_ARGUMENT', /9 processes on this node and 8 GPUs/);
    await assert.rejects(own(0, 9), many);
  });

  test('one channel, 64 MiB twenty times; --performance; flags win', async () => {
    const shape = async (...words: string[]) => {
      const { values } = await meshConfig(invoke(...words));
      const { 'flow.channels': channels, 'tcpx.sockets': sockets } = values;
      return [channels, sockets, values['bench.sizeBytes'], values['bench.iterations']];
    };
    assert.deepEqual(await shape(), [1, 2, 64 * 1024 * 1024, 20]);
    assert.deepEqual(await shape('--performance', '--sockets', '1'), [2, 1, 64 * 1024 * 1024, 20]);
    assert.deepEqual(await shape('--channels', '4', '--size', '1M', '--iters', '3'), [
      ...[4, 2, 1024 * 1024, 3],
    ]);
  });

  test('a policy’s core ranges reach workers and lanes; none without one', async () => {
    const invocation = onTree('--policy', 'nccl');
    const policy = await meshPolicy(invocation, openIrqHost(invocation), alone, invocation.config);
    const tx = policy.variables['NCCL_GPUDIRECTTCPX_TX_BINDINGS'];
    assert.match(tx ?? '', /^eth1:8-21,112-125;eth2:8-21,112-125;eth3:60-73,164-177;/);
    assert.match(policy.variables['NCCL_GPUDIRECTTCPX_RX_BINDINGS'] ?? '', /^eth1:22-35,126-139;/);
    assert.equal(policy.config.values['lane.bindings'], tx);
    const plain = onTree();
    const none = await meshPolicy(plain, openIrqHost(plain), alone, plain.config);
    assert.deepEqual([none.variables, none.config], [{}, plain.config]);
  });

  test('SETUP_IRQ_AFFINITY=1 binds before, once on a node, and puts back after', async (t) => {
    process.env['SETUP_IRQ_AFFINITY'] = '1';
    t.after(() => delete process.env['SETUP_IRQ_AFFINITY']);
    const invocation = onTree('--policy', 'split', '--no-baseline');
    const masks = () =>
      openIrqHost(invocation).model.irqs.map(({ requested }) => String(requested));
    const before = masks();
    const second = { ...alone, localRank: 1, localSize: 2 };
    const idle = await meshPolicy(invocation, openIrqHost(invocation), second, invocation.config);
    idle.begin();
    const bound = await meshPolicy(invocation, openIrqHost(invocation), alone, invocation.config);
    assert.deepEqual(masks(), before, 'neither a plan nor the second process binds');
    bound.begin();
    assert.notDeepEqual(masks(), before);
    bound.end();
    assert.deepEqual(masks(), before);
    bound.end();
  });
});

test('rank 0 is found through etcd; one that says nothing is waited for, then named', async (t) => {
  const reason = etcdSkipReason();
  if (reason !== undefined) {
    t.skip(reason);
    return;
  }
  const server = await EtcdServer.start(t);
  const options = { 'nixl.etcdEndpoints': server.url, 'session.bind': '10.0.0.1' };
  const config = loadConfig({ options });
  const missing = withCode('ERR_PEER_TIMEOUT', /rank 0 of job other did not say in etcd/);
  await assert.rejects(new MeshEtcd(config, 'other', 1).find(), missing);
  const found = new MeshEtcd(config, 'job-1', 5000).find();
  const first = new MeshEtcd(config, 'job-1', 5000);
  await first.publish(20_064);
  assert.deepEqual(await found, { host: '10.0.0.1', port: 20_064 });
  await first.close();
  const gone = withCode('ERR_PEER_TIMEOUT', /rank 0 of job job-1 did not say/);
  await assert.rejects(new MeshEtcd(config, 'job-1', 1).find(), gone);
  const looking = new MeshEtcd(config, 'job-1', 60_000);
  const never = assert.rejects(looking.find(), gone);
  await looking.close();
  await never;
});
