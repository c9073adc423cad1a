// The topology of a host as one document: devices, their distances, their cores. What `tcpx topo`
// prints in every form.

import { formatCpuList } from '../../base/cpu-set.js';
import type { LaneBindings } from '../../base/lane-bindings.js';
import { physicalCores } from '../read/cpus.js';
import type { HostModel, Nic, PciDistance } from '../read/model.js';
import { type NicIrqCpus, nicIrqCpus } from '../read/nics.js';
import { pciDistance } from '../read/pci.js';
import type { ReadGap } from '../read/read-gap.js';
import { chooseNics, type GpuNicChoice, placeOf } from './gpu-nic-choice.js';
import { cacheTexts, socketsOf, type TopologySocket } from './sockets.js';

export interface Topology {
  readonly schema: 'tcpx.topo/1';
  readonly host: TopologyHost;
  readonly nodes: readonly TopologyNode[];
  /** Empty where a CPU does not say in which socket it is. */
  readonly sockets: readonly TopologySocket[];
  /** CPU numbers of each physical core's threads, in order of the first. */
  readonly cores: readonly (readonly number[])[];
  readonly gpus: readonly TopologyGpu[];
  readonly nics: readonly TopologyNic[];
  readonly matrix: DistanceMatrix;
  readonly choices: readonly GpuNicChoice[];
  /** Interrupts of NICs since boot, by CPU; empty when no count could be read. */
  readonly interrupts: readonly { readonly cpu: number; readonly count: number }[];
  readonly gaps: readonly ReadGap[];
}

export interface TopologyHost {
  readonly root: string;
  readonly isLive: boolean;
  readonly hostname: string | undefined;
  readonly kernelRelease: string | undefined;
  readonly cpuModel: string | undefined;
  readonly cpusOnline: string;
  readonly cpusOffline: string;
  readonly cpuCount: number;
  /** undefined where the hardware threads of a core are not known. */
  readonly coreCount: number | undefined;
  /** undefined where a CPU does not say in which socket it is. */
  readonly socketCount: number | undefined;
  /** As text, for example `L3 105 MiB per 104 CPUs`. */
  readonly caches: readonly string[];
  readonly isolated: string | undefined;
}

export interface TopologyNode {
  readonly id: number;
  /** undefined where nothing tells which CPUs the node has. */
  readonly cpus: string | undefined;
  readonly cpuCount: number | undefined;
  readonly coreCount: number | undefined;
  readonly memoryBytes: number | undefined;
  readonly distances: readonly number[] | undefined;
}

interface TopologyDevice {
  readonly pciAddress: string | undefined;
  /** Host bridge first, the device last; undefined when its place on the bus is not known. */
  readonly pciPath: readonly string[] | undefined;
  readonly node: number | undefined;
  readonly localCpus: string | undefined;
}

export interface TopologyGpu extends TopologyDevice {
  readonly index: number;
  readonly indexSource: string;
  readonly name: string | undefined;
  readonly uuid: string | undefined;
}

export interface TopologyNic extends TopologyDevice {
  readonly name: string;
  readonly driver: string | undefined;
  readonly isVirtual: boolean;
  readonly operState: string | undefined;
  readonly speedMbps: number | undefined;
  readonly mtu: number | undefined;
  readonly rxQueueCount: number | undefined;
  readonly txQueueCount: number | undefined;
  readonly vectorCount: number;
  readonly vectorSources: readonly string[];
  readonly addresses: readonly string[] | undefined;
  /** CPUs of the queue vectors, as far as they are known. */
  readonly irqCores: string;
  /** Whether those are where interrupts are delivered, or only what was asked for. */
  readonly irqCertainty: NicIrqCpus['certainty'];
  /** CPUs that lane bindings give to this NIC; undefined = none given. */
  readonly laneCores: string | undefined;
}

/** Rows and columns are `names`: GPUs by index, then NICs that have a PCI device. */
export interface DistanceMatrix {
  readonly names: readonly string[];
  readonly distances: readonly (readonly PciDistance[])[];
}

export function describeTopology(
  model: HostModel,
  bindings: LaneBindings,
  dataNics: readonly string[] = [],
): Topology {
  return {
    schema: 'tcpx.topo/1',
    host: describeHost(model),
    nodes: model.nodes.map((node) => ({
      id: node.id,
      cpus: node.cpus === undefined ? undefined : formatCpuList(node.cpus),
      cpuCount: node.cpus?.length,
      coreCount: node.cpus && physicalCores(model.cpus, node.cpus)?.length,
      memoryBytes: node.memoryBytes,
      distances: node.distances,
    })),
    sockets: socketsOf(model.cpus),
    cores: coresOf(model),
    gpus: model.gpus.map((gpu) => ({
      index: gpu.index,
      indexSource: gpu.indexSource,
      name: gpu.name,
      uuid: gpu.uuid,
      ...describeDevice(model, gpu),
    })),
    nics: model.nics.map((nic) => describeNic(model, nic, bindings)),
    matrix: distanceMatrix(model),
    choices: chooseNics(model, dataNics),
    interrupts: nicInterrupts(model),
    gaps: model.gaps,
  };
}

function nicInterrupts({ nics, irqs }: HostModel): Topology['interrupts'] {
  const ofNics = new Set(nics.flatMap((nic) => nic.vectors.map(({ irq }) => irq)));
  const counts = new Map<number, number>();
  for (const { irq, countByCpu = {} } of irqs) {
    if (!ofNics.has(irq)) continue;
    for (const [cpu, count] of Object.entries(countByCpu)) {
      counts.set(Number(cpu), (counts.get(Number(cpu)) ?? 0) + count);
    }
  }
  const sorted = [...counts].sort(([a], [b]) => a - b);
  return sorted.map(([cpu, count]) => ({ cpu, count }));
}

function coresOf(model: HostModel): number[][] {
  // A CPU whose siblings are not known, as an offline one's, is drawn alone.
  const threads = model.cpus.cpus.map(({ id, siblings = [id] }) => ({ id, siblings }));
  return threads.filter(({ id, siblings }) => siblings[0] === id).map((cpu) => [...cpu.siblings]);
}

function describeHost(model: HostModel): TopologyHost {
  const { cpus } = model;
  const online = new Set(cpus.online);
  return {
    root: model.root,
    isLive: model.isLive,
    hostname: model.hostname,
    kernelRelease: model.kernelRelease,
    cpuModel: cpus.modelName,
    cpusOnline: formatCpuList(cpus.online),
    cpusOffline:
      online.size === 0 ? '' : formatCpuList(cpus.present.filter((cpu) => !online.has(cpu))),
    cpuCount: cpus.online.length,
    coreCount: physicalCores(cpus, cpus.online)?.length,
    socketCount: socketsOf(cpus).length || undefined,
    caches: cacheTexts(cpus),
    isolated: cpus.isolated && formatCpuList(cpus.isolated),
  };
}

/** The CPUs of a NIC's interrupts, with what is not known about them. */
export function irqCoresText({ irqCores, irqCertainty, vectorCount }: TopologyNic): string {
  if (irqCertainty === 'effective') return irqCores;
  if (irqCertainty === 'requested') return `${irqCores} (requested)`;
  if (vectorCount === 0) return '-';
  return irqCores === '' ? 'unknown' : `${irqCores} and unknown`;
}

export function cpuCountText({ cpuCount, coreCount, socketCount }: TopologyHost): string {
  if (cpuCount === 0) return 'CPUs unknown';
  const sockets = socketCount === 1 ? '1 socket' : `${socketCount ?? '?'} sockets`;
  return `${cpuCount} CPUs on ${coreCount ?? '?'} cores in ${sockets}`;
}

export function nodeCountText({ nodes }: Topology): string {
  if (nodes.length === 0) return 'no NUMA node listed';
  return `${nodes.length} NUMA ${nodes.length === 1 ? 'node' : 'nodes'}`;
}

export function queueCountText({ rxQueueCount, txQueueCount }: TopologyNic): string {
  return `${rxQueueCount ?? '?'} RX + ${txQueueCount ?? '?'} TX queues`;
}

/** Where to show a device: on a host with one node there is nowhere else, said or not. */
export function shownNode(
  topology: Topology,
  device: { readonly node: number | undefined },
): number | undefined {
  return device.node ?? (topology.nodes.length === 1 ? topology.nodes[0]?.id : undefined);
}

interface PlacedDevice {
  readonly pciAddress: string | undefined;
  readonly node: number | undefined;
  readonly localCpus: readonly number[] | undefined;
}

function describeDevice(model: HostModel, device: PlacedDevice): TopologyDevice {
  return {
    pciAddress: device.pciAddress,
    pciPath: model.pci.find(({ address }) => address === device.pciAddress)?.path,
    node: device.node,
    localCpus: device.localCpus === undefined ? undefined : formatCpuList(device.localCpus),
  };
}

function describeNic(model: HostModel, nic: Nic, bindings: LaneBindings): TopologyNic {
  const laneCpus = bindings.get(nic.name);
  const irqCpus = nicIrqCpus(nic, model.irqs);
  return {
    name: nic.name,
    ...describeDevice(model, nic),
    driver: nic.driver,
    isVirtual: nic.isVirtual,
    operState: nic.operState,
    speedMbps: nic.speedMbps,
    mtu: nic.mtu,
    rxQueueCount: nic.rxQueueCount,
    txQueueCount: nic.txQueueCount,
    vectorCount: nic.vectors.length,
    vectorSources: [...new Set(nic.vectors.map((vector) => vector.source))],
    addresses: nic.addresses?.map(({ address, prefixLength }) => `${address}/${prefixLength}`),
    irqCores: formatCpuList(irqCpus.cpus),
    irqCertainty: irqCpus.certainty,
    laneCores: laneCpus === undefined ? undefined : formatCpuList(laneCpus),
  };
}

function distanceMatrix(model: HostModel): DistanceMatrix {
  const devices = [
    ...model.gpus.map((gpu) => ({ name: `GPU${gpu.index}`, address: gpu.pciAddress })),
    ...model.nics
      .filter((nic) => nic.pciAddress !== undefined)
      .map((nic) => ({ name: nic.name, address: nic.pciAddress })),
  ];
  const places = devices.map(({ address }) => placeOf(model, address));
  return {
    names: devices.map(({ name }) => name),
    distances: places.map((a) => places.map((b) => pciDistance(a, b, model.nodes.length))),
  };
}
