import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseLaneBindings } from '../../base/lane-bindings.js';
import { a3HighSpec } from '../../../test/support/a3-high-host.js';
import { openFixture } from '../../../test/support/open-fixture.js';
import type { HostSpec } from '../../../test/support/host-spec.js';
import {
  containerHost,
  noNumaHost,
  offlineCpuHost,
  virtioHost,
} from '../../../test/support/odd-hosts.js';
import { readHost } from '../read/read-host.js';
import { escapeXml } from './svg-shapes.js';
import { drawTopology } from './topo-svg.js';
import { describeTopology } from './topology.js';

const BINDINGS = 'eth1:8-21,112-125;eth3:60-73,164-177';
const topologyOf = (spec: HostSpec, bindings = '') =>
  describeTopology(readHost(openFixture(spec)), parseLaneBindings(bindings));

test('topology: the matrix is symmetric, with X on the diagonal', () => {
  const { names, distances } = topologyOf(a3HighSpec()).matrix;
  assert.equal(names.length, 13);
  for (const [row, line] of distances.entries()) {
    assert.equal(line[row], 'X');
    for (const [column, distance] of line.entries()) {
      assert.equal(distances[column]?.[row], distance);
    }
  }
  const at = (a: string, b: string) => distances[names.indexOf(a)]?.[names.indexOf(b)];
  assert.equal(at('GPU0', 'eth1'), 'PIX');
  assert.equal(at('GPU0', 'eth2'), 'PHB');
  assert.equal(at('GPU0', 'eth3'), 'SYS');
});

test('topology: IRQ cores and lane cores stand beside each NIC', () => {
  const { nics, host, cores } = topologyOf(a3HighSpec(), BINDINGS);
  assert.deepEqual(
    nics.map((nic) => nic.irqCores),
    ['1-16', '17-32', '33-48', '52-67', '68-83'],
  );
  assert.deepEqual(
    nics.map((nic) => nic.laneCores),
    [undefined, '8-21,112-125', undefined, '60-73,164-177', undefined],
  );
  assert.deepEqual([host.cpuCount, host.coreCount], [208, 104]);
  assert.deepEqual(cores[3], [3, 107]);
});

/** Every element is closed in order: what a drawing program demands first of all. */
function assertWellFormed(svg: string): void {
  const open: string[] = [];
  for (const [, slash, name, self] of svg.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)) {
    if (self === '/') continue;
    if (slash === '/') assert.equal(open.pop(), name);
    else open.push(name ?? '');
  }
  assert.deepEqual(open, []);
  assert.doesNotMatch(svg, /NaN|undefined|Infinity/);
}

test('drawing: every host draws well-formed, with its devices and cores', () => {
  const hosts = [a3HighSpec(), offlineCpuHost(), virtioHost(), noNumaHost(), containerHost()];
  for (const spec of hosts) {
    const svg = drawTopology(topologyOf(spec));
    assertWellFormed(svg);
    for (const nic of spec.nics) {
      assert.equal(svg.includes(`>${nic.name}<`), nic.address !== undefined, nic.name);
    }
    for (const gpu of spec.gpus) assert.ok(svg.includes(`>GPU${gpu.index}<`));
  }
});

test('drawing: one line per chosen NIC, one cell per CPU', () => {
  const svg = drawTopology(topologyOf(a3HighSpec()));
  assert.equal([...svg.matchAll(/<path /g)].length, 8);
  assert.equal([...svg.matchAll(/font-size="7"/g)].length, 208);
});

test('drawing: no box reaches beyond the picture', () => {
  const svg = drawTopology(topologyOf(a3HighSpec(), BINDINGS));
  const [, width, height] = /width="(\d+)" height="(\d+)"/.exec(svg) ?? [];
  const boxes = svg.matchAll(/<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"/g);
  for (const [, x, y, boxWidth, boxHeight] of boxes) {
    assert.ok(Number(x) + Number(boxWidth) <= Number(width));
    assert.ok(Number(y) + Number(boxHeight) <= Number(height));
  }
});

test('drawing: names from the host are escaped', () => {
  assert.equal(escapeXml('<a & "b">'), '&lt;a &amp; &quot;b&quot;&gt;');
  const svg = drawTopology(topologyOf({ ...a3HighSpec(), hostname: '</svg><script>' }));
  assertWellFormed(svg);
  assert.ok(!svg.includes('<script>'));
});
