// The topology as text: a matrix in the manner of `nvidia-smi topo -m`, and a tree.

import { formatBytes } from '../base/units.js';
import {
  cpuCountText,
  irqCoresText,
  nodeCountText,
  queueCountText,
  shownNode,
  type Topology,
  type TopologyGpu,
  type TopologyNic,
} from '../host/topo/topology.js';
import { formatTable } from './print.js';

const LEGEND = [
  'X     the device itself',
  'PIX   one PCIe switch between them',
  'PXB   several PCIe bridges, below one root port',
  'PHB   through the PCIe host bridge',
  'NODE  through host bridges of one NUMA node',
  'SYS   across NUMA nodes',
  '?     unknown: the PCI path or the NUMA node cannot be read',
] as const;

export function formatTopoMatrix(topology: Topology): string {
  const { names, distances } = topology.matrix;
  const head = ['', ...names, 'node', 'local CPUs', 'IRQ cores', 'lane cores'];
  const rows = names.map((name, index) => {
    const nic = topology.nics.find((candidate) => candidate.name === name);
    const gpu = topology.gpus.find((candidate) => `GPU${candidate.index}` === name);
    const device = nic ?? gpu;
    return [
      name,
      ...(distances[index] ?? []),
      device?.node === undefined ? '-' : String(device.node),
      device?.localCpus ?? '-',
      nic === undefined ? '' : irqCoresText(nic),
      nic?.laneCores ?? '',
    ];
  });
  const used = new Set(distances.flat());
  const legend = LEGEND.filter((line) => used.has((line.split(' ')[0] ?? '') as never));
  const parts = [hostLine(topology), ...cpuLines(topology)];
  if (names.length === 0) parts.push('', 'no GPU and no NIC with a PCI device');
  else parts.push('', dropEmptyColumns([head, ...rows]), ...legend.map((line) => `  ${line}`));
  parts.push(...choiceLines(topology), ...gapLines(topology));
  return `${parts.join('\n')}\n`;
}

function hostLine(topology: Topology): string {
  const { host } = topology;
  const offline = host.cpusOffline === '' ? '' : `, offline ${host.cpusOffline}`;
  return (
    `${host.hostname ?? 'host'}  kernel ${host.kernelRelease ?? '?'}  ` +
    `${cpuCountText(host)}${offline}, ${nodeCountText(topology)}`
  );
}

function cpuLines({ host }: Topology): string[] {
  const lines = host.caches.length === 0 ? [] : [`caches  ${host.caches.join(', ')}`];
  if (host.isolated !== undefined && host.isolated !== '') {
    lines.push(`isolated  CPUs ${host.isolated}: the scheduler puts no thread there by itself`);
  }
  return lines;
}

function dropEmptyColumns(rows: readonly (readonly string[])[]): string {
  const width = rows[0]?.length ?? 0;
  const kept = Array.from({ length: width }, (_, column) => column).filter(
    (column) => column === 0 || rows.slice(1).some((row) => (row[column] ?? '') !== ''),
  );
  return formatTable(rows.map((row) => kept.map((column) => row[column] ?? '')));
}

function choiceLines({ choices }: Topology): string[] {
  if (choices.length === 0) return [];
  const rows = choices.map((choice) => [`GPU${choice.gpu}`, choice.nic ?? 'none', choice.reason]);
  return ['', 'NIC of each GPU', formatTable(rows).trimEnd()];
}

function gapLines({ gaps }: Topology): string[] {
  if (gaps.length === 0) return [];
  return ['', 'not read', ...gaps.map(({ path, reason }) => `  ${path}: ${reason}`)];
}

interface TreeNode {
  readonly label: string;
  readonly children: TreeNode[];
}

export function formatTopoTree(topology: Topology): string {
  const root: TreeNode = { label: hostLine(topology), children: [] };
  const nodes: (number | undefined)[] = topology.nodes.map(({ id }) => id);
  for (const node of [...nodes, undefined]) {
    const branch: TreeNode = { label: nodeLabel(topology, node), children: [] };
    addDevices(branch, topology, node);
    if (node !== undefined || branch.children.length > 0) root.children.push(branch);
  }
  const virtual = topology.nics.filter((nic) => nic.isVirtual);
  if (virtual.length > 0) {
    const children = virtual.map((nic) => ({ label: nicLabel(nic), children: [] }));
    root.children.push({ label: 'virtual interfaces', children });
  }
  const lines = [root.label];
  drawChildren(root, '', lines);
  return `${lines.join('\n')}\n`;
}

function nodeLabel(topology: Topology, id: number | undefined): string {
  const node = topology.nodes.find((candidate) => candidate.id === id);
  if (node === undefined) return topology.nodes.length === 0 ? 'host' : 'no NUMA node known';
  const memory = node.memoryBytes === undefined ? '' : `  ${formatBytes(node.memoryBytes)}`;
  return `node ${node.id}  CPUs ${node.cpus ?? '?'} (${node.coreCount ?? '?'} cores)${memory}`;
}

function addDevices(branch: TreeNode, topology: Topology, node: number | undefined): void {
  const devices = [
    ...topology.gpus.map((gpu) => ({ ...gpu, label: gpuLabel(topology, gpu) })),
    ...topology.nics
      .filter((nic) => !nic.isVirtual)
      .map((nic) => ({ ...nic, label: nicLabel(nic) })),
  ].filter((device) => shownNode(topology, device) === node);
  const place = ({ pciPath = [] }: { readonly pciPath: readonly string[] | undefined }) =>
    pciPath.join('/');
  devices.sort((a, b) => (place(a) < place(b) ? -1 : 1));
  for (const device of devices) {
    const path = device.pciPath ?? [];
    let parent = branch;
    for (const name of path.slice(0, -1)) {
      let child = parent.children.find((candidate) => candidate.label === name);
      if (child === undefined) parent.children.push((child = { label: name, children: [] }));
      parent = child;
    }
    const address = path.at(-1) ?? device.pciAddress ?? 'PCI address unknown';
    parent.children.push({ label: `${address}  ${device.label}`, children: [] });
  }
}

function gpuLabel(topology: Topology, gpu: TopologyGpu): string {
  const choice = topology.choices.find((candidate) => candidate.gpu === gpu.index);
  const nic = choice?.nic === undefined ? '' : `  → ${choice.nic} (${choice.distance ?? '?'})`;
  return `GPU${gpu.index}  ${gpu.name ?? 'NVIDIA GPU'}${nic}`;
}

function nicLabel(nic: TopologyNic): string {
  const parts = [nic.name, nic.driver ?? ''];
  if (nic.speedMbps !== undefined) parts.push(`${nic.speedMbps / 1000} Gbit/s`);
  if (nic.mtu !== undefined) parts.push(`MTU ${nic.mtu}`);
  if (nic.operState !== 'up' && !nic.isVirtual) parts.push(nic.operState ?? 'link unknown');
  parts.push(queueCountText(nic));
  if (nic.vectorCount > 0) parts.push(`${nic.vectorCount} vectors`);
  if (nic.vectorCount > 0) parts.push(`IRQ cores ${irqCoresText(nic)}`);
  if (nic.laneCores !== undefined) parts.push(`lane cores ${nic.laneCores}`);
  return parts.filter((part) => part !== '').join('  ');
}

function drawChildren(node: TreeNode, indent: string, lines: string[]): void {
  for (const [index, child] of node.children.entries()) {
    const isLast = index === node.children.length - 1;
    lines.push(`${indent}${isLast ? '└─ ' : '├─ '}${child.label}`);
    drawChildren(child, `${indent}${isLast ? '   ' : '│  '}`, lines);
  }
}
