import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a3HighSpec } from '../../../test/support/a3-high-host.js';
import type { HostSpec } from '../../../test/support/host-spec.js';
import {
  containerHost,
  noNumaHost,
  offlineCpuHost,
  virtioHost,
} from '../../../test/support/odd-hosts.js';
import { openFixture } from '../../../test/support/open-fixture.js';
import { parseLaneBindings } from '../../base/lane-bindings.js';
import { readHost } from '../read/read-host.js';
import { escapeXml } from './svg-shapes.js';
import { drawTopology } from './topo-svg.js';
import { describeTopology } from './topology.js';

const BINDINGS = 'eth1:8-21,112-125;eth3:60-73,164-177';
const topologyOf = (spec: HostSpec, bindings = '') =>
  describeTopology(readHost(openFixture(spec)), parseLaneBindings(bindings));

/** The straight pieces of every line, and the boxes of GPUs and NICs, as they are drawn. */
function linesAndBoxes(svg: string) {
  const lines = [...svg.matchAll(/<path d="M([^"]+)"/g)].map(([, path = '']) =>
    path.split(/ ?L/).map((point) => point.split(' ').map(Number)),
  );
  const boxes = [
    ...svg.matchAll(/<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="(46|72)"/g),
  ];
  return { lines, boxes: boxes.map((match) => match.slice(1).map(Number)) };
}

/** A piece lies within a box when they share more than the edge. */
function isThrough(
  from: readonly number[],
  to: readonly number[],
  box: readonly number[],
): boolean {
  const [x1 = 0, y1 = 0] = from;
  const [x2 = 0, y2 = 0] = to;
  const [x = 0, y = 0, width = 0, height = 0] = box;
  const inside = 0.5;
  return (
    Math.max(x1, x2) > x + inside &&
    Math.min(x1, x2) < x + width - inside &&
    Math.max(y1, y2) > y + inside &&
    Math.min(y1, y2) < y + height - inside
  );
}

/** All GPUs and NICs side by side on the root bus, as virtual machines often show them. */
function flatSpec(): HostSpec {
  const spec = a3HighSpec();
  const flat = <T extends { readonly node: number }>(device: T) => ({
    ...device,
    parent: device.node === 0 ? 'pci0000:00' : 'pci0000:80',
  });
  return { ...spec, bridges: [], nics: spec.nics.map(flat), gpus: spec.gpus.map(flat) };
}

for (const [name, spec] of [
  ['A3-high', a3HighSpec()],
  ['a flat PCI tree', flatSpec()],
  ['GPUs far from the only NIC', { ...a3HighSpec(), nics: a3HighSpec().nics.slice(4) }],
] as const) {
  test(`svg: no line through a box on ${name}`, () => {
    const { lines, boxes } = linesAndBoxes(drawTopology(topologyOf(spec)));
    assert.equal(lines.length, 8);
    // A NIC is a box and a stripe in its colour.
    assert.equal(boxes.length, 8 + 2 * spec.nics.length);
    for (const line of lines) {
      for (const [index, to] of line.slice(1).entries()) {
        const crossed = boxes.find((box) => isThrough(line[index] ?? [], to, box));
        assert.equal(crossed, undefined, `${String(line)} through ${String(crossed)}`);
      }
    }
  });
}

test('svg: cores are coloured by NIC and shaded by interrupts', () => {
  const svg = drawTopology(topologyOf(a3HighSpec()));
  const shades = new Set([...svg.matchAll(/fill-opacity="([\d.]+)"/g)].map(([, value]) => value));
  assert.ok(shades.size >= 2, [...shades].join());
  assert.match(svg, /darker: more NIC interrupts since boot, at most 270022/);
});

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

test('drawing: sockets are frames with their shared cache above the cores', () => {
  const topology = topologyOf(a3HighSpec());
  assert.deepEqual(
    topology.sockets.map(({ id, cpus }) => [id, cpus]),
    [
      [0, '0-51,104-155'],
      [1, '52-103,156-207'],
    ],
  );
  const svg = drawTopology(topology);
  for (const id of [0, 1]) assert.match(svg, new RegExp(`>socket ${id}<`));
  assert.equal([...svg.matchAll(/>L3 105 MiB per 104 CPUs</g)].length, 2);
  assert.match(svg, />each core: L1d 48 KiB {2}· {2}L1i 32 KiB {2}· {2}L2 2 MiB</);
});

test('drawing: without sockets no frame is drawn, and the cores all the same', () => {
  const { sockets, ...rest } = topologyOf(a3HighSpec());
  assert.equal(sockets.length, 2);
  const svg = drawTopology({ ...rest, sockets: [] });
  assert.doesNotMatch(svg, />socket /);
  assert.equal([...svg.matchAll(/font-size="7"/g)].length, 208);
});

test('drawing: a device whose place is unknown is on no bus', () => {
  const topology = topologyOf(a3HighSpec());
  const unplaced = topology.gpus.map((gpu) => ({
    ...gpu,
    node: undefined,
    pciPath: gpu.pciAddress === undefined ? undefined : [gpu.pciAddress],
  }));
  const svg = drawTopology({ ...topology, gpus: unplaced });
  assert.doesNotMatch(svg, /root bus 0000:/);
  assert.equal([...svg.matchAll(/>place on the PCI bus unknown</g)].length, 1);
});

test('drawing: lines to different NICs do not run over each other', () => {
  const topology = topologyOf(flatSpec());
  const paths = [...drawTopology(topology).matchAll(/<path d="M([^"]+)"[^>]*stroke="(#\w+)"/g)];
  const pieces = paths.flatMap(([, path = '', colour = '']) => {
    const points = path.split(/ ?L/).map((point) => point.split(' ').map(Number));
    return points.slice(1).map((to, index) => ({ from: points[index] ?? [], to, colour }));
  });
  assert.ok(new Set(pieces.map(({ colour }) => colour)).size >= 3);
  for (const one of pieces) {
    for (const other of pieces.filter(({ colour }) => colour !== one.colour)) {
      assert.ok(!isOverlaid(one, other), `${String(one.from)} ${String(other.from)}`);
    }
  }
});

interface Piece {
  readonly from: readonly number[];
  readonly to: readonly number[];
}

/** Two pieces of one direction on one line, with more than a point in common. */
function isOverlaid(one: Piece, other: Piece): boolean {
  return [0, 1].some((axis) => {
    const fixed = [one.from, one.to, other.from, other.to].map((point) => point[axis] ?? -1);
    if (new Set(fixed).size > 1) return false;
    const range = ({ from, to }: Piece) =>
      [from[1 - axis] ?? 0, to[1 - axis] ?? 0].sort((a, b) => a - b);
    const [start = 0, end = 0] = range(one);
    const [otherStart = 0, otherEnd = 0] = range(other);
    return Math.min(end, otherEnd) - Math.max(start, otherStart) > 0.5;
  });
}

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
