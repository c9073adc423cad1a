// The PCIe switches of one node with the GPUs and NICs below them, as boxes.

import { type Box, escapeXml, svgRect, svgText } from './svg-shapes.js';
import { LINK_SPACE, type PlacedDevice } from './topo-svg-links.js';
import {
  irqCoresText,
  queueCountText,
  shownNode,
  type Topology,
  type TopologyGpu,
  type TopologyNic,
} from './topology.js';

export const GROUP_WIDTH = 257;
export const GROUP_GAP = 12;
const GPU_HEIGHT = 46;
const NIC_HEIGHT = 72;
const NIC_COLOURS = ['#0969da', '#8250df', '#bc4c00', '#1a7f37', '#bf3989', '#9a6700', '#6e7781'];
const PADDING = 12;

export interface Group {
  readonly title: string;
  readonly gpus: readonly TopologyGpu[];
  readonly nics: readonly TopologyNic[];
}

export interface Drawing {
  readonly shapes: string[];
  /** Drawn last, so that lines lie above the boxes of other groups. */
  readonly links: string[];
  readonly gpus: Map<number, PlacedDevice>;
  readonly nics: Map<string, PlacedDevice>;
}

export function nicColour(topology: Topology, name: string): string {
  const physical = topology.nics.filter((nic) => !nic.isVirtual);
  const index = physical.findIndex((nic) => nic.name === name);
  return NIC_COLOURS[index % NIC_COLOURS.length] ?? '#6e7781';
}

/** Devices below one switch belong together; those on a root bus form a group of their own. */
export function groupsOf(topology: Topology, node: number | undefined): Group[] {
  const groups = new Map<string, { gpus: TopologyGpu[]; nics: TopologyNic[] }>();
  const groupOf = ({ pciPath: path = [] }: TopologyGpu | TopologyNic) => {
    const title = groupTitle(path);
    const group = groups.get(title) ?? { gpus: [], nics: [] };
    groups.set(title, group);
    return group;
  };
  for (const gpu of topology.gpus)
    if (shownNode(topology, gpu) === node) groupOf(gpu).gpus.push(gpu);
  for (const nic of topology.nics) {
    if (shownNode(topology, nic) === node && !nic.isVirtual) groupOf(nic).nics.push(nic);
  }
  return [...groups].map(([title, group]) => ({ title, ...group }));
}

function groupTitle(path: readonly string[]): string {
  // The device and the switch's downstream port above it are not the switch.
  if (path.length >= 4) return `PCIe switch ${path.at(-3) ?? ''}`;
  // A device without anything above it: nothing tells where it hangs.
  return path.length >= 2 ? `root bus ${path[0] ?? ''}` : 'place on the PCI bus unknown';
}

export function drawGroup(
  drawing: Drawing,
  topology: Topology,
  group: Group,
  x: number,
  y: number,
): number {
  const left = x + LINK_SPACE;
  const inner = GROUP_WIDTH - LINK_SPACE - PADDING;
  const gpuRows = rowsOfTwo(group.gpus);
  const gpuHeight = gpuRows.length * (GPU_HEIGHT + LINK_SPACE);
  const height = 34 + gpuHeight + group.nics.length * (NIC_HEIGHT + 8) + 4;
  const box = { x, y, width: GROUP_WIDTH, height };
  drawing.shapes.push(svgRect(box, { fill: '#ffffff', stroke: '#d0d7de', radius: 8 }));
  drawing.shapes.push(svgText(x + 12, y + 20, group.title, { size: 11, fill: '#57606a' }));
  for (const [row, gpus] of gpuRows.entries()) {
    const width = (inner - 8) / 2;
    for (const [column, gpu] of gpus.entries()) {
      const gpuX = left + column * (width + 8);
      const gpuY = y + 32 + row * (GPU_HEIGHT + LINK_SPACE);
      const place = { x: gpuX, y: gpuY, width, height: GPU_HEIGHT };
      drawGpu(drawing, topology, gpu, place, box);
    }
  }
  for (const [row, nic] of group.nics.entries()) {
    const nicY = y + 32 + gpuHeight + row * (NIC_HEIGHT + 8);
    const place = { x: left, y: nicY, width: inner, height: NIC_HEIGHT };
    drawNic(drawing, topology, nic, place, box);
  }
  return height;
}

function drawGpu(
  drawing: Drawing,
  topology: Topology,
  gpu: TopologyGpu,
  box: Box,
  group: Box,
): void {
  drawing.gpus.set(gpu.index, { box, group });
  const name = (gpu.name ?? 'GPU').replace(/^NVIDIA /, '').slice(0, 17);
  const title = `${gpu.name ?? ''} ${gpu.uuid ?? ''} ${gpu.pciAddress ?? ''}`;
  drawing.shapes.push(
    `<g><title>${escapeXml(title.trim())}</title>`,
    svgRect(box, { fill: '#dafbe1', stroke: '#4ac26b', radius: 6 }),
    svgText(box.x + 8, box.y + 17, `GPU${gpu.index}`, { size: 12, weight: 600 }),
    ...choiceLabel(topology, gpu, box),
    svgText(box.x + 8, box.y + 30, name, { size: 9, fill: '#24292f' }),
    svgText(box.x + 8, box.y + 41, gpu.pciAddress ?? '', { size: 9, fill: '#57606a' }),
    '</g>',
  );
}

/** The NIC that the GPU uses and how far it is, in the NIC's colour. */
function choiceLabel(topology: Topology, gpu: TopologyGpu, box: Box): string[] {
  const choice = topology.choices.find((candidate) => candidate.gpu === gpu.index);
  if (choice?.nic === undefined) return [];
  const fill = nicColour(topology, choice.nic);
  const text = `${choice.nic} ${choice.distance ?? '?'}`;
  const lettering = { size: 9, weight: 600, fill, anchor: 'end' } as const;
  return [svgText(box.x + box.width - 6, box.y + 17, text, lettering)];
}

function drawNic(
  drawing: Drawing,
  topology: Topology,
  nic: TopologyNic,
  box: Box,
  group: Box,
): void {
  drawing.nics.set(nic.name, { box, group });
  const colour = nicColour(topology, nic.name);
  const speed = nic.speedMbps === undefined ? 'speed unknown' : `${nic.speedMbps / 1000} Gbit/s`;
  const cores = [`IRQ cores ${irqCoresText(nic)}`];
  if (nic.laneCores !== undefined) cores.push(`lanes ${nic.laneCores}`);
  const lines = [
    `${speed}  ·  MTU ${nic.mtu ?? '?'}`,
    `${queueCountText(nic)}  ·  ${nic.vectorCount} vectors`,
    cores.join('  ·  '),
  ];
  const isDown = nic.operState === 'down';
  drawing.shapes.push(
    svgRect(box, { fill: isDown ? '#f6f8fa' : '#ffffff', stroke: colour, radius: 6 }),
    svgRect({ ...box, width: 6 }, { fill: colour, radius: 3 }),
    svgText(box.x + 16, box.y + 18, nic.name, { size: 12, weight: 600 }),
    svgText(box.x + box.width - 8, box.y + 18, nicPlace(nic, isDown), {
      size: 9,
      fill: '#57606a',
      anchor: 'end',
    }),
    ...lines.map((line, index) =>
      svgText(box.x + 16, box.y + 34 + index * 14, line, { size: 9.5, fill: '#24292f' }),
    ),
  );
}

function nicPlace(nic: TopologyNic, isDown: boolean): string {
  return [isDown ? 'down' : '', nic.driver ?? '', nic.pciAddress ?? ''].filter(Boolean).join('  ');
}

export function rowsOfTwo<T>(items: readonly T[]): T[][] {
  const rows: T[][] = [];
  for (let index = 0; index < items.length; index += 2) rows.push(items.slice(index, index + 2));
  return rows;
}
