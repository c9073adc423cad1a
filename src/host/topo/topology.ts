// The topology of a host as one document: devices, their distances, their cores. What `tcpx topo`
// prints in every form.

import { formatCpuList } from '../../base/cpu-set.js';
import type { LaneBindings } from '../../base/lane-bindings.js';
import { physicalCores } from '../read/cpus.js';
import { chooseNics, type GpuNicChoice, placeOf } from './gpu-nic-choice.js';
import type { HostModel, Nic, PciDistance } from '../read/model.js';
import { nicIrqCpus } from '../read/nics.js';
import { pciDistance } from '../read/pci.js';
import type { ReadGap } from '../read/read-gap.js';

export interface Topology {
  readonly schema: 'tcpx.topo/1';
  readonly host: TopologyHost;
  readonly nodes: readonly TopologyNode[];
  /** CPU numbers of each physical core's threads, in order of the first. */
  readonly cores: readonly (readonly number[])[];
  readonly gpus: readonly TopologyGpu[];
  readonly nics: readonly TopologyNic[];
  readonly matrix: DistanceMatrix;
  readonly choices: readonly GpuNicChoice[];
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
  readonly coreCount: number;
}

export interface TopologyNode {
  readonly id: number;
  readonly cpus: string;
  readonly cpuCount: number;
  readonly coreCount: number;
  readonly memoryBytes: number | undefined;
  readonly distances: readonly number[];
}

interface TopologyDevice {
  readonly pciAddress: string | undefined;
  /** Host bridge first, the device last. */
  readonly pciPath: readonly string[];
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
  readonly addresses: readonly string[];
  /** CPUs on which the queue vectors are delivered now. */
  readonly irqCores: string;
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
      cpus: formatCpuList(node.cpus),
      cpuCount: node.cpus.length,
      coreCount: physicalCores(model.cpus, node.cpus).length,
      memoryBytes: node.memoryBytes,
      distances: node.distances,
    })),
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
    gaps: model.gaps,
  };
}

function coresOf(model: HostModel): number[][] {
  const cores = model.cpus.cpus.filter(({ id, siblings }) => siblings[0] === id);
  return cores.map(({ siblings }) => [...siblings]);
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
    cpusOffline: formatCpuList(cpus.present.filter((cpu) => !online.has(cpu))),
    cpuCount: cpus.online.length,
    coreCount: physicalCores(cpus, cpus.online).length,
  };
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
    pciPath: placeOf(model, device.pciAddress).path,
    node: device.node,
    localCpus: device.localCpus === undefined ? undefined : formatCpuList(device.localCpus),
  };
}

function describeNic(model: HostModel, nic: Nic, bindings: LaneBindings): TopologyNic {
  const laneCpus = bindings.get(nic.name);
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
    addresses: nic.addresses.map(({ address, prefixLength }) => `${address}/${prefixLength}`),
    irqCores: formatCpuList(nicIrqCpus(nic, model.irqs)),
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
