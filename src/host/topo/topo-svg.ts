// The topology as a drawing: NUMA nodes as columns, in each its cores (coloured where a NIC's
// interrupts arrive) and its PCIe switches with GPUs and NICs, a line from each GPU to its NIC.

import { parseCpuList } from '../../base/cpu-set.js';
import { formatBytes } from '../../base/units.js';
import { type Box, svgPolyline, svgRect, svgText } from './svg-shapes.js';
import { type CoreCell, type CpuMark, drawCores } from './topo-svg-cores.js';
import {
  type Drawing,
  drawGroup,
  GROUP_GAP,
  GROUP_WIDTH,
  groupsOf,
  nicColour,
  rowsOfTwo,
} from './topo-svg-devices.js';
import { routeLink } from './topo-svg-links.js';
import { drawSocket } from './topo-svg-sockets.js';
import { cpuCountText, nodeCountText, shownNode, type Topology } from './topology.js';

const MARGIN = 24;
const COLUMN_WIDTH = 566;
const COLUMN_GAP = 20;
const PADDING = 20;

export function drawTopology(topology: Topology): string {
  const drawing: Drawing = { shapes: [], links: [], gpus: new Map(), nics: new Map() };
  const columns = columnsOf(topology);
  const top = MARGIN + 52;
  const heights = columns.map((node, index) => {
    const x = MARGIN + index * (COLUMN_WIDTH + COLUMN_GAP);
    return drawColumn(drawing, topology, node, x, top);
  });
  const columnHeight = Math.max(0, ...heights);
  const frames = columns.map((_, index) =>
    svgRect(
      {
        x: MARGIN + index * (COLUMN_WIDTH + COLUMN_GAP),
        y: top,
        width: COLUMN_WIDTH,
        height: columnHeight,
      },
      { fill: '#f6f8fa', stroke: '#d0d7de', radius: 12 },
    ),
  );
  drawLinks(drawing, topology, top + columnHeight - PADDING);
  const width = 2 * MARGIN + columns.length * (COLUMN_WIDTH + COLUMN_GAP) - COLUMN_GAP;
  const legend = drawLegend(topology, top + columnHeight + 28, width);
  const height = top + columnHeight + 44 + legend.height;
  const body = [...drawTitle(topology), ...frames, ...drawing.shapes, ...drawing.links];
  return document(width, height, [...body, ...legend.shapes]);
}

function document(width: number, height: number, shapes: readonly string[]): string {
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
    `viewBox="0 0 ${width} ${height}" font-family="DejaVu Sans, Helvetica, Arial, sans-serif">\n` +
    `<rect width="100%" height="100%" fill="#ffffff"/>\n${shapes.join('\n')}\n</svg>\n`
  );
}

function drawTitle(topology: Topology): string[] {
  const { host } = topology;
  const facts = [
    `kernel ${host.kernelRelease ?? '?'}`,
    cpuCountText(host),
    nodeCountText(topology),
    ...(host.cpuModel === undefined ? [] : [host.cpuModel]),
  ];
  return [
    svgText(MARGIN, MARGIN + 16, host.hostname ?? 'host', { size: 20, weight: 600 }),
    svgText(MARGIN, MARGIN + 36, facts.join('  ·  '), { size: 12, fill: '#57606a' }),
  ];
}

/** Every node, and one more column for devices without a node. */
function columnsOf(topology: Topology): (number | undefined)[] {
  const ids: (number | undefined)[] = topology.nodes.map(({ id }) => id);
  const devices = [...topology.gpus, ...topology.nics.filter((nic) => !nic.isVirtual)];
  const hasHomeless = devices.some((device) => !ids.includes(shownNode(topology, device)));
  return hasHomeless || ids.length === 0 ? [...ids, undefined] : ids;
}

function drawColumn(
  drawing: Drawing,
  topology: Topology,
  id: number | undefined,
  x: number,
  top: number,
): number {
  const node = topology.nodes.find((candidate) => candidate.id === id);
  const title = node === undefined ? 'no NUMA node known' : `NUMA node ${node.id}`;
  const left = x + PADDING;
  let y = top + 30;
  drawing.shapes.push(svgText(left, y, title, { size: 15, weight: 600 }));
  const cpuList = node?.cpus ?? (topology.nodes.length === 0 ? topology.host.cpusOnline : '');
  if (cpuList !== '') y = drawNodeCores(drawing, topology, { cpuList, left, y, node });
  else y += 18;
  for (const row of rowsOfTwo(groupsOf(topology, id))) {
    const heights = row.map((group, index) =>
      drawGroup(drawing, topology, group, left + index * (GROUP_WIDTH + GROUP_GAP), y),
    );
    y += Math.max(...heights) + GROUP_GAP;
  }
  return y - top + PADDING - GROUP_GAP;
}

interface NodeCores {
  readonly cpuList: string;
  readonly left: number;
  readonly y: number;
  readonly node: Topology['nodes'][number] | undefined;
}

function drawNodeCores(drawing: Drawing, topology: Topology, cores: NodeCores): number {
  const { cpuList, left, y, node } = cores;
  const facts = [`CPUs ${cpuList}`];
  if (node !== undefined) facts.push(`${node.coreCount ?? '?'} cores`);
  if (node?.memoryBytes !== undefined) facts.push(formatBytes(node.memoryBytes));
  const grey = { size: 11, fill: '#57606a', anchor: 'end' } as const;
  const right = left + COLUMN_WIDTH - 2 * PADDING;
  drawing.shapes.push(svgText(right, y, facts.join('  ·  '), grey));
  const width = COLUMN_WIDTH - 2 * PADDING;
  const marks = cpuMarks(topology);
  const cpus = parseCpuList(cpuList) ?? [];
  const sockets = topology.sockets.map((socket) => {
    const own = new Set(parseCpuList(socket.cpus) ?? []);
    return {
      socket,
      cells: cellsOf(
        topology,
        cpus.filter((cpu) => own.has(cpu)),
      ),
    };
  });
  let top = y + 14;
  for (const { socket, cells } of sockets.filter((one) => one.cells.length > 0)) {
    const { shapes, height } = drawSocket(socket, cells, marks, { x: left, y: top, width });
    drawing.shapes.push(...shapes);
    top += height + 8;
  }
  if (topology.sockets.length > 0) return top + 4;
  const grid = drawCores(cellsOf(topology, cpus), marks, { x: left, y: top, width });
  drawing.shapes.push(...grid.shapes);
  return top + grid.height + 12;
}

/** The cores that have one of these CPUs. */
function cellsOf(topology: Topology, cpus: readonly number[]): readonly CoreCell[] {
  const wanted = new Set(cpus);
  const cores = topology.cores.filter((threads) => threads.some((cpu) => wanted.has(cpu)));
  return cores.map((threads) => ({ threads }));
}

function cpuMarks(topology: Topology): (cpu: number) => CpuMark {
  const irq = new Map<number, string[]>();
  const lane = new Set<number>();
  for (const nic of topology.nics) {
    const colour = nicColour(topology, nic.name);
    for (const cpu of parseCpuList(nic.irqCores) ?? []) {
      irq.set(cpu, [...(irq.get(cpu) ?? []), colour]);
    }
    for (const cpu of parseCpuList(nic.laneCores ?? '') ?? []) lane.add(cpu);
  }
  const online = new Set(parseCpuList(topology.host.cpusOnline) ?? []);
  const counts = new Map(topology.interrupts.map(({ cpu, count }) => [cpu, count]));
  const most = Math.max(1, ...counts.values());
  return (cpu) => ({
    irqColours: irq.get(cpu) ?? [],
    load: topology.interrupts.length === 0 ? undefined : (counts.get(cpu) ?? 0) / most,
    hasLane: lane.has(cpu),
    isOnline: online.has(cpu),
  });
}

function drawLinks(drawing: Drawing, topology: Topology, bottom: number): void {
  const served = [...new Set(topology.choices.map(({ nic }) => nic))];
  for (const choice of topology.choices) {
    const gpu = drawing.gpus.get(choice.gpu);
    const nic = choice.nic === undefined ? undefined : drawing.nics.get(choice.nic);
    if (gpu === undefined || nic === undefined || choice.nic === undefined) continue;
    const isNear = choice.distance === 'PIX' || choice.distance === 'PXB';
    const paint = { stroke: nicColour(topology, choice.nic), strokeWidth: 1.5 };
    // Lines to one NIC run together; those to another keep beside them.
    const points = routeLink(gpu, nic, served.indexOf(choice.nic), bottom);
    drawing.links.push(svgPolyline(points, isNear ? paint : { ...paint, dash: '5 4' }));
  }
}

interface Legend {
  readonly shapes: readonly string[];
  readonly height: number;
}

function drawLegend(topology: Topology, y: number, width: number): Legend {
  const physical = topology.nics.filter((nic) => !nic.isVirtual);
  const shapes: string[] = [];
  const grey = { size: 11, fill: '#57606a' } as const;
  let x = MARGIN;
  let line = y;
  const item = (label: string, swatch: (box: Box) => string) => {
    const itemWidth = 26 + label.length * 6;
    if (x + itemWidth > width - MARGIN && x > MARGIN) {
      x = MARGIN;
      line += 20;
    }
    shapes.push(swatch({ x, y: line - 9, width: 14, height: 11 }));
    shapes.push(svgText(x + 20, line, label, grey));
    x += itemWidth + 10;
  };
  for (const nic of physical) {
    const fill = nicColour(topology, nic.name);
    item(`interrupts of ${nic.name}`, (box) => svgRect(box, { fill, radius: 2 }));
  }
  if (topology.nics.some((nic) => nic.laneCores !== undefined)) {
    item('outlined: lane cores', (box) => svgRect(box, { stroke: '#24292f', radius: 2 }));
  }
  if (topology.interrupts.length > 0) {
    const most = Math.max(...topology.interrupts.map(({ count }) => count));
    const paint = { fill: '#57606a', radius: 2 };
    item(`darker: more NIC interrupts since boot, at most ${most}`, (box) => svgRect(box, paint));
  }
  item('no NIC interrupts', (box) => svgRect(box, { fill: '#e7eaee', radius: 2 }));
  return { shapes, height: line - y + 8 };
}
