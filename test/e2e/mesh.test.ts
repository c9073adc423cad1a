// `tcpx bench mesh` as people start it: on two hosts made of namespaces, by a list of nodes and by
// mpirun, over both providers; and what goes wrong, in one line each.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { MeshDocument } from '../../src/bench/mesh/mesh-figures.js';
import { emulatorPath, requireNative } from '../native/plugin-environment.js';
import { a3HighTree } from '../support/a3-high-host.js';
import { freePort } from '../support/etcd-server.js';
import { type NetLab, netLabObstacle, openNetLab } from '../support/net-lab.js';
import { removeTreeFolder, writeTreeFolder } from '../support/tree-folder.js';
import { until } from '../support/until.js';
import { runTcpx, TEST_VARIABLES } from './child.js';
import { emulatorOnLinks, meshInLab, mpirunInLab, mpirunObstacle } from './mesh-lab.js';
import { childrenOf, RunningTcpx } from './running-tcpx.js';
import { spawnInside } from './spawn-inside.js';

const FEW = ['--size', '256K', '--iters', '3', '--warmup', '1', '--lanes', '1', '--workers', 'one'];
const folder = mkdtempSync(join(tmpdir(), 'tcpx-mesh-'));
after(() => rmSync(folder, { recursive: true, force: true }));

describe('mesh between two hosts', () => {
  const obstacle = netLabObstacle();
  let lab: NetLab | undefined;
  before(() => {
    if (obstacle === undefined) lab = openNetLab([0, 0]);
  });
  after(() => lab?.close());

  test('tcp, by a list of nodes: all pairs over their rails, bytes as by TCP_INFO', async (t) => {
    if (lab === undefined) {
      t.skip(obstacle);
      return;
    }
    const { mesh, stores } = await meshInLab(lab, folder, FEW, {});
    assert.deepEqual([mesh.ok, mesh.pairs.length, mesh.rounds.length], [true, 8, 2]);
    assert.deepEqual(mesh.nodes, ['10.77.0.1', '10.77.0.2']);
    assertRails(mesh);
    assertBytes(mesh);
    await assertStored(stores);
    assertLogs(join(folder, 'logs'));
  });

  test('server and client as UCCL has them: the printed line, logs by role and GPU', async (t) => {
    if (lab === undefined) {
      t.skip(obstacle);
      return;
    }
    await assertRoles(t, lab);
  });

  test('tcpx over the emulator: one pair of each rail', async (t) => {
    if (lab === undefined) {
      t.skip(obstacle);
      return;
    }
    requireNative();
    const words = [...FEW, '--pairs', 'rails', '--provider', 'tcpx', '--plugin', emulatorPath];
    const env = emulatorOnLinks(folder);
    const { mesh } = await meshInLab(lab, folder, [...words, '--sockets', '1', '--gpus', '0'], env);
    assert.deepEqual([mesh.ok, mesh.provider, mesh.evidence], [true, 'tcpx', 'emulated']);
    assert.equal(mesh.pairs.length, 2);
    for (const { verified, devmem } of mesh.runs) {
      assert.deepEqual([verified.mismatches, devmem?.verdict], [0, 'good']);
    }
  });

  test('mpirun with namespaces as hosts: the list of nodes is its host file', async (t) => {
    const lacking = mpirunObstacle();
    if (lacking !== undefined) {
      t.skip(lacking);
      return;
    }
    if (lab === undefined) {
      t.skip(obstacle);
      return;
    }
    const { exitCode, stdout, stderr } = await mpirunInLab(lab, folder, [...FEW, '--json']);
    assert.equal(exitCode, 0, stderr);
    const mesh = JSON.parse(stdout) as MeshDocument;
    assert.deepEqual([mesh.ok, mesh.pairs.length], [true, 2]);
    assert.deepEqual(mesh.nodes, ['10.77.0.1', '10.77.0.2']);
  });
});

/** UCCL's full mesh between the two: the line that the server prints, as printed. */
async function assertRoles(t: TestContext, lab: NetLab): Promise<void> {
  const logs = join(folder, 'roles');
  const { links } = lab;
  const nics = (end: 'left' | 'right') => links.map((link) => link[`${end}Nic`]).join();
  const common = { ...TEST_VARIABLES, LOG_DIR: logs, COLUMNS: '2000', VERBOSE: '1' };
  const idle = { ...common, UCCL_TCPX_PORT_RETRIES: '16' };
  const shape = ['--gpus', '0,1', '--nics', nics('right'), ...FEW];
  const serve = [process.execPath, 'bin/tcpx.js', 'bench', 'mesh', 'server', ...shape];
  const server = spawnInside(lab.inside('right', serve), idle);
  t.after(() => server.kill());
  const printed = () => /^ +(\S.* bench mesh client .*)$/m.exec(server.stderr())?.[1];
  await until('the line is printed', 30_000, () => printed() !== undefined);
  const line = (printed() ?? '')
    .replace(/ (?:npx )?tcpx bench /, ` '${process.execPath}' bin/tcpx.js bench `)
    .replace(nics('right'), nics('left'));
  // Of a mesh's flags the warm-up alone is each end's own.
  const words = ['bash', '-c', `${line} --warmup 1`];
  const client = spawnInside(lab.inside('left', words), common);
  t.after(() => client.kill());
  assert.equal(await client.end(60_000), 0, client.stderr());
  assert.equal(await server.end(30_000), 0, server.stderr());
  assert.match(server.stderr(), /^without meaning here: UCCL_TCPX_PORT_RETRIES \(/m);
  assert.match(client.stderr(), /^GPU 1 to 10\.77\.0\.2:20001: \d+\.\d\d GB\/s$/m);
  for (const [end, nic] of [
    [server, 'tr1'],
    [client, 'tl1'],
  ] as const) {
    assert.match(end.stderr(), /^GPU 1: no NCCL_GPUDIRECTTCPX_ variable is set$/m);
    assert.match(end.stderr(), new RegExp(`^GPU 1: channel 0: ${nic}$`, 'm'));
  }
  assert.match(client.stderr(), /^GPU 0: lane 0: CPU \d+, pinned nowhere$/m);
  assertLogs(logs);
  assert.equal(readdirSync(logs).filter((name) => /^fullmesh_info_/.test(name)).length > 0, true);
}

function assertBytes(mesh: MeshDocument): void {
  // What the target's kernel took in is the payload, a head for each chunk, two words for each
  // iteration, which is checked, and one for the counters; each word is answered by one.
  const words = 2 * 3 + 1;
  for (const { bytes, wireBytes } of mesh.pairs) {
    assert.equal(bytes, 3 * 262_144);
    assert.equal(wireBytes.received - bytes, 3 * 64 + words * (2048 + 2 * 64));
    // The last few words may be without their acknowledgement when the counters are read.
    assert.ok(wireBytes.received - wireBytes.acknowledged <= 512);
  }
  assert.equal(new Set(mesh.pairs.map(({ wireBytes }) => wireBytes.received)).size, 1);
}

/** A pair's channel is on the NIC that belongs to the receiver's. */
function assertRails({ workers, pairs, runs }: MeshDocument): void {
  for (const [index, { from, to }] of pairs.entries()) {
    const receipt = runs[index]?.receipt as { channels: { nic: string }[] };
    const wanted = workers[to]?.nic.replace(/^t[lr]/, workers[from]?.nic.slice(0, 2) ?? '');
    assert.deepEqual(
      receipt.channels.map(({ nic }) => nic),
      [wanted],
    );
  }
}

/** One file for the whole mesh, at rank 0 alone; the commands that read results know it. */
async function assertStored(stores: readonly string[]): Promise<void> {
  const [first, other] = stores.map((store) => readdirSync(store));
  assert.equal(first?.length, 1);
  assert.match(first[0] ?? '', /-mesh-/);
  assert.deepEqual(other, []);
  const { stdout } = await runTcpx(['bench', 'show', 'latest', '--store', stores[0] ?? '']);
  assert.match(stdout, /^engine-2025-server +2\.95 +\d+\.\d\d× /m);
  assert.match(stdout, /^goal of 5 GB\/s per GPU: .*\(measured, dram, tcp, mean of 8 pairs\)$/m);
}

function assertLogs(logs: string): void {
  const names = readdirSync(logs);
  for (const role of ['server', 'client']) {
    for (const gpu of [0, 1]) {
      const name = names.find((one) => one.startsWith(`fullmesh_${role}_gpu${gpu}_`));
      assert.match(readFileSync(join(logs, name ?? ''), 'utf8'), /PERF.*Avg.*BW:/);
    }
  }
}

describe('mesh: what goes wrong', () => {
  test('a worker that is killed in mid-run: which, exit 4, nobody is left', async () => {
    const words = ['--gpus', '0,1', '--port', '0', '--size', '64K', '--iters', '10000000'];
    const mesh = new RunningTcpx(['bench', 'mesh', ...words, '--verify', 'none'], TEST_VARIABLES);
    try {
      await mesh.said('the workers have come', /workers have come/, 30_000);
      const [victim = 0] = childrenOf(mesh.pid);
      process.kill(victim, 'SIGKILL');
      assert.equal(await mesh.end(20_000), 4, mesh.stderr);
      assert.match(mesh.stderr, new RegExp(`ERR_PEER_LOST: .*GPU [01] \\(process ${victim}\\)`));
    } finally {
      mesh.kill();
    }
  });

  test('a process that never comes, and a port that is taken: who and which, exit 4', async (t) => {
    const port = await freePort();
    const words = ['bench', 'mesh', '--port', String(port), '--gpus', '0', ...FEW];
    const alone = [...words, '--rank', '0', '--ranks', '2', '--wait', '0.2'];
    const missing = await runTcpx([...alone, '--rendezvous', `127.0.0.1:${await freePort()}`]);
    assert.equal(missing.exitCode, 4);
    assert.match(missing.stderr, /^ERR_PEER_TIMEOUT: .*1 of 2 .* 200 ms: rank 1;/m);
    const holder = createServer().listen(port, '127.0.0.1');
    t.after(() => holder.close());
    const taken = await runTcpx([...words, '--gpus', '0,1']);
    assert.equal(taken.exitCode, 4);
    assert.match(
      taken.stderr,
      new RegExp(`^ERR_SYS_ADDRESS_IN_USE: .*rank 0: worker.*${port}`, 'm'),
    );
  });
});

describe('mesh: signals', () => {
  test('Ctrl-C in mid-run: the figures so far, kept; its workers hear it too', async () => {
    const store = join(folder, 'stopped');
    const shape = ['--gpus', '0-2', '--port', '0', '--size', '64K', '--verify', 'none', '--alone'];
    const words = [...shape, '--iters', '5000', '--warmup', '1', '--lanes', '1', '--store', store];
    const env = { ...TEST_VARIABLES, NIXL_TCPX_BENCH_KEEP: '9' };
    const mesh = new RunningTcpx(['bench', 'mesh', ...words], env);
    try {
      await mesh.said('a round is over', /^round 1 of 6/m, 30_000);
      // As a terminal does it: to every process of the group.
      for (const worker of childrenOf(mesh.pid)) process.kill(worker, 'SIGINT');
      mesh.child.kill('SIGINT');
      assert.equal(await mesh.end(20_000), 4, mesh.stderr);
      assert.match(mesh.stdout, /^slowest {4}.* GB\/s$/m);
      assert.match(mesh.stdout, /^PARTIAL {4}.*stopped by SIGINT; [1-5] of 6 pairs measured/m);
      assert.match(mesh.stderr, /^ERR_XFER_CANCELLED: .*mesh: stopped by SIGINT$/m);
      const [name = ''] = readdirSync(store);
      const kept = JSON.parse(readFileSync(join(store, name), 'utf8')) as MeshDocument;
      assert.match(kept.partial ?? '', /stopped by SIGINT/);
    } finally {
      mesh.kill();
    }
  });

  test('SIGTERM in mid-run: the reason, interrupts as before, nobody is left', async () => {
    const root = writeTreeFolder(a3HighTree());
    const mask = () => readFileSync(join(root, 'proc/irq/112/smp_affinity_list'), 'utf8').trim();
    const bind = ['--root', root, '--state', join(root, 'state'), '--policy', 'split'];
    const shape = ['--gpus', '0,1', '--map', '0=lo,1=lo', '--port', '0', '--workers', 'one'];
    const words = [...bind, ...shape, '--no-baseline', '--size', '64K', '--iters', '10000000'];
    const env = { ...TEST_VARIABLES, SETUP_IRQ_AFFINITY: '1' };
    const mesh = new RunningTcpx(['bench', 'mesh', ...words, '--verify', 'none'], env);
    try {
      const before = mask();
      await mesh.said('the workers have come', /workers have come/, 30_000);
      const [worker = 0] = childrenOf(mesh.pid);
      assert.notEqual(mask(), before);
      mesh.child.kill('SIGTERM');
      assert.equal(await mesh.end(20_000), 4, mesh.stderr);
      assert.match(mesh.stderr, /^ERR_XFER_CANCELLED: .*mesh: stopped by SIGTERM$/m);
      assert.equal(mask(), before);
      assert.ok(worker > 0 && !existsSync(`/proc/${worker}`));
    } finally {
      mesh.kill();
      removeTreeFolder(root);
    }
  });

  test('SIGTERM while rank 0 is waited for: it does not wait on', async () => {
    const place = ['--rank', '1', '--ranks', '2', '--rendezvous', `127.0.0.1:${await freePort()}`];
    const mesh = new RunningTcpx(['bench', 'mesh', ...place, '--gpus', '0', ...FEW]);
    try {
      await mesh.said('it says who it is', /^rank 1 of 2/m, 30_000);
      mesh.child.kill('SIGTERM');
      assert.equal(await mesh.end(20_000), 4, mesh.stderr);
      assert.match(mesh.stderr, /^ERR_XFER_CANCELLED: mesh: stopped by SIGTERM$/m);
    } finally {
      mesh.kill();
    }
  });
});
