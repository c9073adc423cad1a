import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { a3HighTree } from '../../../test/support/a3-high-host.js';
import { runTcpx } from '../../../test/support/run-tcpx.js';
import { packCapture } from '../../host/capture/capture.js';
import type { Topology } from '../../host/topo/topology.js';

const folder = mkdtempSync(join(tmpdir(), 'tcpx-topo-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const a3Capture = join(folder, 'a3.tgz');
writeFileSync(a3Capture, packCapture(a3HighTree(), new Date(0)));

test('topo: the matrix of a capture shows distances, IRQ cores and choices', () => {
  const run = runTcpx(['topo', '--root', a3Capture]);
  assert.equal(run.status, 0, run.stderr);
  assert.equal(run.stderr, '');
  assert.match(run.stdout, /^GPU0 +X +PIX +PHB/m);
  assert.match(run.stdout, /^eth3 .*52-67$/m);
  assert.match(run.stdout, /^GPU7 +eth4 +PIX through/m);
});

test('topo: the tree shows each device below its bridges', () => {
  const run = runTcpx(['topo', '--root', a3Capture, '--tree']);
  assert.match(run.stdout, /node 1 {2}CPUs 52-103,156-207 \(52 cores\)/);
  assert.match(run.stdout, /0000:8c:00\.0 {2}eth4 {2}gve {2}200 Gbit\/s.*33 vectors/);
  assert.match(run.stdout, /GPU6 .*→ eth4 \(PIX\)/);
});

test('topo: JSON on stdout, with lane cores from the plugin’s variable', () => {
  const run = runTcpx(['topo', '--root', a3Capture, '--json'], {
    NCCL_GPUDIRECTTCPX_TX_BINDINGS: 'eth1:8-21,112-125',
  });
  const topology = JSON.parse(run.stdout) as Topology;
  assert.equal(topology.schema, 'tcpx.topo/1');
  assert.equal(topology.nics.find((nic) => nic.name === 'eth1')?.laneCores, '8-21,112-125');
  assert.equal(topology.choices.length, 8);
});

test('topo: a drawing and a capture of this machine are written', () => {
  const svg = join(folder, 'host.svg');
  const run = runTcpx(['topo', '--svg', svg, '--capture', folder]);
  assert.equal(run.status, 0, run.stderr);
  assert.match(readFileSync(svg, 'utf8'), /^<svg /);
  const name = readdirSync(folder).find((file) => file.startsWith('tcpx-host-'));
  assert.ok(name !== undefined, 'named after host and time');
  const live = JSON.parse(runTcpx(['topo', '--json']).stdout) as Topology;
  const read = runTcpx(['topo', '--json', '--root', join(folder, name)]);
  const captured = JSON.parse(read.stdout) as Topology;
  assert.deepEqual(captured.matrix, live.matrix);
  assert.equal(captured.host.isLive, false);
});

test('topo: bad roots, bindings and targets are errors without a stack', () => {
  const cases = [
    [2, '--root', '/no/such/place'],
    [2, '--bindings', 'eth1=8'],
    [2, '--nics', 'none0'],
    [4, '--svg', '/no/such/place/x.svg'],
    [2, '--nonsense'],
  ] as const;
  for (const [status, ...words] of cases) {
    const run = runTcpx(['topo', ...words]);
    assert.equal(run.status, status, words.join(' '));
    assert.match(run.stderr, /^ERR_/);
    assert.doesNotMatch(run.stderr, /\n\s+at /);
  }
});
